#include "prefetch.h"

#include <system_error>

#include "job.h"
#include "weight_manager.h"

namespace atelier {

namespace {

// The profile to which a prefetching thread adds; null on other threads.
thread_local CopyProfile* prefetch_profile = nullptr;
thread_local bool is_prefetching           = false;

}  // namespace

void CopyProfile::add(int module, uint64_t bytes, int64_t time_us, bool is_hidden) {
    std::lock_guard<std::mutex> lock(mutex_);
    Copies& copies = copies_[module];
    copies.bytes += bytes;
    copies.count += 1;
    (is_hidden ? copies.hidden_us : copies.waited_us) += time_us;
}

void CopyProfile::add_wait(int module, int64_t time_us) {
    std::lock_guard<std::mutex> lock(mutex_);
    copies_[module].waited_us += time_us;
}

std::map<int, Copies> CopyProfile::by_module() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return copies_;
}

bool copies_beside_computing(ggml_backend_t backend) {
    ggml_backend_dev_t device = ggml_backend_get_device(backend);
    if (device == nullptr || is_remote(device)) {
        return false;
    }
    ggml_backend_dev_props properties = {};
    ggml_backend_dev_get_props(device, &properties);
    return properties.caps.async;
}

Prefetch::Prefetch(std::shared_ptr<RunnerWeightManager> manager, std::vector<ggml_tensor*> weights)
    : manager_(std::move(manager)), weights_(std::move(weights)) {
    if (manager_ == nullptr || weights_.empty()) {
        return;
    }
    if (Job* job = current_job()) {
        profile_ = &job->copy_profile();
    }
    try {
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
        // The system gives no further thread: the weights are copied when they are needed.
    }
}

Prefetch::~Prefetch() {
    // Left by an exception: nobody uses the weights.
    if (thread_.joinable()) {
        thread_.join();
        if (is_held_) {
            manager_->release_compute_backend_params(weights_);
        }
    }
}

void Prefetch::run() {
    prefetch_profile = profile_;
    is_prefetching   = true;
    try {
        const ThrowScope scope;
        is_held_ = manager_->prepare_params(weights_);
    } catch (...) {
        is_held_ = false;
    }
}

std::vector<ggml_tensor*> Prefetch::finish() {
    if (!thread_.joinable()) {
        return {};
    }
    const int64_t start_us = ggml_time_us();
    thread_.join();
    if (Job* job = current_job()) {
        job->copy_profile().add_wait(module_of(weights_.front()->name), ggml_time_us() - start_us);
        // Both segments' weights are on the device now.
        job->record_peaks();
    }
    return is_held_ ? std::move(weights_) : std::vector<ggml_tensor*>();
}

}  // namespace atelier

void atelier_note_copied(const char* first_weight, uint64_t bytes, int64_t time_us) {
    atelier::Job* job             = atelier::current_job();
    atelier::CopyProfile* profile = job != nullptr ? &job->copy_profile() : atelier::prefetch_profile;
    if (profile != nullptr) {
        profile->add(atelier::module_of(first_weight), bytes, time_us, job == nullptr);
    }
}

bool atelier_is_prefetching(void) {
    return atelier::is_prefetching;
}
