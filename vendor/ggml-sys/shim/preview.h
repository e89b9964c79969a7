// Previews through a model's own decoder that stay cheap: smaller ones, or fewer, so that all of them take less than a fifth of the
// picture's time.
//
// A projection of the latents is free, but its colours are those of one well-known latent space; a model with a latent space of its own
// needs its decoder, which may cost more than a step. Decoding a shrunken latent costs in proportion to its points.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ggml.h"
#include "model/vae/vae.hpp"

namespace atelier {

// Stands before the decoder for as long as one picture is made.
class ThriftyPreview : public VAE {
public:
    // `last` says whether `inner` also decodes the finished picture.
    ThriftyPreview(std::shared_ptr<VAE> inner, SDVersion version, ggml_backend_t backend, bool last)
        : VAE(version, backend), inner_(std::move(inner)), decodes_last_(last) {
        scale_input = false;  // the inner one does
    }

    // A picture of so many latent points begins. `tiled` pictures are never shrunk to one tile or less: the engine cannot cut those.
    void begin(int64_t width, int64_t height, bool tiled) {
        begun_us_   = ggml_time_us();
        spent_us_   = 0;
        width_      = width;
        height_     = height;
        least_side_ = tiled ? TILE_SIDE + 1 : LEAST_SIDE;
    }

    // Whether a preview after this step, counted from 1, can be paid for. The last step needs none: the picture follows.
    bool affordable(int step, int steps) {
        left_ = steps - step;
        // The last decoding counts as far as the picture is, so that previews are spread over it.
        return left_ > 0 && (us_per_point_ <= 0 || cost_us(widest_divisor()) <= allowance_us(static_cast<double>(step) / steps));
    }

    int get_encoder_output_channels(int input_channels) override { return inner_->get_encoder_output_channels(input_channels); }

    sd::Tensor<float> diffusion_to_vae_latents(const sd::Tensor<float>& latents) override {
        return shrunk(inner_->diffusion_to_vae_latents(latents), divisor());
    }

    sd::Tensor<float> vae_output_to_latents(const sd::Tensor<float>& output, std::shared_ptr<RNG> rng) override {
        return inner_->vae_output_to_latents(output, std::move(rng));
    }

    sd::Tensor<float> vae_to_diffusion_latents(const sd::Tensor<float>& latents) override { return inner_->vae_to_diffusion_latents(latents); }

    // Its weights belong to the inner one.
    void get_param_tensors(std::map<std::string, ggml_tensor*>&) override {}

    std::string get_desc() override { return "thrifty preview"; }

protected:
    sd::Tensor<float> _compute(const int n_threads, const sd::Tensor<float>& latents, bool) override {
        const int64_t begun_us = ggml_time_us();
        sd_tiling_params_t whole{};
        sd::Tensor<float> picture = inner_->decode(n_threads, latents, whole, false, false, false, true);
        const int64_t took_us     = ggml_time_us() - begun_us;
        spent_us_ += took_us;
        const double points   = static_cast<double>(latents.shape()[0] * latents.shape()[1]);
        const double measured = static_cast<double>(took_us) / std::max(1.0, points);
        // The least that was seen: the first one also reads the weights.
        us_per_point_ = us_per_point_ <= 0 ? measured : std::min(us_per_point_, measured);
        return picture;
    }

private:
    static constexpr int64_t LEAST_SIDE = 8;   // latent points; a picture of 64 pixels still shows what it will be
    static constexpr int64_t TILE_SIDE  = 32;  // latent points of a tile
    static constexpr double SHARE       = 0.2;  // of the time that is spent on all else: a sixth of the whole, less than a fifth

    double cost_us(int64_t divisor) const {
        const int64_t width  = (width_ + divisor - 1) / divisor;
        const int64_t height = (height_ + divisor - 1) / divisor;
        return us_per_point_ * static_cast<double>(width * height);
    }

    // What may be spent now: a share of all else so far, and of this part of the last decoding, which is certain to come.
    double allowance_us(double part) const {
        const double others = static_cast<double>(ggml_time_us() - begun_us_ - spent_us_) + (decodes_last_ ? cost_us(1) * part : 0.0);
        return SHARE * others - static_cast<double>(spent_us_);
    }

    bool large_enough(int64_t divisor) const { return std::min(width_, height_) / divisor >= least_side_; }

    int64_t widest_divisor() const {
        int64_t divisor = 1;
        while (large_enough(divisor * 2)) {
            divisor *= 2;
        }
        return divisor;
    }

    // The sharpest preview that leaves as much for each of those to come.
    int64_t divisor() const {
        const int64_t widest = widest_divisor();
        if (us_per_point_ <= 0) {
            return widest;
        }
        const double each_us = allowance_us(1.0) / std::max(1, left_);
        int64_t divisor      = 1;
        while (divisor < widest && cost_us(divisor) > each_us) {
            divisor *= 2;
        }
        return divisor;
    }

    // Means of squares of `divisor` x `divisor` points; those at the right and lower edges may be cut.
    static sd::Tensor<float> shrunk(sd::Tensor<float> latents, int64_t divisor) {
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
    int64_t begun_us_    = 0;
    int64_t spent_us_    = 0;
    int64_t width_       = 0;
    int64_t height_      = 0;
    int64_t least_side_  = LEAST_SIDE;
    int left_            = 0;
    double us_per_point_ = 0;  // 0: not yet known
};

}  // namespace atelier
