// Previews through the model's decoder whose size and number adapt to a time budget, less than a fifth of the image's time.
//
// The projection of latents costs nothing, but its factors belong to one well-known latent space; another latent space needs its decoder,
// which may take longer than a step. The time of decoding is proportional to the number of latent points, so latents are downscaled first.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ggml.h"
#include "model/vae/vae.hpp"

namespace atelier {

// VAE that wraps the decoder during one image.
class AdaptivePreview : public VAE {
public:
    // `decodes_last`: `inner` also decodes the finished image.
    AdaptivePreview(std::shared_ptr<VAE> inner, SDVersion version, ggml_backend_t backend, bool decodes_last)
        : VAE(version, backend), inner_(std::move(inner)), decodes_last_(decodes_last) {
        scale_input = false;  // `inner` does
    }

    // Begins an image of this size in latent points. If `is_tiled`, previews stay larger than a tile: the engine cannot tile smaller ones.
    void begin_image(int64_t width, int64_t height, bool is_tiled) {
        start_us_   = ggml_time_us();
        preview_us_   = 0;
        width_      = width;
        height_     = height;
        min_side_ = is_tiled ? TILE_SIDE + 1 : MIN_SIDE;
    }

    // True where the budget allows a preview after this step, counted from 1. Always after the first, which shows what a change does; later ones
    // pay for it. Never after the last: the image follows.
    bool is_affordable(int step, int steps) {
        steps_left_ = steps - step;
        if (step == 1 && steps > 1) {
            return true;
        }
        // The last decoding counts in proportion to the steps done, so that previews are spread over all steps.
        return steps_left_ > 0 && (us_per_point_ <= 0 || cost_us(largest_divisor()) <= budget_us(static_cast<double>(step) / steps));
    }

    int get_encoder_output_channels(int input_channels) override { return inner_->get_encoder_output_channels(input_channels); }

    sd::Tensor<float> diffusion_to_vae_latents(const sd::Tensor<float>& latents) override {
        return downscaled(inner_->diffusion_to_vae_latents(latents), divisor());
    }

    sd::Tensor<float> vae_output_to_latents(const sd::Tensor<float>& output, std::shared_ptr<RNG> rng) override {
        return inner_->vae_output_to_latents(output, std::move(rng));
    }

    sd::Tensor<float> vae_to_diffusion_latents(const sd::Tensor<float>& latents) override { return inner_->vae_to_diffusion_latents(latents); }

    // The weights belong to `inner`.
    void get_param_tensors(std::map<std::string, ggml_tensor*>&) override {}

    std::string get_desc() override { return "adaptive preview"; }

protected:
    sd::Tensor<float> _compute(const int n_threads, const sd::Tensor<float>& latents, bool) override {
        const int64_t start_us  = ggml_time_us();
        sd_tiling_params_t whole{};
        sd::Tensor<float> picture = inner_->decode(n_threads, latents, whole, false, false, false, true);
        const int64_t took_us     = ggml_time_us() - start_us;
        preview_us_ += took_us;
        const double points   = static_cast<double>(latents.shape()[0] * latents.shape()[1]);
        const double measured = static_cast<double>(took_us) / std::max(1.0, points);
        // The minimum: the first decoding also reads the weights.
        us_per_point_ = us_per_point_ <= 0 ? measured : std::min(us_per_point_, measured);
        return picture;
    }

private:
    static constexpr int64_t MIN_SIDE = 8;   // latent points, an image of 64 pixels
    static constexpr int64_t TILE_SIDE  = 32;  // latent points of a tile
    static constexpr double SHARE       = 0.2;  // of the time of all else: a sixth of the whole

    double cost_us(int64_t divisor) const {
        const int64_t width  = (width_ + divisor - 1) / divisor;
        const int64_t height = (height_ + divisor - 1) / divisor;
        return us_per_point_ * static_cast<double>(width * height);
    }

    // Microseconds left for previews: a share of the time of all else so far, and of this part of the last decoding.
    double budget_us(double part) const {
        const double others = static_cast<double>(ggml_time_us() - start_us_ - preview_us_) + (decodes_last_ ? cost_us(1) * part : 0.0);
        return SHARE * others - static_cast<double>(preview_us_);
    }

    bool is_large_enough(int64_t divisor) const { return std::min(width_, height_) / divisor >= min_side_; }

    int64_t largest_divisor() const {
        int64_t divisor = 1;
        while (is_large_enough(divisor * 2)) {
            divisor *= 2;
        }
        return divisor;
    }

    // Smallest divisor (sharpest preview) that leaves the same budget for each remaining step.
    int64_t divisor() const {
        const int64_t largest = largest_divisor();
        if (us_per_point_ <= 0) {
            return largest;
        }
        const double each_us = budget_us(1.0) / std::max(1, steps_left_);
        int64_t divisor      = 1;
        while (divisor < largest && cost_us(divisor) > each_us) {
            divisor *= 2;
        }
        return divisor;
    }

    // Means of `divisor` x `divisor` points; fewer at the right and lower edges.
    static sd::Tensor<float> downscaled(sd::Tensor<float> latents, int64_t divisor) {
        if (divisor <= 1 || latents.dim() < 3) {
            return latents;
        }
        std::vector<int64_t> shape = latents.shape();
        const int64_t width        = shape[0];
        const int64_t height       = shape[1];
        shape[0]                   = (width + divisor - 1) / divisor;
        shape[1]                   = (height + divisor - 1) / divisor;
        sd::Tensor<float> small(shape);
        const int64_t planes = latents.numel() / (width * height);
        float* out           = small.data();
        for (int64_t plane = 0; plane < planes; ++plane) {
            const float* in = latents.data() + plane * width * height;
            for (int64_t top = 0; top < height; top += divisor) {
                for (int64_t left = 0; left < width; left += divisor) {
                    const int64_t bottom = std::min(top + divisor, height);
                    const int64_t right  = std::min(left + divisor, width);
                    float sum            = 0;
                    for (int64_t y = top; y < bottom; ++y) {
                        for (int64_t x = left; x < right; ++x) {
                            sum += in[y * width + x];
                        }
                    }
                    *out++ = sum / static_cast<float>((bottom - top) * (right - left));
                }
            }
        }
        return small;
    }

    std::shared_ptr<VAE> inner_;
    bool decodes_last_;
    int64_t start_us_    = 0;
    int64_t preview_us_    = 0;
    int64_t width_       = 0;
    int64_t height_      = 0;
    int64_t min_side_  = MIN_SIDE;
    int steps_left_            = 0;
    double us_per_point_ = 0;  // 0: not yet known
};

}  // namespace atelier
