// How much of each LoRA an image was made with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shim.h"

namespace atelier {

// See atelier_lora_use.
struct LoraUse {
    std::string path;
    uint64_t applied;
    uint64_t total;
};

// Of this thread's last generation.
extern thread_local std::vector<LoraUse> last_loras;

// The LoRAs of the image that this context has just made.
std::vector<LoraUse> lora_uses(const atelier_context& context, const sd_img_gen_params_t& params);

}  // namespace atelier
