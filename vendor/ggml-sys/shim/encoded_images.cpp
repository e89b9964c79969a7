#include "encoded_images.h"

#include <algorithm>
#include <cstring>

#include "job.h"

namespace atelier {

sd::Tensor<float> EncodedImages::find(const std::string& conditions, const sd::Tensor<float>& image) {
    const size_t image_bytes = static_cast<size_t>(image.numel()) * sizeof(float);
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
        if (it->conditions != conditions || it->image_shape != image.shape() || std::memcmp(it->values->data(), image.data(), image_bytes) != 0) {
            continue;
        }
        entries_.splice(entries_.begin(), entries_, it);
        const float* from    = it->values->data() + image.numel();
        const int64_t values = sd::tensor_numel(it->output_shape);
        return sd::Tensor<float>(it->output_shape, std::vector<float>(from, from + values));
    }
    return {};
}

void EncodedImages::insert(std::string conditions, const sd::Tensor<float>& image, const sd::Tensor<float>& output) {
    const uint64_t bytes = static_cast<uint64_t>(image.numel() + output.numel()) * sizeof(float);
    auto values          = std::make_unique<Pages>();
    if (bytes > MAX_BYTES || !values->allocate(bytes)) {
        return;
    }
    std::copy_n(image.data(), image.numel(), values->data());
    std::copy_n(output.data(), output.numel(), values->data() + image.numel());
    entries_.push_front({std::move(conditions), image.shape(), output.shape(), std::move(values), bytes});
    bytes_ += bytes;
    while (bytes_ > MAX_BYTES) {
        bytes_ -= entries_.back().bytes;
        entries_.pop_back();
    }
}

}  // namespace atelier

atelier::EncodedImages* atelier_encoded_images() {
    const atelier::Job* job = atelier::current_job();
    return job == nullptr ? nullptr : job->encoded_images();
}

std::string atelier_encoding_conditions(const sd_tiling_params_t& tiling, bool circular_x, bool circular_y) {
    std::string conditions;
    const auto add = [&](const auto& value) { conditions += std::to_string(value) + ' '; };
    add(circular_x);
    add(circular_y);
    add(tiling.enabled);
    if (tiling.enabled) {
        add(tiling.temporal_tiling);
        add(tiling.tile_size_x);
        add(tiling.tile_size_y);
        add(tiling.target_overlap);
        add(tiling.rel_size_x);
        add(tiling.rel_size_y);
        conditions += tiling.extra_tiling_args == nullptr ? "" : tiling.extra_tiling_args;
    }
    // A LoRA may change the VAE too.
    return conditions + '\n' + atelier::current_job()->lora_key();
}

bool atelier_is_whole_encoding() {
    const atelier::Job* job = atelier::current_job();
    return !job->is_cancelled() && !job->is_connection_lost();
}
