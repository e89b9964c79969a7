// The job of this thread: its callbacks and the state of the engine's work.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dry_run.h"
#include "memory_tracker.h"
#include "packed_weights.h"
#include "prefetch.h"
#include "shim.h"

struct ggml_backend_buffer;
struct ggml_cgraph;

namespace atelier {

// Thrown by ggml's abort callback when an assert of the engine fails.
struct EngineAbort {
    std::string message;
};

// A device stopped answering. It stays lost as long as the process lives, because ggml keeps it.
struct DeviceLost {
    std::string device;
};

class EncodedImages;
class StepReplay;

class Job {
public:
    // With `dry_run`, the job is an estimate: its backends are those of dry_run_backend.
    explicit Job(const atelier_callbacks& callbacks, std::shared_ptr<DryRun> dry_run = nullptr)
        : callbacks_(callbacks), dry_run_(std::move(dry_run)) {}
    ~Job() { forget_packed(); }
    Job(const Job&)            = delete;
    Job& operator=(const Job&) = delete;

    const std::shared_ptr<DryRun>& dry_run() const { return dry_run_; }
    atelier_phase phase() const { return phase_; }
    // Module of the weights that the engine prepared last; true for weights of a LoRA. For estimates, which run on one thread.
    int module() const { return module_; }
    bool is_lora() const { return is_lora_; }
    void set_current_weight(const char* tensor_name);

    // Raises the peaks of the current phase to what is allocated now.
    void record_peaks() {
        std::lock_guard<std::mutex> lock(peaks_mutex_);
        raise_peaks(phase_, peaks_);
    }
    const PeakBytes& peaks() const { return peaks_; }

    bool is_cancelled() const { return callbacks_.cancelled != nullptr && callbacks_.cancelled(callbacks_.user); }
    // True once the cancel was first seen here so many microseconds ago.
    bool is_cancelled_for(int64_t time_us) const;
    void log(int level, const char* text);
    // Throws EngineAbort where the engine said that it could not load a LoRA.
    void check_loras() const;

    void enter_phase(atelier_phase phase);
    // Called when the engine has run the text encoder: encoding ends, denoising begins.
    void finish_encoding();

    // Called when the engine begins to sample upscaled latents: what follows belongs to no branch.
    void begin_second_pass();

    void load_begin(int module, uint64_t total);
    void load_progress(uint64_t done);
    void load_end();

    // The engine has one progress counter for sampling steps, tiles and tensors; the phase tells them apart.
    void report_progress(int step, int steps, float seconds);
    // Adds `nodes` to the computed nodes of this step's graphs.
    void add_computed_nodes(int nodes);
    void report_preview(int step, uint32_t width, uint32_t height, const uint8_t* rgb) const;
    // Previews after every n-th step; 0: none.
    void set_preview(preview_t mode, int every);
    // Previews after the steps for which `wanted` returns true.
    void set_preview_if(preview_t mode, std::function<bool(int step, int steps)> wanted);

    // An allocation failed. The last one is the reason of the failure that follows.
    void record_shortage(const char* device, uint64_t wanted, uint64_t free);
    const atelier_shortage* shortage() const { return shortage_.device == nullptr ? nullptr : &shortage_; }

    // Counts the values of a finished picture that are no numbers. Those of previews, which are made in other phases, do not count.
    void note_decoded(const float* values, size_t count);
    uint64_t missing_numbers() const { return missing_numbers_; }

    // The connection to a server broke. May be called on a loading thread.
    void record_lost_connection(const std::string& server);
    bool is_connection_lost() const { return lost_; }
    std::string lost_server() const;

    CopyProfile& copy_profile() { return copy_profile_; }

    void set_graphs_per_step(int graphs) { graphs_per_step_ = graphs; }

    // The part of a picture that the image changes; null: none. It outlives the job.
    const atelier_area* area() const { return area_; }
    void set_area(const atelier_area* area) { area_ = area; }

    // The other seed of the image's start noise; null: none. It outlives the job.
    const atelier_noise_blend* noise_blend() const { return noise_blend_; }
    void set_noise_blend(const atelier_noise_blend* blend) { noise_blend_ = blend; }

    // The part of the steps in which the ControlNet acts; null: all. It outlives the job.
    const atelier_control_steps* control_steps() const { return control_steps_; }
    void set_control_steps(const atelier_control_steps* steps) { control_steps_ = steps; }

    // The steps that the image replays and keeps; null: none. It outlives the job.
    StepReplay* step_replay() const { return step_replay_; }
    void set_step_replay(StepReplay* replay) { step_replay_ = replay; }

    // Encodings that the image may use, and what its LoRAs are known by; null: none are kept. Both outlive the job.
    EncodedImages* encoded_images() const { return encoded_images_; }
    const char* lora_key() const { return lora_key_; }
    void set_encoded_images(EncodedImages* images, const char* lora_key) {
        encoded_images_ = images;
        lora_key_       = lora_key;
    }

    // Names of adapters' tensors by their files; null: none. They outlive the job.
    void set_adapters(const atelier_adapter_names* adapters, size_t count) {
        adapters_      = adapters;
        adapter_count_ = adapters == nullptr ? 0 : count;
    }
    // Null where the engine's names are to be used.
    const atelier_adapter_names* adapter_names(const std::string& path) const;
    // LoRAs are merged into weights: what they take is gone before the weights are used.
    void set_merging(bool is_merging) { is_merging_ = is_merging; }
    bool is_merging() const { return is_merging_; }

    void begin_graph(int nodes);

    // Bytes of packed weights that may be kept while steps are computed; 0: none are.
    void set_packed_limit(uint64_t bytes) { packed_limit_ = bytes; }
    bool keeps_packed() const { return packed_limit_ > 0 && phase_ == ATELIER_PHASE_DENOISING; }
    void keep_packed(ggml_backend_buffer* buffer);

private:
    void forget_packed();

    void report_step(float fraction);
    void set_engine_preview(int step) const;

    atelier_callbacks callbacks_;
    std::shared_ptr<DryRun> dry_run_;
    std::mutex peaks_mutex_;
    PeakBytes peaks_;
    CopyProfile copy_profile_;
    atelier_phase phase_ = ATELIER_PHASE_LOADING;
    // Encoders run beside each other.
    std::atomic<int> module_{ATELIER_MODULE_NONE};
    std::atomic<bool> is_lora_{false};

    preview_t preview_mode_ = PREVIEW_NONE;
    int preview_every_      = 0;
    std::function<bool(int step, int steps)> preview_wanted_;

    bool loading_          = false;
    int load_module_       = ATELIER_MODULE_NONE;
    uint64_t load_total_   = 0;
    int64_t load_report_us_ = 0;

    int steps_done_       = -1;  // -1: the number of steps is not known yet
    int steps_            = 0;
    float step_seconds_   = 0;
    bool is_tiling_        = false;
    int graphs_per_step_  = 1;
    int64_t nodes_in_step_ = 0;
    int64_t nodes_expected_ = 0;
    int64_t step_report_us_ = 0;

    const atelier_area* area_ = nullptr;
    const atelier_noise_blend* noise_blend_ = nullptr;
    const atelier_control_steps* control_steps_ = nullptr;
    StepReplay* step_replay_  = nullptr;
    EncodedImages* encoded_images_ = nullptr;
    const char* lora_key_          = "";
    const atelier_adapter_names* adapters_ = nullptr;
    size_t adapter_count_          = 0;
    std::atomic<bool> is_merging_{false};
    uint64_t packed_limit_ = 0;
    // Packed weights in it are kept. Buffers may be freed before the job ends.
    std::vector<WeightMemory> packed_memory_;
    atelier_shortage shortage_ = {};
    uint64_t missing_numbers_   = 0;
    std::string failed_lora_;  // the engine's words

    mutable std::atomic<int64_t> cancel_seen_us_{0};
    std::atomic<bool> lost_{false};
    mutable std::mutex lost_mutex_;
    std::string lost_server_;
};

// The job of this thread; null outside of one.
Job* current_job();

// Sets this thread's job, and allows its asserts to be caught, while the scope lives.
class JobScope {
public:
    explicit JobScope(Job* job);
    ~JobScope();
    JobScope(const JobScope&)            = delete;
    JobScope& operator=(const JobScope&) = delete;

private:
    Job* outer_;
};

// Allows this thread's asserts to be caught while the scope lives: the scope stands inside a try block for `EngineAbort`.
class ThrowScope {
public:
    ThrowScope();
    ~ThrowScope();
    ThrowScope(const ThrowScope&)            = delete;
    ThrowScope& operator=(const ThrowScope&) = delete;

private:
    bool outer_;
};

// Module (atelier_module) of the weight of this name.
int module_of(const char* tensor_name);

// True where an exception that is thrown now is caught by the shim.
bool can_throw();

void install_callbacks();
void hook_devices();
// Throws where the device does not compute a node of the graph: most backends end the process when they meet one.
void check_is_computed(ggml_backend_device* device, const ggml_cgraph* graph);
// Makes the CPU backend ask the kernels of atelier_set_cpu_kernels first. Once, before a backend is made.
void hook_cpu_operations();
// The form of a type's blocks, as kernels know it (atelier_format).
int format_of(ggml_type type);

// Protects ggml's list of devices, a plain vector.
std::mutex& device_list_mutex();

// See atelier_simulate_device; false where the name is taken.
bool simulate_device(const char* name, size_t memory_bytes, const char* card, size_t largest_buffer_bytes, const char* without, double speed);
// Part of the processor's speed that a simulated device has; 0 for other devices.
double simulated_speed(ggml_backend_device* device);
// CPU time of this thread where the system tells it, else time.
double thread_seconds();
// See atelier_lose_simulated_device.
void lose_simulated_device(const char* name);
// Sets the number of threads of simulated devices.
void set_simulated_threads(int n);

// See atelier_rpc_connect, atelier_rpc_add_server and atelier_rpc_serve.
bool connect_server(const char* endpoint);
bool add_server(const char* endpoint);
bool is_remote(ggml_backend_device* device);
bool serve_client(int64_t socket, const char* const* devices, size_t count, int threads, uint64_t memory_bytes,
                  const atelier_weights_cache* cache);

}  // namespace atelier

// Called by the patched sources of the engine (see patches/). The loader runs threads of its own.
extern "C" {
void atelier_buffer_allocated(ggml_backend_buffer_type* type, size_t size, ggml_backend_buffer* buffer);
void atelier_buffer_freed(ggml_backend_buffer* buffer);
void atelier_buffer_usage_set(ggml_backend_buffer* buffer);
bool atelier_buffer_is_virtual(const ggml_backend_buffer* buffer);
void atelier_job_set_current_weight(const char* tensor_name);
void* atelier_job_current(void);
// Makes this the thread of `job`; what is thrown on it is caught by the caller.
void atelier_job_attach_thread(void* job);
// Runs `compute(thread)`, the share of one thread of a graph. False where it threw; the first reason is kept for the thread pool.
bool atelier_compute_on_thread(void (*compute)(void*), void* thread, const void* threadpool);
// Ends the share of this thread, because another one failed.
void atelier_leave_computation(void);
// Throws the reason that was kept for this thread pool, where this thread may throw.
void atelier_rethrow_computation(const void* threadpool);
bool atelier_job_should_stop(void* job);
void atelier_job_load_begin(void* job, const char* tensor_name, uint64_t total);
void atelier_job_load_progress(void* job, uint64_t done);
void atelier_job_load_end(void* job);
}
