// LoRAs that become a part of the diffusion module's weights in place of being computed beside them, and the strength of each in each module. Called
// by the patched stable-diffusion.cpp and model_manager.cpp.
//
// Text encoders and VAEs are lent to other contexts, so their weights stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model_manager.h"

namespace atelier {

// What a LoRA's changes of text encoders, or of other modules, are multiplied by. `strength` is that of other modules.
float lora_strength(const std::string& path, bool is_encoder, float strength);

// The LoRAs of these that are merged, a PhotoMaker's too, as the manager of weights compares them: other files of the same names are others.
std::vector<ModelManager::LoraSpec> merged_loras(const std::vector<ModelManager::LoraSpec>& loras);
// The LoRAs of these that are not.
std::vector<ModelManager::LoraSpec> unmerged_loras(const std::vector<ModelManager::LoraSpec>& loras);

// Tensors of a LoRA that are merged.
uint64_t merged_tensors(const std::string& path);

// True for the names of weights into which LoRAs are merged, and of a LoRA's tensors for them.
bool can_be_merged(const std::string& tensor_name);

// While it lives, what this thread's job allocates is gone before the weights are used, and what it computes is no work of a picture.
class MergeScope {
public:
    MergeScope();
    ~MergeScope();
    MergeScope(const MergeScope&)            = delete;
    MergeScope& operator=(const MergeScope&) = delete;
};

}  // namespace atelier
