#include "area.h"

#include <algorithm>
#include <cmath>

#include "job.h"

namespace {

// The longest schedule; some schedulers have no more than so many different sigmas.
constexpr int MAX_STEPS = 1000;
// The least strength: below it nothing is seen to change.
constexpr float MIN_STRENGTH = 0.01f;

// The area of this thread's job; null where its image has none.
const atelier_area* current_area() {
    const atelier::Job* job = atelier::current_job();
    return job == nullptr ? nullptr : job->area();
}

float start_strength() {
    const atelier_area* area = current_area();
    return area == nullptr ? 1.0f : std::clamp(area->strength, MIN_STRENGTH, 1.0f);
}

// Value of a falling schedule at a position between two of its steps.
float sigma_at(const std::vector<float>& sigmas, float position) {
    const auto step = std::min(static_cast<size_t>(std::max(position, 0.0f)), sigmas.size() - 2);
    return sigmas[step] + (sigmas[step + 1] - sigmas[step]) * (position - static_cast<float>(step));
}

// The share of a falling schedule that is left at a sigma: 1 at its start, 0 at its end.
float remaining_share(const std::vector<float>& sigmas, float sigma) {
    for (size_t step = 0; step + 1 < sigmas.size(); ++step) {
        if (sigma > sigmas[step + 1]) {
            const float length = sigmas[step] - sigmas[step + 1];
            const float within = length > 0 ? std::clamp((sigmas[step] - sigma) / length, 0.0f, 1.0f) : 0.0f;
            return 1.0f - (static_cast<float>(step) + within) / static_cast<float>(sigmas.size() - 1);
        }
    }
    return 0.0f;
}

}  // namespace

int atelier_schedule_steps(int steps) {
    const float strength = start_strength();
    return strength >= 1.0f ? steps : std::max(steps, std::min(MAX_STEPS, static_cast<int>(std::ceil(static_cast<float>(steps) / strength))));
}

void atelier_cut_schedule(std::vector<float>& sigmas, int steps) {
    const float strength = start_strength();
    if (strength >= 1.0f || steps < 1 || sigmas.size() < 2) {
        return;
    }
    const float length = static_cast<float>(sigmas.size() - 1);
    std::vector<float> cut;
    for (int step = 0; step <= steps; ++step) {
        const float done = static_cast<float>(step) / static_cast<float>(steps);
        cut.push_back(sigma_at(sigmas, length * (1.0f - strength * (1.0f - done))));
    }
    cut.back() = sigmas.back();
    // A scheduler with few different sigmas (LCM) repeats them, on which samplers divide by zero.
    if (std::adjacent_find(cut.begin(), cut.end(), [](float one, float next) { return !(next < one); }) != cut.end()) {
        const float start = cut.front();
        for (int step = 0; step <= steps; ++step) {
            cut[step] = start * static_cast<float>(steps - step) / static_cast<float>(steps);
        }
    }
    sigmas = std::move(cut);
}

sd::Tensor<float> atelier_denoise_mask(const sd::Tensor<float>& mask, float sigma, const std::vector<float>& sigmas) {
    const atelier_area* area = current_area();
    if (area == nullptr || area->soft_mask == nullptr || mask.dim() < 2 || sigmas.size() < 2) {
        return mask;
    }
    const int64_t width       = mask.shape()[0];
    const int64_t height      = mask.shape()[1];
    const float share         = remaining_share(sigmas, sigma);
    sd::Tensor<float> softer  = mask;
    const int64_t planes      = mask.numel() / (width * height);
    for (int64_t y = 0; y < height; ++y) {
        const int64_t top    = y * area->height / height;
        const int64_t bottom = std::max(top + 1, (y + 1) * area->height / height);
        for (int64_t x = 0; x < width; ++x) {
            const int64_t left  = x * area->width / width;
            const int64_t right = std::max(left + 1, (x + 1) * area->width / width);
            uint8_t value       = 0;
            for (int64_t row = top; row < bottom; ++row) {
                const uint8_t* line = area->soft_mask + row * area->width;
                value               = std::max(value, *std::max_element(line + left, line + right));
            }
            const bool is_denoised = value > 0 && static_cast<float>(value) >= share * 255.0f;
            for (int64_t plane = 0; plane < planes && !is_denoised; ++plane) {
                softer.data()[plane * width * height + y * width + x] = 0.0f;
            }
        }
    }
    return softer;
}
