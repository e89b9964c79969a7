// Scales of weights of 8 bits, which lie in tensors of their own beside the weights. The engine's loader passes over them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model.h"

namespace atelier {

// Part of the names under which the loader keeps scales; no module asks for them.
constexpr const char* SCALE_NAME = "atelier_scale.";

// Gives the scales among the tensors of a file names that tell the weight that they belong to.
void name_weight_scales(std::vector<TensorStorage>& tensors, const std::string& path);

// Scales by the file and the place of their weights.
using WeightScales = std::map<std::pair<size_t, uint64_t>, TensorStorage>;
WeightScales weight_scales(const String2TensorStorage& tensors);

// Multiplies a weight's values (F16) by its scale, or each of its rows by its own. `bytes`: those of `scale` in the file.
void apply_weight_scale(uint16_t* values, int64_t count, const TensorStorage& scale, const std::vector<uint8_t>& bytes);

}  // namespace atelier
