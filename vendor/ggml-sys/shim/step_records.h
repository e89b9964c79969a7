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

// Memory in pages of its own. In the heap, small blocks that are kept would keep the engine's large ones around them from being given back.
class Pages {
public:
    Pages() = default;
    Pages(const Pages&)            = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages();

    // Once. False without memory.
    bool allocate(uint64_t bytes);
    float* data() const { return static_cast<float*>(data_); }

private:
    void* data_     = nullptr;
    uint64_t bytes_ = 0;
};

// The estimates that an image begins with, and those that it keeps.
class StepReplay {
public:
    // `params` outlives this.
    explicit StepReplay(const atelier_steps& params) : params_(params) {}

    // The estimate of this evaluation, where it is kept; null: it must be computed.
    std::shared_ptr<const StepEstimate> next(int step, float sigma, const sd::Tensor<float>& x);
    void record(std::shared_ptr<const StepEstimate> estimate, bool is_computed);
    // True from the first evaluation on that this image does not want.
    bool stops_before(int step);
    bool has_stopped() const { return has_stopped_; }
    // True where the image is the estimate of the last step that it wanted.
    bool shows_last_step() const { return has_stopped_ && params_.shows_last_step; }
    // Steps that this image leaves out, since it begins with an earlier image's estimate of the last of them.
    int first_steps() const { return params_.restart == nullptr ? 0 : params_.restart_after; }
    // That estimate, of the shape of `latent`; throws where the records have none.
    sd::Tensor<float> restart_estimate(const sd::Tensor<float>& latent) const;
    // Puts the estimates into the records, once the image is generated.
    void finish();

private:
    const atelier_steps& params_;
    std::vector<std::shared_ptr<const StepEstimate>> recorded_;
    uint64_t recorded_bytes_ = 0;
    size_t evaluation_       = 0;
    bool is_replaying_       = true;
    bool is_full_            = false;
    bool has_stopped_        = false;
};

}  // namespace atelier

struct atelier_step_records {
    struct Entry {
        int step;
        float sigma;
        // In numbers, not bytes.
        size_t denoised_at;
        size_t unguided_at;
        bool has_unguided;
    };

    uint64_t max_bytes;
    uint64_t bytes    = 0;
    uint64_t computed = 0;
    // Of every estimate.
    std::vector<int64_t> shape;
    std::vector<Entry> entries;
    atelier::Pages pages;

    explicit atelier_step_records(uint64_t max_bytes) : max_bytes(max_bytes) {}
    // The number of whole steps.
    int steps() const { return entries.empty() ? 0 : std::abs(entries.back().step); }
};

// The kept estimate of this evaluation; null: it must be computed.
std::shared_ptr<const atelier::StepEstimate> atelier_kept_estimate(int step, float sigma, const sd::Tensor<float>& x);
// True where this job's image ends before this step.
bool atelier_stops_before_step(int step);
// True where this job's image is its last estimate, although sampling stopped.
bool atelier_shows_last_step();
// The number of a step in the whole schedule, of which the sampler may have got a rest.
int atelier_number_step(int step);
// The rest of a schedule that this job's image samples: all of it, or what comes after the estimate that it begins with.
std::vector<float> atelier_rest_of_schedule(const std::vector<float>& sigmas);
// The estimate that this job's image begins with, of the shape of `latent`; without one, `latent`.
sd::Tensor<float> atelier_first_estimate(const sd::Tensor<float>& latent);
// Keeps a computed estimate where this job's image keeps them.
void atelier_record_estimate(int step, float sigma, const sd::Tensor<float>& denoised, const sd::Tensor<float>& unguided);
