// The job of this thread: where callbacks go, and what the engine is doing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "accounts.h"
#include "shim.h"

namespace atelier {

// An assert of the engine, turned into an exception by the abort callback.
struct Aborted {
    std::string message;
};

class Job {
public:
    // With a ledger, it is an estimate: its backends are phantoms.
    explicit Job(const atelier_callbacks& callbacks, std::shared_ptr<Ledger> ledger = nullptr)
        : callbacks_(callbacks), ledger_(std::move(ledger)) {}

    const std::shared_ptr<Ledger>& ledger() const { return ledger_; }
    atelier_phase phase() const { return phase_; }
    // The module whose weights the engine prepared last, and whether they were a LoRA's.
    int module() const { return module_; }
    bool is_lora() const { return is_lora_; }
    void prepares(const char* tensor_name);

    // What is held of each device now belongs to this phase.
    void note_memory() { note_held(phase_, peaks_); }
    const Peaks& peaks() const { return peaks_; }

    bool cancelled() const { return callbacks_.cancelled != nullptr && callbacks_.cancelled(callbacks_.user); }
    void log(int level, const char* text) const;

    void enter(atelier_phase phase);
    // Encoding is over when the engine says that it is done with the text encoder.
    void encoded();

    void load_begin(int module, uint64_t total);
    void load_progress(uint64_t done);
    void load_end();

    // The engine's one progress counter: sampling steps, tiles, or tensors, told apart by what runs.
    void progress(int step, int steps, float seconds);
    // `nodes` more of the graphs of this step are computed.
    void computed(int nodes);
    void preview(int step, uint32_t width, uint32_t height, const uint8_t* rgb) const;
    // A preview after every n-th step; 0: none.
    void show_previews(preview_t mode, int every);
    // A preview after each step of which this says so.
    void show_previews_if(preview_t mode, std::function<bool(int step, int steps)> wanted);

    // A device had no room; the last one is remembered for the failure that follows.
    void no_room(const char* device, uint64_t wanted, uint64_t free);
    const atelier_shortage* shortage() const { return shortage_.device == nullptr ? nullptr : &shortage_; }

    // The connection to a server broke; may be called from a loading thread.
    void lose(const std::string& server);
    bool lost() const { return lost_; }
    std::string lost_server() const;

    void expect_graphs_per_step(int graphs) { graphs_per_step_ = graphs; }
    void graph_begins(int nodes);

private:
    void report_step(float fraction);
    void arm_preview(int step) const;

    atelier_callbacks callbacks_;
    std::shared_ptr<Ledger> ledger_;
    Peaks peaks_;
    atelier_phase phase_ = ATELIER_PHASE_LOADING;
    int module_          = ATELIER_MODULE_NONE;
    bool is_lora_        = false;

    preview_t preview_mode_ = PREVIEW_NONE;
    int preview_every_      = 0;
    std::function<bool(int step, int steps)> preview_wanted_;

    bool loading_          = false;
    int load_module_       = ATELIER_MODULE_NONE;
    uint64_t load_total_   = 0;
    int64_t load_report_us_ = 0;

    int steps_done_       = -1;  // -1: sampling has not said how many there are
    int steps_            = 0;
    float step_seconds_   = 0;
    bool in_tiles_        = false;
    int graphs_per_step_  = 1;
    int64_t nodes_in_step_ = 0;
    int64_t nodes_expected_ = 0;
    int64_t step_report_us_ = 0;

    atelier_shortage shortage_ = {};

    std::atomic<bool> lost_{false};
    mutable std::mutex lost_mutex_;
    std::string lost_server_;
};

// The job of this thread; null outside of one.
Job* current_job();

// Makes a job this thread's for as long as the scope lives, and lets asserts be caught.
class JobScope {
public:
    explicit JobScope(Job* job);
    ~JobScope();
    JobScope(const JobScope&)            = delete;
    JobScope& operator=(const JobScope&) = delete;

private:
    Job* outer_;
};

// Whether an exception thrown now is caught by the shim.
bool can_throw();

void install_callbacks();
void hook_devices();

// Held while ggml's list of devices grows or is read: it is a plain vector.
std::mutex& device_list();

// See atelier_simulate_device; false where the name is taken.
bool simulate_device(const char* name, size_t memory_bytes, const char* card);
// Simulated devices compute with so many threads.
void set_simulated_threads(int n);

// See atelier_rpc_add_server and atelier_rpc_serve.
bool add_server(const char* endpoint);
bool is_remote(ggml_backend_device* device);
bool serve(int64_t socket, const char* const* devices, size_t count, int threads, const char* cache_dir);

}  // namespace atelier

// Called by changed sources of the engine (see build.rs); the loader runs threads of its own.
extern "C" {
void atelier_buffer_made(ggml_backend_buffer_type* type, size_t size, ggml_backend_buffer* buffer);
void atelier_buffer_freed(ggml_backend_buffer* buffer);
bool atelier_buffer_is_phantom(const ggml_backend_buffer* buffer);
void atelier_job_prepares(const char* tensor_name);
void* atelier_job_current(void);
void atelier_job_adopt(void* job);
bool atelier_job_cancelled(void* job);
void atelier_job_load_begin(void* job, const char* tensor_name, uint64_t total);
void atelier_job_load_progress(void* job, uint64_t done);
void atelier_job_load_end(void* job);
}
