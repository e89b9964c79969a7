// Engine context, and access to protected members of the engine's runners.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "adaptive_preview.h"
#include "conditioning_cache.h"
#include "core/rng.hpp"
#include "core/rng_mt19937.hpp"
#include "core/rng_philox.hpp"
#include "encoded_images.h"
#include "encoders.h"
#include "engine_layout.h"
#include "ggml-backend.h"
#include "model/vae/vae.hpp"
#include "shim.h"

namespace atelier {

// Access to protected members of runners.
struct RunnerAccess : GGMLRunner {
    // A failed run in segments leaves dangling pointers that the next run would use.
    static void clear_cached_tensors(GGMLRunner* runner) {
        if (runner != nullptr) {
            (runner->*(&RunnerAccess::cache_tensor_map)).clear();
        }
    }

    static ggml_backend_t backend_of(GGMLRunner* runner) { return runner->*(&RunnerAccess::runtime_backend); }

    // `prefetch`: copy the next layers while these are computed, where the device can.
    static void set_limit(GGMLRunner* runner, uint64_t bytes, bool stream, bool prefetch) {
        if (runner == nullptr) {
            return;
        }
        const bool changed = runner->*(&RunnerAccess::max_graph_vram_bytes) != bytes;
        runner->set_max_graph_vram_bytes(bytes);
        runner->set_stream_layers_enabled(stream);
        runner->*(&RunnerAccess::atelier_prefetches) = prefetch;
        if (changed) {
            // Streaming keeps using the largest limit so far.
            runner->*(&RunnerAccess::observed_max_effective_budget_) = 0;
        }
    }
};


// Held while a model or an upscaler is opened, which changes global state of the engine, such as its log callback.
std::timed_mutex& opening_mutex();

// Opens a context, or an estimator for a job with a dry run.
atelier_status open_context(Job& job, const sd_ctx_params_t* params, const atelier_conditioning_cache* encodings, const char* encoders, atelier_context** out);

}  // namespace atelier

struct atelier_conditioning_cache {
    std::shared_ptr<atelier::ConditioningCache> cache;
};

struct atelier_context {
    sd_ctx_t* sd = nullptr;
    // Of an estimator; shared with its buffers.
    std::shared_ptr<atelier::DryRun> dry_run;
    std::shared_ptr<atelier::CachingConditioner> conditioner;
    // See atelier_limits.
    uint64_t packed_bytes = 0;
    // Created at the first adaptive preview; measures the duration of decoding.
    std::shared_ptr<atelier::AdaptivePreview> adaptive_preview;
    atelier::EncodedImages encoded_images;
    std::vector<atelier::Encoder> text_encoders;
    // Of a model that is opened for pictures.
    std::vector<std::string> unused_tensors;
    // Own modules that borrowed ones replace.
    std::vector<std::shared_ptr<void>> replaced_modules;

    atelier_context()                                  = default;
    atelier_context(const atelier_context&)            = delete;
    atelier_context& operator=(const atelier_context&) = delete;
    ~atelier_context() {
        // Runners must not outlive the engine's context.
        adaptive_preview.reset();
        conditioner.reset();
        replaced_modules.clear();
        if (sd != nullptr) {
            free_sd_ctx(sd);
        }
    }

    void clear_cached_tensors() const {
        atelier::RunnerAccess::clear_cached_tensors(sd->sd->diffusion_model.get());
        atelier::RunnerAccess::clear_cached_tensors(sd->sd->high_noise_diffusion_model.get());
        atelier::RunnerAccess::clear_cached_tensors(sd->sd->first_stage_model.get());
        atelier::RunnerAccess::clear_cached_tensors(sd->sd->preview_vae.get());
        atelier::RunnerAccess::clear_cached_tensors(sd->sd->clip_vision.get());
        for (const atelier::Encoder& encoder : text_encoders) {
            atelier::RunnerAccess::clear_cached_tensors(encoder.runner);
        }
    }

    // Frees the VAE's staged weights, which the engine keeps on the compute device until the context is closed.
    void release_vae_staging() const {
        for (GGMLRunner* runner : {sd->sd->first_stage_model.get(), sd->sd->preview_vae.get()}) {
            if (runner != nullptr) {
                runner->runner_done();
            }
        }
    }

    // Random number generators of the images that follow, of the start noise and of what samplers add; each image seeds them. The engine has them for
    // each context, chosen when it is opened. `RNG_TYPE_COUNT`: the sampler's is the same one.
    void set_rng(rng_type_t type, rng_type_t sampler) const {
        sd->sd->rng         = new_rng(type);
        sd->sd->sampler_rng = sampler == RNG_TYPE_COUNT ? sd->sd->rng : new_rng(sampler);
    }

    static std::shared_ptr<RNG> new_rng(rng_type_t type) {
        switch (type) {
            case STD_DEFAULT_RNG:
                return std::make_shared<STDDefaultRNG>();
            case CPU_RNG:
                return std::make_shared<MT19937RNG>();
            default:
                return std::make_shared<PhiloxRNG>();
        }
    }

    void set_limits(const atelier_limits& limits) {
        packed_bytes            = limits.packed_bytes;
        StableDiffusionGGML* it = sd->sd;
        const auto set = [&](GGMLRunner* runner, int module, SDBackendModule of_engine) {
            const uint64_t bytes = limits.bytes[module];
            const bool stream    = (limits.streamed & (1u << module)) != 0 && bytes > 0 && it->backend_manager.params_backend_is_cpu(of_engine);
            atelier::RunnerAccess::set_limit(runner, bytes, stream, limits.prefetch);
        };
        set(it->diffusion_model.get(), ATELIER_MODULE_DIFFUSION, SDBackendModule::DIFFUSION);
        set(it->high_noise_diffusion_model.get(), ATELIER_MODULE_DIFFUSION, SDBackendModule::DIFFUSION);
        set(it->first_stage_model.get(), ATELIER_MODULE_VAE, SDBackendModule::VAE);
        set(it->preview_vae.get(), ATELIER_MODULE_VAE, SDBackendModule::VAE);
        set(it->clip_vision.get(), ATELIER_MODULE_CLIP_VISION, SDBackendModule::CLIP_VISION);
        for (const atelier::Encoder& encoder : text_encoders) {
            set(encoder.runner, encoder.module, atelier::encoder_backend_module(encoder.module));
        }
    }
};
