#include "weight_scales.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "ggml.h"

namespace atelier {

namespace {

constexpr const char* WEIGHT = ".weight";
constexpr const char* ENDS[] = {".scale_weight", ".weight_scale"};

bool ends_with(const std::string& text, const char* end) {
    const size_t length = std::strlen(end);
    return text.size() >= length && text.compare(text.size() - length, length, end) == 0;
}

float value_at(const TensorStorage& scale, const std::vector<uint8_t>& bytes, int64_t index) {
    if (scale.is_f64) {
        double value;
        std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
        return static_cast<float>(value);
    }
    if (scale.type == GGML_TYPE_F32) {
        float value;
        std::memcpy(&value, bytes.data() + index * sizeof(value), sizeof(value));
        return value;
    }
    uint16_t half;
    std::memcpy(&half, bytes.data() + index * sizeof(half), sizeof(half));
    return scale.type == GGML_TYPE_BF16 ? ggml_bf16_to_fp32(ggml_bf16_t{half}) : ggml_fp16_to_fp32(half);
}

}  // namespace

void name_weight_scales(std::vector<TensorStorage>& tensors, const std::string& path) {
    std::unordered_map<std::string, const TensorStorage*> weights;
    for (const TensorStorage& tensor : tensors) {
        if (ends_with(tensor.name, WEIGHT) && (tensor.is_f8_e4m3 || tensor.is_f8_e5m2)) {
            weights.emplace(tensor.name.substr(0, tensor.name.size() - std::strlen(WEIGHT)), &tensor);
        }
    }
    const std::string file = std::to_string(std::hash<std::string>{}(path));
    for (TensorStorage& tensor : tensors) {
        for (const char* end : ENDS) {
            if (!ends_with(tensor.name, end)) {
                continue;
            }
            const auto weight = weights.find(tensor.name.substr(0, tensor.name.size() - std::strlen(end)));
            const bool is_float = tensor.type == GGML_TYPE_F32 || tensor.type == GGML_TYPE_F16 || tensor.type == GGML_TYPE_BF16;
            if (weight != weights.end() && is_float && !tensor.is_f8_e4m3 && !tensor.is_f8_e5m2) {
                tensor.name = SCALE_NAME + file + '.' + std::to_string(weight->second->offset);
                break;
            }
        }
    }
}

WeightScales weight_scales(const String2TensorStorage& tensors) {
    WeightScales scales;
    for (const auto& [name, tensor] : tensors) {
        if (name.find(SCALE_NAME) != std::string::npos) {
            const size_t dot = name.rfind('.');
            scales.emplace(std::make_pair(tensor.file_index, std::strtoull(name.c_str() + dot + 1, nullptr, 10)), tensor);
        }
    }
    return scales;
}

void apply_weight_scale(uint16_t* values, int64_t count, const TensorStorage& scale, const std::vector<uint8_t>& bytes) {
    const int64_t scales = scale.nelements();
    const int64_t row    = count / scales;
    for (int64_t index = 0; index < scales; ++index) {
        const float factor = value_at(scale, bytes, index);
        for (int64_t at = index * row; at < (index + 1) * row; ++at) {
            values[at] = ggml_fp32_to_fp16(ggml_fp16_to_fp32(values[at]) * factor);
        }
    }
}

}  // namespace atelier
