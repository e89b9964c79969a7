#include "lora_use.h"

#include <set>

#include "context.h"
#include "lora_merge.h"
#include "model/adapter/lora.hpp"
#include "name_conversion.h"
#include "weight_scales.h"

namespace atelier {

namespace {

uint64_t tensors_of(const ModelLoader& loader) {
    uint64_t count = 0;
    for (const auto& tensor : loader.get_tensor_storage_map()) {
        // A scale is a part of its weight.
        count += tensor.first.find(SCALE_NAME) == std::string::npos ? 1 : 0;
    }
    return count;
}

}  // namespace

std::vector<LoraUse> lora_uses(const atelier_context& context, const sd_img_gen_params_t& params) {
    // Without the cache every encoding is made anew.
    const bool encoder_ran = context.conditioner == nullptr || context.conditioner->ran_in_image();
    std::vector<LoraUse> uses;
    std::set<std::string> seen;
    for (uint32_t index = 0; index < params.lora_count; ++index) {
        const sd_lora_t& lora = params.loras[index];
        const bool has_strength = lora.path != nullptr && (lora.multiplier != 0 || lora_strength(lora.path, true, 0) != 0);
        if (!has_strength || !seen.insert(lora.path).second) {
            continue;
        }
        LoraUse use{lora.path, 0, 0};
        for (const auto& model : context.sd->sd->runtime_lora_models) {
            if (model->file_path != use.path) {
                continue;
            }
            // Each module's model of the LoRA reads the whole file.
            use.total = tensors_of(model->model_manager->loader());
            for (const auto& tensor : model->lora_tensors) {
                const bool is_used = model->applied_lora_tensors.count(tensor.first) > 0;
                // It was used when the encoding in the cache was made.
                use.applied += is_used || (!encoder_ran && is_cond_stage_model_name(tensor.first)) ? 1 : 0;
            }
        }
        use.applied += merged_tensors(use.path);
        if (use.total == 0) {
            // All of it is merged, and was let go.
            ModelLoader loader;
            use.total = loader.init_from_file(use.path) ? tensors_of(loader) : 0;
        }
        uses.push_back(std::move(use));
    }
    return uses;
}

}  // namespace atelier
