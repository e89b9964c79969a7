// A loaded model, and the way to what the engine's runners keep to themselves.
#pragma once

#include <memory>
#include <vector>

#include "accounts.h"
#include "conditioning.h"
#include "engine_layout.h"
#include "ggml-backend.h"
#include "model/vae/vae.hpp"
#include "preview.h"
#include "shim.h"

namespace atelier {

// Reaches what a runner keeps to itself.
struct RunnerAccess : GGMLRunner {
    // A run that failed in segments leaves pointers here that the next one would follow.
    static void forget_cached_tensors(GGMLRunner* runner) {
        if (runner != nullptr) {
            (runner->*(&RunnerAccess::cache_tensor_map)).clear();
        }
    }

    static ggml_backend_t backend_of(GGMLRunner* runner) { return runner->*(&RunnerAccess::runtime_backend); }

    static void limit(GGMLRunner* runner, uint64_t bytes, bool stream) {
        if (runner == nullptr) {
            return;
        }
        const bool changed = runner->*(&RunnerAccess::max_graph_vram_bytes) != bytes;
        runner->set_max_graph_vram_bytes(bytes);
        runner->set_stream_layers_enabled(stream);
        if (changed) {
            // Streaming holds on to the largest limit it has seen.
            runner->*(&RunnerAccess::observed_max_effective_budget_) = 0;
        }
    }
};

// The runners within a conditioner, whatever its type.
std::vector<GGMLRunner*> runners_of(const Conditioner* conditioner);

// Opens a model for a job; an estimate's job opens an estimator.
atelier_status open_context(Job& job, const sd_ctx_params_t* params, const atelier_encodings* encodings, const char* encoders, atelier_context** out);

}  // namespace atelier

struct atelier_encodings {
    std::shared_ptr<atelier::Encodings> known;
};

struct atelier_context {
    sd_ctx_t* sd = nullptr;
    // Of an estimator; its buffers know it too.
    std::shared_ptr<atelier::Ledger> ledger;
    std::shared_ptr<atelier::RememberingConditioner> conditioner;
    // Made when it is first needed; remembers what decoding costs.
    std::shared_ptr<atelier::ThriftyPreview> thrifty;
    std::vector<GGMLRunner*> text_encoders;
    // What a borrowed module took the place of.
    std::vector<std::shared_ptr<void>> replaced;

    atelier_context()                                  = default;
    atelier_context(const atelier_context&)            = delete;
    atelier_context& operator=(const atelier_context&) = delete;
    ~atelier_context() {
        // They hold runners of the engine, which must not outlive its devices.
        thrifty.reset();
        conditioner.reset();
        replaced.clear();
        if (sd != nullptr) {
            free_sd_ctx(sd);
        }
    }

    void forget_cached_tensors() const {
        atelier::RunnerAccess::forget_cached_tensors(sd->sd->diffusion_model.get());
        atelier::RunnerAccess::forget_cached_tensors(sd->sd->high_noise_diffusion_model.get());
        atelier::RunnerAccess::forget_cached_tensors(sd->sd->first_stage_model.get());
        atelier::RunnerAccess::forget_cached_tensors(sd->sd->preview_vae.get());
        atelier::RunnerAccess::forget_cached_tensors(sd->sd->clip_vision.get());
        for (GGMLRunner* runner : text_encoders) {
            atelier::RunnerAccess::forget_cached_tensors(runner);
        }
    }

    // The engine leaves the decoder's staged weights where they ran, for as long as the model is open.
    void vae_done() const {
        for (GGMLRunner* runner : {sd->sd->first_stage_model.get(), sd->sd->preview_vae.get()}) {
            if (runner != nullptr) {
                runner->runner_done();
            }
        }
    }

    void limit(const atelier_limits& limits) const {
        StableDiffusionGGML* it = sd->sd;
        const bool stream = limits.stream_layers && limits.diffusion > 0 && it->backend_manager.params_backend_is_cpu(SDBackendModule::DIFFUSION);
        atelier::RunnerAccess::limit(it->diffusion_model.get(), limits.diffusion, stream);
        atelier::RunnerAccess::limit(it->high_noise_diffusion_model.get(), limits.diffusion, stream);
        atelier::RunnerAccess::limit(it->first_stage_model.get(), limits.vae, false);
        atelier::RunnerAccess::limit(it->preview_vae.get(), limits.vae, false);
        atelier::RunnerAccess::limit(it->clip_vision.get(), limits.clip_vision, false);
        for (GGMLRunner* runner : text_encoders) {
            atelier::RunnerAccess::limit(runner, limits.te, false);
        }
    }
};
