#include "encoders.h"

#include "job.h"

namespace atelier {

namespace {

thread_local SDBackendManager* backends_of_thread = nullptr;

}  // namespace

bool parse_encoder(const std::string& name, SDBackendModule* module) {
    const struct {
        const char* name;
        int module;
    } table[] = {
        {"te.clip_l", ATELIER_MODULE_CLIP_L},
        {"te.clip_g", ATELIER_MODULE_CLIP_G},
        {"te.t5", ATELIER_MODULE_T5},
        {"te.llm", ATELIER_MODULE_LLM},
    };
    for (const auto& row : table) {
        if (name == row.name) {
            *module = encoder_backend_module(row.module);
            return true;
        }
    }
    return false;
}

EncoderDevices::EncoderDevices(SDBackendManager& backends) {
    backends_of_thread = &backends;
}

EncoderDevices::~EncoderDevices() {
    backends_of_thread = nullptr;
}

ggml_backend_t encoder_device(const std::string& prefix, ggml_backend_t otherwise) {
    const int module = module_of((prefix + '.').c_str());
    return is_encoder(module) && backends_of_thread != nullptr ? backends_of_thread->runtime_backend(encoder_backend_module(module)) : otherwise;
}

}  // namespace atelier
