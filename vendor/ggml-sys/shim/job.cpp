#include "job.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "ggml-backend.h"
#include "ggml.h"
#include "step_records.h"

namespace atelier {

namespace {

// Least interval of progress reports within a phase.
constexpr int64_t REPORT_EVERY_US = 25 * 1000;

thread_local Job* job_of_thread = nullptr;
// True on threads that have a try block for the engine's asserts on their stack.
thread_local bool may_throw = false;

constexpr const char* LORA = "lora.";
// Words of the engine (load_lora_model in stable-diffusion.cpp) after which it goes on without the LoRA.
constexpr const char* FAILED_LORA = "load lora tensors from ";

// Words of ggml (ggml_aligned_malloc and ggml_init in ggml.c) where the system gives it no memory; build/main.rs looks for them.
constexpr const char* FAILED_MALLOC    = "ggml_aligned_malloc: ";
constexpr const char* WANTED_MEGABYTES = "attempted to allocate ";
constexpr const char* NO_MEMORY_ASSERT = "ctx->mem_buffer != NULL";

// Memory of the system, which no device's buffer counts. The engine writes its own place in front of ggml's words.
void note_failed_malloc(Job& job, const char* text) {
    const char* said          = text == nullptr ? nullptr : std::strstr(text, FAILED_MALLOC);
    const char* wanted        = said == nullptr ? nullptr : std::strstr(said, WANTED_MEGABYTES);
    ggml_backend_dev_t device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (wanted != nullptr && device != nullptr) {
        const double megabytes = std::strtod(wanted + std::strlen(WANTED_MEGABYTES), nullptr);
        job.record_shortage(ggml_backend_dev_name(device), static_cast<uint64_t>(megabytes * 1024.0 * 1024.0), 0);
    }
}

void on_log(sd_log_level_t level, const char* text, void*) {
    if (Job* job = current_job()) {
        if (level == SD_LOG_ERROR) {
            note_failed_malloc(*job, text);
        }
        job->log(level, text);
    }
}

void on_progress(int step, int steps, float seconds, void*) {
    if (Job* job = current_job()) {
        job->report_progress(step, steps, seconds);
    }
}

void on_preview(int step, int frames, sd_image_t* images, bool, void*) {
    Job* job = current_job();
    if (job != nullptr && frames > 0 && images != nullptr && images[0].channel == 3 && images[0].data != nullptr) {
        job->report_preview(step, images[0].width, images[0].height, images[0].data);
    }
}

void on_abort(const char* message) {
    if (can_throw()) {
        if (std::strstr(message, NO_MEMORY_ASSERT) != nullptr) {
            throw std::bad_alloc();
        }
        throw EngineAbort{message};
    }
    if (Job* job = current_job()) {
        job->log(SD_LOG_ERROR, message);
    }
}

}  // namespace

int module_of(const char* tensor_name) {
    const struct {
        const char* prefix;
        int module;
    } table[] = {
        {"model.diffusion_model.", ATELIER_MODULE_DIFFUSION},
        {"model.high_noise_diffusion_model.", ATELIER_MODULE_DIFFUSION},
        {"text_encoders.clip_l.", ATELIER_MODULE_CLIP_L},
        {"text_encoders.clip_g.", ATELIER_MODULE_CLIP_G},
        {"text_encoders.t5xxl.", ATELIER_MODULE_T5},
        {"text_encoders.", ATELIER_MODULE_LLM},
        {"cond_stage_model.1.", ATELIER_MODULE_CLIP_G},
        {"cond_stage_model.", ATELIER_MODULE_CLIP_L},
        {"first_stage_model.", ATELIER_MODULE_VAE},
        {"vae.", ATELIER_MODULE_VAE},
        {"tae.", ATELIER_MODULE_VAE},
        // A ControlNet's names are those of a UNet, without a beginning of their own.
        {"input_blocks.", ATELIER_MODULE_CONTROLNET},
        {"input_hint_block.", ATELIER_MODULE_CONTROLNET},
        {"label_emb.", ATELIER_MODULE_CONTROLNET},
        {"middle_block.", ATELIER_MODULE_CONTROLNET},
        {"middle_block_out.", ATELIER_MODULE_CONTROLNET},
        {"time_embed.", ATELIER_MODULE_CONTROLNET},
        {"zero_convs.", ATELIER_MODULE_CONTROLNET},
        {"pmid.", ATELIER_MODULE_PHOTOMAKER},
    };
    for (const auto& row : table) {
        if (std::strncmp(tensor_name, row.prefix, std::strlen(row.prefix)) == 0) {
            return row.module;
        }
    }
    return ATELIER_MODULE_NONE;
}

bool can_throw() {
    return may_throw && std::uncaught_exceptions() == 0;
}

Job* current_job() {
    return job_of_thread;
}

ThrowScope::ThrowScope() : outer_(may_throw) {
    may_throw = true;
}

ThrowScope::~ThrowScope() {
    may_throw = outer_;
}

JobScope::JobScope(Job* job) : outer_(job_of_thread) {
    job_of_thread = job;
    may_throw     = true;
}

JobScope::~JobScope() {
    job_of_thread = outer_;
    may_throw     = outer_ != nullptr;
}

const atelier_adapter_names* Job::adapter_names(const std::string& path) const {
    const auto* const end   = adapters_ + adapter_count_;
    const auto* const found = std::find_if(adapters_, end, [&](const atelier_adapter_names& it) { return it.path != nullptr && path == it.path; });
    return found == end ? nullptr : found;
}

void Job::check_loras() const {
    if (!failed_lora_.empty()) {
        throw EngineAbort{failed_lora_};
    }
}

void Job::log(int level, const char* text) {
    // Only the thread of the call loads LoRAs.
    if (may_throw && text != nullptr && std::strstr(text, FAILED_LORA) != nullptr) {
        failed_lora_ = text;
    }
    // An image that stops early is a failure to the engine alone.
    if (step_replay_ != nullptr && step_replay_->has_stopped()) {
        return;
    }
    if (callbacks_.log != nullptr && text != nullptr) {
        callbacks_.log(callbacks_.user, level, text);
    }
}

bool Job::is_cancelled_for(int64_t time_us) const {
    if (!is_cancelled()) {
        return false;
    }
    const int64_t now_us = ggml_time_us();
    int64_t seen_us      = 0;
    cancel_seen_us_.compare_exchange_strong(seen_us, now_us);
    return seen_us != 0 && now_us - seen_us >= time_us;
}

void Job::enter_phase(atelier_phase phase) {
    forget_packed();
    phase_ = phase;
    if (phase == ATELIER_PHASE_DENOISING) {
        steps_done_     = -1;
        nodes_in_step_  = 0;
        nodes_expected_ = 0;
    }
    if (callbacks_.phase != nullptr) {
        callbacks_.phase(callbacks_.user, phase);
    }
}

void Job::keep_packed(ggml_backend_buffer* buffer) {
    const WeightMemory memory = weight_memory(buffer);
    const auto is_same        = [&](const WeightMemory& it) { return it.start == memory.start && it.bytes == memory.bytes; };
    if (memory.bytes > 0 && std::none_of(packed_memory_.begin(), packed_memory_.end(), is_same)) {
        atelier::keep_packed(memory, this, packed_limit_);
        packed_memory_.push_back(memory);
    }
}

void Job::forget_packed() {
    if (packed_memory_.empty()) {
        return;
    }
    record_peaks();
    for (const WeightMemory& memory : std::exchange(packed_memory_, {})) {
        atelier::forget_packed(memory);
    }
}

void Job::set_current_weight(const char* tensor_name) {
    is_lora_ = std::strncmp(tensor_name, LORA, std::strlen(LORA)) == 0;
    // The names of an upscaler's tensors do not say whose they are.
    module_  = phase_ == ATELIER_PHASE_UPSCALING ? ATELIER_MODULE_UPSCALER : module_of(is_lora_ ? tensor_name + std::strlen(LORA) : tensor_name);
}

void Job::finish_encoding() {
    if (phase_ == ATELIER_PHASE_ENCODING) {
        enter_phase(ATELIER_PHASE_DENOISING);
    }
}

void Job::begin_second_pass() {
    step_replay_ = nullptr;
    enter_phase(ATELIER_PHASE_DENOISING);
}

void Job::load_begin(int module, uint64_t total) {
    loading_        = true;
    load_module_    = phase_ == ATELIER_PHASE_UPSCALING ? ATELIER_MODULE_UPSCALER : module;
    load_total_     = total;
    load_report_us_ = ggml_time_us();
    if (callbacks_.load != nullptr) {
        callbacks_.load(callbacks_.user, load_module_, 0, total);
    }
}

void Job::load_progress(uint64_t done) {
    const int64_t now = ggml_time_us();
    if (callbacks_.load == nullptr || (now - load_report_us_ < REPORT_EVERY_US && done < load_total_)) {
        return;
    }
    load_report_us_ = now;
    callbacks_.load(callbacks_.user, load_module_, done, load_total_);
}

void Job::load_end() {
    loading_ = false;
    // Weights load inside a phase, at its first graph: report the phase again.
    if (callbacks_.phase != nullptr) {
        callbacks_.phase(callbacks_.user, phase_);
    }
}

void Job::report_progress(int step, int steps, float seconds) {
    if (loading_) {
        return;
    }
    if (phase_ == ATELIER_PHASE_UPSCALING) {
        steps_done_   = step;
        steps_        = steps;
        step_seconds_ = seconds;
        report_step(0);
        return;
    }
    if (phase_ != ATELIER_PHASE_DENOISING) {
        return;
    }
    if (steps_done_ < 0) {
        // Sampling reports "0 of n" once, before its first step.
        steps_done_ = 0;
        steps_      = steps;
        set_engine_preview(1);
        report_step(0);
        return;
    }
    if (step == 0) {
        is_tiling_ = true;  // of a preview
    }
    if (is_tiling_) {
        is_tiling_ = step != steps;
        return;
    }
    steps_done_     = step;
    step_seconds_   = seconds;
    nodes_expected_ = nodes_in_step_;
    nodes_in_step_  = 0;
    set_engine_preview(step + 1);
    report_step(0);
    if (step == steps_) {
        enter_phase(ATELIER_PHASE_DECODING);
    }
}

void Job::begin_graph(int nodes) {
    record_peaks();
    if (phase_ == ATELIER_PHASE_DENOISING && nodes_expected_ == 0) {
        nodes_expected_ = static_cast<int64_t>(nodes) * graphs_per_step_;
    }
}

void Job::add_computed_nodes(int nodes) {
    if (phase_ != ATELIER_PHASE_DENOISING || steps_done_ < 0) {
        return;
    }
    nodes_in_step_ += nodes;
    const int64_t now = ggml_time_us();
    if (nodes_expected_ > 0 && now - step_report_us_ >= REPORT_EVERY_US) {
        report_step(std::min(0.99f, static_cast<float>(nodes_in_step_) / static_cast<float>(nodes_expected_)));
    }
}

void Job::record_shortage(const char* device, uint64_t wanted, uint64_t free) {
    shortage_ = {device, phase_, wanted, free};
}

void Job::note_decoded(const float* values, size_t count) {
    if (phase_ == ATELIER_PHASE_DECODING || phase_ == ATELIER_PHASE_UPSCALING) {
        missing_numbers_ = static_cast<uint64_t>(std::count_if(values, values + count, [](float value) { return std::isnan(value); }));
    }
}

void Job::record_lost_connection(const std::string& server) {
    std::lock_guard<std::mutex> lock(lost_mutex_);
    lost_server_ = server;
    lost_        = true;
}

std::string Job::lost_server() const {
    std::lock_guard<std::mutex> lock(lost_mutex_);
    return lost_server_;
}

void Job::report_step(float fraction) {
    step_report_us_ = ggml_time_us();
    if (callbacks_.step != nullptr) {
        callbacks_.step(callbacks_.user, steps_done_, steps_, fraction, step_seconds_);
    }
}

void Job::report_preview(int step, uint32_t width, uint32_t height, const uint8_t* rgb) const {
    if (callbacks_.preview != nullptr) {
        callbacks_.preview(callbacks_.user, step, width, height, rgb);
    }
}

void Job::set_preview(preview_t mode, int every) {
    preview_mode_  = every > 0 ? mode : PREVIEW_NONE;
    preview_every_ = every;
    set_engine_preview(1);
}

void Job::set_preview_if(preview_t mode, std::function<bool(int step, int steps)> wanted) {
    preview_wanted_ = std::move(wanted);
    set_preview(mode, 1);
}

// The engine decodes a preview at each step that allows one, whether it is shown or not; so the callback is set anew before each step.
void Job::set_engine_preview(int step) const {
    const bool enabled = preview_mode_ != PREVIEW_NONE;
    const bool wanted  = enabled && step % preview_every_ == 0 && (preview_wanted_ == nullptr || preview_wanted_(step, steps_));
    sd_set_preview_callback(enabled ? on_preview : nullptr, preview_mode_, 1, wanted, false, nullptr);
}

void install_callbacks() {
    sd_set_log_callback(on_log, nullptr);
    sd_set_progress_callback(on_progress, nullptr);
    ggml_set_abort_callback(on_abort);
}

}  // namespace atelier

using atelier::Job;

void* atelier_job_current(void) {
    return atelier::current_job();
}

void atelier_job_attach_thread(void* job) {
    atelier::job_of_thread = static_cast<Job*>(job);
    atelier::may_throw     = true;
}

bool atelier_job_keeps_packed(void) {
    const atelier::Job* job = atelier::current_job();
    return job != nullptr && job->keeps_packed();
}

void atelier_job_keep_packed(ggml_backend_buffer_t buffer, const char* tensor_name) {
    atelier::Job* job = atelier::current_job();
    if (job != nullptr && atelier::module_of(tensor_name) == ATELIER_MODULE_DIFFUSION) {
        job->keep_packed(buffer);
    }
}

void atelier_forget_packed(ggml_backend_buffer_t buffer) {
    atelier::forget_packed(atelier::weight_memory(buffer));
}

bool atelier_job_should_stop(void* job) {
    return job != nullptr && (static_cast<Job*>(job)->is_cancelled() || static_cast<Job*>(job)->is_connection_lost());
}

void atelier_job_load_begin(void* job, const char* tensor_name, uint64_t total) {
    if (job != nullptr) {
        static_cast<Job*>(job)->load_begin(tensor_name == nullptr ? ATELIER_MODULE_NONE : atelier::module_of(tensor_name), total);
    }
}

void atelier_job_load_progress(void* job, uint64_t done) {
    if (job != nullptr) {
        static_cast<Job*>(job)->load_progress(done);
    }
}

void atelier_job_load_end(void* job) {
    if (job != nullptr) {
        static_cast<Job*>(job)->load_end();
    }
}

void atelier_job_set_current_weight(const char* tensor_name) {
    if (Job* job = atelier::current_job()) {
        job->set_current_weight(tensor_name);
    }
}

// Called by the engine (patches/util.cpp.patch) where it makes pixels.
void atelier_note_decoded(const float* values, size_t count) {
    if (atelier::Job* job = atelier::current_job()) {
        job->note_decoded(values, count);
    }
}
