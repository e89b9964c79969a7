#include "unused_tensors.h"

#include <set>

#include "engine_layout.h"
#include "model_names.h"
#include "weight_scales.h"

namespace atelier {

namespace {

// Beginnings of the names of modules; after the last one comes the module's own name.
constexpr const char* MODULES[]     = {"model.diffusion_model.", "cond_stage_model.1.", "cond_stage_model.", "first_stage_model.", "clip_vision.", "tae.", "pmid."};
constexpr const char* TEXT_ENCODERS = "text_encoders.";

// The beginning that tells the module of a tensor; empty where none does.
std::string module_of(const std::string& name) {
    for (const char* module : MODULES) {
        if (starts_with(name, module)) {
            return module;
        }
    }
    const size_t start = std::string(TEXT_ENCODERS).size();
    const size_t dot   = starts_with(name, TEXT_ENCODERS) ? name.find('.', start) : std::string::npos;
    return dot == std::string::npos ? "" : name.substr(0, dot + 1);
}

}  // namespace

std::vector<std::string> unused_tensors(const StableDiffusionGGML& sd) {
    const String2TensorStorage& tensors = sd.model_manager->loader().get_tensor_storage_map();
    const std::set<std::string> used    = sd.model_manager->tensor_names();
    std::set<std::string> modules       = {""};
    for (const std::string& name : used) {
        modules.insert(module_of(name));
    }
    std::set<std::string> parts;
    for (const auto& [name, all] : parts_of(tensors)) {
        for (const TensorStorage& part : all) {
            parts.insert(part.name);
        }
    }
    std::vector<std::string> unused;
    for (const auto& [name, tensor] : tensors) {
        const bool is_own = name.find(SCALE_NAME) != std::string::npos || is_mark(name);
        if (!is_own && used.count(name) == 0 && parts.count(name) == 0 && modules.count(module_of(name)) > 0) {
            unused.push_back(name);
        }
    }
    return unused;
}

}  // namespace atelier
