// The text encoders of a model, each a module of its own. The engine knows one module for all of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/ggml_extend_backend.h"
#include "shim.h"

struct Conditioner;
struct GGMLRunner;
struct WeightAdapter;

namespace atelier {

struct Encoder {
    int module;  // atelier_module
    GGMLRunner* runner;
};

// The encoders of a conditioner of any type.
std::vector<Encoder> encoders_of(const Conditioner* conditioner);

// Sets the LoRAs of one encoder.
void set_encoder_adapter(const Conditioner& conditioner, int module, const std::shared_ptr<WeightAdapter>& adapter);

constexpr bool is_encoder(int module) {
    return module >= ATELIER_MODULE_CLIP_L && module <= ATELIER_MODULE_LLM;
}

// Number of a text encoder among the modules of the engine's backend manager, far above the engine's own.
constexpr int FIRST_ENCODER_OF_ENGINE = 100;

constexpr SDBackendModule encoder_backend_module(int module) {
    return static_cast<SDBackendModule>(FIRST_ENCODER_OF_ENGINE + module);
}

constexpr bool is_encoder(SDBackendModule module) {
    return is_encoder(static_cast<int>(module) - FIRST_ENCODER_OF_ENGINE);
}

// Reads `te.t5` and its like, as `key` of `Module` in crates/core writes them. False for other names.
bool parse_encoder(const std::string& name, SDBackendModule* module);

// Lets encoders that are made on this thread find their devices, while the scope lives.
class EncoderDevices {
public:
    explicit EncoderDevices(SDBackendManager& backends);
    ~EncoderDevices();
    EncoderDevices(const EncoderDevices&)            = delete;
    EncoderDevices& operator=(const EncoderDevices&) = delete;
};

// The device of the encoder whose weights' names begin like this; `otherwise`, where it is none.
ggml_backend_t encoder_device(const std::string& prefix, ggml_backend_t otherwise);

}  // namespace atelier
