// Images that a context's VAE encoded: the next picture from the same start picture, mask or reference does not encode it again. Called by the
// patched stable-diffusion.cpp.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor.hpp"
#include "shim.h"
#include "step_records.h"

namespace atelier {

// Least recently used cache of one context, for one thread at a time.
class EncodedImages {
public:
    // The VAE's output for an image, before a latent is drawn from it, which depends on the seed; empty where it is not kept. `conditions`: everything
    // else on which it depends.
    sd::Tensor<float> find(const std::string& conditions, const sd::Tensor<float>& image);
    // Kept only if there is memory.
    void insert(std::string conditions, const sd::Tensor<float>& image, const sd::Tensor<float>& output);

private:
    struct Entry {
        std::string conditions;
        std::vector<int64_t> image_shape;
        std::vector<int64_t> output_shape;
        // The values of the image, then those of the output.
        std::unique_ptr<Pages> values;
        uint64_t bytes;
    };

    static constexpr uint64_t MAX_BYTES = 128u << 20;

    std::list<Entry> entries_;  // most recently used first
    uint64_t bytes_ = 0;
};

}  // namespace atelier

// The cache for this thread's image, and what its encodings depend on beside the image; null: nothing is kept.
atelier::EncodedImages* atelier_encoded_images();
std::string atelier_encoding_conditions(const sd_tiling_params_t& tiling, bool circular_x, bool circular_y);
// False for the output of a cancelled job, which may be of a part of the graph.
bool atelier_is_whole_encoding();

// What `encode` returns for this image, or what it returned before.
template <typename Encode>
sd::Tensor<float> atelier_encode_once(const sd::Tensor<float>& image, const sd_tiling_params_t& tiling, bool circular_x, bool circular_y, Encode encode) {
    atelier::EncodedImages* kept = atelier_encoded_images();
    if (kept == nullptr) {
        return encode();
    }
    std::string conditions   = atelier_encoding_conditions(tiling, circular_x, circular_y);
    sd::Tensor<float> output = kept->find(conditions, image);
    if (output.empty()) {
        output = encode();
        if (!output.empty() && atelier_is_whole_encoding()) {
            kept->insert(std::move(conditions), image, output);
        }
    }
    return output;
}
