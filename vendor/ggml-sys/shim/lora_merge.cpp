#include "lora_merge.h"

#include <cmath>
#include <cstring>

#include "job.h"

namespace atelier {

namespace {

constexpr const char* LORA = "lora.";

const atelier_adapter_names* settings_of(const std::string& path) {
    const Job* const job = current_job();
    return job == nullptr ? nullptr : job->adapter_names(path);
}

bool is_merged(const ModelManager::LoraSpec& lora) {
    const atelier_adapter_names* const settings = settings_of(lora.path);
    return settings != nullptr && settings->is_merged;
}

}  // namespace

float lora_strength(const std::string& path, bool is_encoder, float strength) {
    const atelier_adapter_names* const settings = settings_of(path);
    return is_encoder && settings != nullptr && !std::isnan(settings->encoder_strength) ? settings->encoder_strength : strength;
}

std::vector<ModelManager::LoraSpec> merged_loras(const std::vector<ModelManager::LoraSpec>& loras) {
    std::vector<ModelManager::LoraSpec> merged;
    for (ModelManager::LoraSpec lora : loras) {
        if (is_merged(lora)) {
            // Their tensors are told by their module. A PhotoMaker's LoRA has a prefix of its own, whether there are others or not.
            lora.tensor_name_prefix_filter += current_job()->lora_key();
            lora.required                  = true;
            merged.push_back(std::move(lora));
        }
    }
    return merged;
}

std::vector<ModelManager::LoraSpec> unmerged_loras(const std::vector<ModelManager::LoraSpec>& loras) {
    std::vector<ModelManager::LoraSpec> unmerged;
    for (const ModelManager::LoraSpec& lora : loras) {
        if (!is_merged(lora)) {
            unmerged.push_back(lora);
        }
    }
    return unmerged;
}

uint64_t merged_tensors(const std::string& path) {
    const atelier_adapter_names* const settings = settings_of(path);
    uint64_t count                              = 0;
    if (settings != nullptr && settings->is_merged) {
        for (size_t index = 0; index < settings->count; ++index) {
            count += can_be_merged(settings->to[index]) ? 1 : 0;
        }
    }
    return count;
}

bool can_be_merged(const std::string& tensor_name) {
    const size_t lora = tensor_name.compare(0, std::strlen(LORA), LORA) == 0 ? std::strlen(LORA) : 0;
    return module_of(tensor_name.c_str() + lora) == ATELIER_MODULE_DIFFUSION;
}

MergeScope::MergeScope() {
    if (Job* job = current_job()) {
        job->set_merging(true);
    }
}

MergeScope::~MergeScope() {
    if (Job* job = current_job()) {
        job->set_merging(false);
    }
}

}  // namespace atelier
