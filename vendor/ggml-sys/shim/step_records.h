// Estimates of the picture that sampling computed in its steps, kept so that a later image can begin with them: called by the patched
// stable-diffusion.cpp.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "core/tensor.hpp"
#include "shim.h"

namespace atelier {

// What one evaluation of a sampler gave.
struct StepEstimate {
    // The engine's number of the step, from 1; negative where the sampler evaluates once more within the step.
    int step;
    float sigma;
    sd::Tensor<float> denoised;
    // Empty where the sampler does not need it.
    sd::Tensor<float> unguided;

    uint64_t bytes() const { return static_cast<uint64_t>(denoised.numel() + unguided.numel()) * sizeof(float); }
};

// The estimates that an image begins with, and those that it keeps.
class StepReplay {
public:
    // `params` outlives this.
    explicit StepReplay(const atelier_steps& params) : params_(params) {}

    // The estimate of this evaluation, where it is kept; null: it must be computed.
    const StepEstimate* next(int step, float sigma, const sd::Tensor<float>& x);
    void record(std::shared_ptr<const StepEstimate> estimate, bool is_computed) const;
    // True from the first evaluation on that this image does not want.
    bool stops_before(int step);
    bool has_stopped() const { return has_stopped_; }

private:
    const atelier_steps& params_;
    size_t evaluation_  = 0;
    bool is_replaying_  = true;
    bool has_stopped_   = false;
};

}  // namespace atelier

struct atelier_step_records {
    uint64_t max_bytes;
    uint64_t bytes           = 0;
    uint64_t computed        = 0;
    bool is_full             = false;
    std::vector<std::shared_ptr<const atelier::StepEstimate>> estimates;

    explicit atelier_step_records(uint64_t max_bytes) : max_bytes(max_bytes) {}
    // The number of whole steps.
    int steps() const { return estimates.empty() ? 0 : std::abs(estimates.back()->step); }
};

// The kept estimate of this evaluation; null: it must be computed.
const atelier::StepEstimate* atelier_kept_estimate(int step, float sigma, const sd::Tensor<float>& x);
// True where this job's image ends before this step.
bool atelier_stops_before_step(int step);
// Keeps a computed estimate where this job's image keeps them.
void atelier_record_estimate(int step, float sigma, const sd::Tensor<float>& denoised, const sd::Tensor<float>& unguided);
