#include "step_records.h"

#include <utility>

#include "error_boundary.h"
#include "job.h"

namespace {

atelier::StepReplay* current_replay() {
    const atelier::Job* job = atelier::current_job();
    return job == nullptr ? nullptr : job->step_replay();
}

}  // namespace

namespace atelier {

const StepEstimate* StepReplay::next(int step, float sigma, const sd::Tensor<float>& x) {
    const size_t evaluation = evaluation_++;
    if (!is_replaying_ || params_.replay == nullptr || std::abs(step) > params_.replay_steps || evaluation >= params_.replay->estimates.size()) {
        is_replaying_ = false;
        return nullptr;
    }
    const std::shared_ptr<const StepEstimate>& kept = params_.replay->estimates[evaluation];
    // Estimates of another schedule or size are not used.
    if (kept->step != step || kept->sigma != sigma || kept->denoised.shape() != x.shape()) {
        is_replaying_ = false;
        return nullptr;
    }
    record(kept, false);
    return kept.get();
}

void StepReplay::record(std::shared_ptr<const StepEstimate> estimate, bool is_computed) const {
    atelier_step_records* records = params_.record;
    if (records == nullptr) {
        return;
    }
    records->computed += is_computed ? 1 : 0;
    if (records->is_full) {
        return;
    }
    if (records->bytes + estimate->bytes() > records->max_bytes) {
        // Only whole steps can be replayed.
        records->is_full = true;
        while (!records->estimates.empty() && std::abs(records->estimates.back()->step) == std::abs(estimate->step)) {
            records->bytes -= records->estimates.back()->bytes();
            records->estimates.pop_back();
        }
        return;
    }
    records->bytes += estimate->bytes();
    records->estimates.push_back(std::move(estimate));
}

bool StepReplay::stops_before(int step) {
    has_stopped_ = has_stopped_ || (params_.stop_after > 0 && std::abs(step) > params_.stop_after);
    return has_stopped_;
}

}  // namespace atelier

const atelier::StepEstimate* atelier_kept_estimate(int step, float sigma, const sd::Tensor<float>& x) {
    atelier::StepReplay* replay = current_replay();
    return replay == nullptr ? nullptr : replay->next(step, sigma, x);
}

bool atelier_stops_before_step(int step) {
    atelier::StepReplay* replay = current_replay();
    return replay != nullptr && replay->stops_before(step);
}

void atelier_record_estimate(int step, float sigma, const sd::Tensor<float>& denoised, const sd::Tensor<float>& unguided) {
    if (const atelier::StepReplay* replay = current_replay()) {
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
