// Adapters (LoRA and its relatives) whose tensors the caller has named: each part of a weight is changed in its place.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ggml_extend.hpp"
#include "model_loader.h"

namespace atelier {

// A change of some rows of a weight.
struct AdapterPart {
    int64_t row;
    // What the change is multiplied by, times its rank, where no tensor says it; 0 where the caller says nothing either.
    float alpha = 0.0f;
    // Its tensors by the end of their name, `lora_down`.
    std::map<std::string, ggml_tensor*> tensors;
    // The names that the engine counts.
    std::vector<std::string> names;
};

// The engine's own way finds the parts of a fused weight by numbers that begin at 0, stops at the first gap and spreads what it has over the whole
// weight; it takes LoKr's halves and LoHa's cores in the wrong order, and knows no magnitudes.
class Adapter {
public:
    // True where the tensors of the file were named by the caller.
    bool is_named() const { return is_named_; }

    // Opens the file of an adapter. By names of the caller's where this thread's job has some for it, else by the engine's. `prefix` is the engine's.
    bool open(ModelLoader& loader, const std::string& path, const std::string& prefix, SDVersion version);

    // Takes the loaded tensors, by the engine's names.
    void set_tensors(const std::unordered_map<std::string, ggml_tensor*>& tensors);

    // True where a weight's change needs the weight itself: the lengths of its rows or columns are given.
    bool has_magnitude(const std::string& weight_name) const;

    // The weight with its change. What was used is added to `used`.
    ggml_tensor* patched(ggml_context* ctx, ggml_backend_t backend, ggml_tensor* weight, const std::string& weight_name, float strength,
                         std::set<std::string>& used) const;

    // The output of a layer and what the weight's change makes of the layer's input.
    ggml_tensor* add_output(ggml_context* ctx, ggml_backend_t backend, ggml_tensor* input, ggml_tensor* output,
                            const WeightAdapter::ForwardParams& layer, ggml_tensor* weight, const std::string& weight_name, float strength,
                            std::set<std::string>& used) const;

private:
    const std::vector<AdapterPart>* parts_of(const std::string& weight_name, std::set<std::string>& used) const;

    bool is_named_ = false;
    std::unordered_map<std::string, std::vector<AdapterPart>> parts_;
};

}  // namespace atelier
