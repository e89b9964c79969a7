#include "step_records.h"

#include <algorithm>
#include <utility>

#ifdef _WIN32
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <sys/mman.h>
#endif

#include "error_boundary.h"
#include "job.h"

namespace {

atelier::StepReplay* current_replay() {
    const atelier::Job* job = atelier::current_job();
    return job == nullptr ? nullptr : job->step_replay();
}

}  // namespace

namespace atelier {

bool Pages::allocate(uint64_t bytes) {
    bytes_ = bytes;
#ifdef _WIN32
    data_ = VirtualAlloc(nullptr, static_cast<SIZE_T>(bytes), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
#else
    data_ = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = data_ == MAP_FAILED ? nullptr : data_;
#endif
    return data_ != nullptr;
}

Pages::~Pages() {
    if (data_ == nullptr) {
        return;
    }
#ifdef _WIN32
    VirtualFree(data_, 0, MEM_RELEASE);
#else
    munmap(data_, static_cast<size_t>(bytes_));
#endif
}

std::shared_ptr<const StepEstimate> StepReplay::next(int step, float sigma, const sd::Tensor<float>& x) {
    const atelier_step_records* kept = params_.replay;
    const size_t evaluation          = evaluation_++;
    // Estimates of another schedule or size are not used.
    is_replaying_ = is_replaying_ && kept != nullptr && std::abs(step) <= params_.replay_steps && evaluation < kept->entries.size() &&
                    kept->entries[evaluation].step == step && kept->entries[evaluation].sigma == sigma && kept->shape == x.shape();
    if (!is_replaying_) {
        return nullptr;
    }
    const atelier_step_records::Entry& entry = kept->entries[evaluation];
    const auto tensor                        = [&](size_t at) {
        const float* from = kept->pages.data() + at;
        return sd::Tensor<float>(kept->shape, std::vector<float>(from, from + x.numel()));
    };
    auto estimate = std::make_shared<StepEstimate>();
    estimate->step     = step;
    estimate->sigma    = sigma;
    estimate->denoised = tensor(entry.denoised_at);
    if (entry.has_unguided) {
        estimate->unguided = tensor(entry.unguided_at);
    }
    record(estimate, false);
    return estimate;
}

void StepReplay::record(std::shared_ptr<const StepEstimate> estimate, bool is_computed) {
    atelier_step_records* records = params_.record;
    if (records == nullptr) {
        return;
    }
    records->computed += is_computed ? 1 : 0;
    if (is_full_) {
        return;
    }
    const bool is_like_others = recorded_.empty() || estimate->denoised.shape() == recorded_.front()->denoised.shape();
    const bool is_whole       = estimate->unguided.empty() || estimate->unguided.shape() == estimate->denoised.shape();
    if (recorded_bytes_ + estimate->bytes() > records->max_bytes || !is_like_others || !is_whole) {
        // Only whole steps can be replayed.
        is_full_ = true;
        while (!recorded_.empty() && std::abs(recorded_.back()->step) == std::abs(estimate->step)) {
            recorded_bytes_ -= recorded_.back()->bytes();
            recorded_.pop_back();
        }
        return;
    }
    recorded_bytes_ += estimate->bytes();
    recorded_.push_back(std::move(estimate));
}

sd::Tensor<float> StepReplay::restart_estimate(const sd::Tensor<float>& latent) const {
    const atelier_step_records& kept = *params_.restart;
    const auto is_wanted = [this](const atelier_step_records::Entry& entry) { return std::abs(entry.step) == params_.restart_after; };
    // Of several evaluations within the step the last one is the closest to its end.
    const auto entry = std::find_if(kept.entries.rbegin(), kept.entries.rend(), is_wanted);
    if (entry == kept.entries.rend() || kept.shape != latent.shape()) {
        throw EngineAbort{"the steps of the earlier picture do not fit this one"};
    }
    const float* from = kept.pages.data() + entry->denoised_at;
    return sd::Tensor<float>(kept.shape, std::vector<float>(from, from + latent.numel()));
}

bool StepReplay::stops_before(int step) {
    has_stopped_ = has_stopped_ || (params_.stop_after > 0 && std::abs(step) > params_.stop_after);
    return has_stopped_;
}

void StepReplay::finish() {
    atelier_step_records* records = params_.record;
    if (records == nullptr || recorded_.empty() || !records->pages.allocate(recorded_bytes_)) {
        return;
    }
    std::vector<atelier_step_records::Entry> entries;
    size_t at       = 0;
    const auto copy = [&](const sd::Tensor<float>& tensor) {
        const size_t begin = at;
        std::copy_n(tensor.data(), tensor.numel(), records->pages.data() + at);
        at += static_cast<size_t>(tensor.numel());
        return begin;
    };
    for (const std::shared_ptr<const StepEstimate>& estimate : recorded_) {
        const size_t denoised_at = copy(estimate->denoised);
        const size_t unguided_at = copy(estimate->unguided);
        entries.push_back({estimate->step, estimate->sigma, denoised_at, unguided_at, !estimate->unguided.empty()});
    }
    records->shape = recorded_.front()->denoised.shape();
    records->bytes = recorded_bytes_;
    recorded_.clear();
    // Allocated once those of the image are freed.
    records->entries = std::vector<atelier_step_records::Entry>(entries);
}

}  // namespace atelier

std::shared_ptr<const atelier::StepEstimate> atelier_kept_estimate(int step, float sigma, const sd::Tensor<float>& x) {
    atelier::StepReplay* replay = current_replay();
    return replay == nullptr ? nullptr : replay->next(step, sigma, x);
}

bool atelier_stops_before_step(int step) {
    atelier::StepReplay* replay = current_replay();
    return replay != nullptr && replay->stops_before(step);
}

bool atelier_shows_last_step() {
    const atelier::StepReplay* replay = current_replay();
    if (replay == nullptr || !replay->shows_last_step()) {
        return false;
    }
    // Otherwise the last step of the schedule ends sampling.
    atelier::current_job()->enter_phase(ATELIER_PHASE_DECODING);
    return true;
}

int atelier_number_step(int step) {
    const atelier::StepReplay* replay = current_replay();
    const int before                  = replay == nullptr ? 0 : replay->first_steps();
    return step < 0 ? step - before : step + before;
}

std::vector<float> atelier_rest_of_schedule(const std::vector<float>& sigmas) {
    const atelier::StepReplay* replay = current_replay();
    const int before                  = replay == nullptr ? 0 : replay->first_steps();
    if (before < 1) {
        return sigmas;
    }
    if (static_cast<size_t>(before) + 1 >= sigmas.size()) {
        throw atelier::EngineAbort{"the picture has no steps after the one that it begins with"};
    }
    return {sigmas.begin() + before, sigmas.end()};
}

sd::Tensor<float> atelier_first_estimate(const sd::Tensor<float>& latent) {
    const atelier::StepReplay* replay = current_replay();
    return replay == nullptr || replay->first_steps() < 1 ? latent : replay->restart_estimate(latent);
}

void atelier_record_estimate(int step, float sigma, const sd::Tensor<float>& denoised, const sd::Tensor<float>& unguided) {
    if (atelier::StepReplay* replay = current_replay()) {
        replay->record(std::make_shared<atelier::StepEstimate>(atelier::StepEstimate{step, sigma, denoised, unguided}), true);
    }
}

atelier_step_records* atelier_step_records_new(uint64_t max_bytes) {
    return new (std::nothrow) atelier_step_records(max_bytes);
}

void atelier_step_records_free(atelier_step_records* records) {
    delete records;
}

atelier_step_counts atelier_step_records_counts(const atelier_step_records* records) {
    return records == nullptr ? atelier_step_counts{} : atelier_step_counts{records->steps(), records->bytes, records->computed};
}
