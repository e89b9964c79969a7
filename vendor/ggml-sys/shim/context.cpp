#include "context.h"

#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>

#include "error_boundary.h"
#include "job.h"
#include "person_guide.h"
#include "unused_tensors.h"

namespace atelier {

namespace {

// A member of a conditioner, and the module that it is.
template <typename Type, typename Runner>
struct Member {
    int module;
    std::shared_ptr<Runner> Type::*runner;
};

// Adds the runners of a conditioner if it is of this type, as far as the model has them.
template <typename Type, typename... Runner>
void add_encoders(const Conditioner* conditioner, std::vector<Encoder>& encoders, Member<Type, Runner>... members) {
    const auto add = [&](int module, GGMLRunner* runner) {
        if (runner != nullptr) {
            encoders.push_back({module, runner});
        }
    };
    if (const auto* it = dynamic_cast<const Type*>(conditioner)) {
        (add(members.module, (it->*members.runner).get()), ...);
    }
}

template <typename Type, typename Runner>
Member<Type, Runner> member(int module, std::shared_ptr<Runner> Type::*runner) {
    return {module, runner};
}

}  // namespace

std::vector<Encoder> encoders_of(const Conditioner* conditioner) {
    if (const auto* caching = dynamic_cast<const CachingConditioner*>(conditioner)) {
        conditioner = &caching->inner();
    }
    constexpr int CLIP_L = ATELIER_MODULE_CLIP_L;
    constexpr int CLIP_G = ATELIER_MODULE_CLIP_G;
    constexpr int T5     = ATELIER_MODULE_T5;
    constexpr int LLM    = ATELIER_MODULE_LLM;
    std::vector<Encoder> encoders;
    add_encoders(conditioner, encoders, member(CLIP_L, &FrozenCLIPEmbedderWithCustomWords::text_model),
                 member(CLIP_G, &FrozenCLIPEmbedderWithCustomWords::text_model2));
    add_encoders(conditioner, encoders, member(CLIP_L, &SD3CLIPEmbedder::clip_l), member(CLIP_G, &SD3CLIPEmbedder::clip_g), member(T5, &SD3CLIPEmbedder::t5));
    add_encoders(conditioner, encoders, member(CLIP_L, &FluxCLIPEmbedder::clip_l), member(T5, &FluxCLIPEmbedder::t5));
    add_encoders(conditioner, encoders, member(T5, &T5CLIPEmbedder::t5));
    add_encoders(conditioner, encoders, member(LLM, &AnimaConditioner::llm));
    add_encoders(conditioner, encoders, member(LLM, &LLMEmbedder::llm));
    add_encoders(conditioner, encoders, member(LLM, &LTXAVEmbedder::llm), member(LLM, &LTXAVEmbedder::projector));
    return encoders;
}

void set_encoder_adapter(const Conditioner& conditioner, int module, const std::shared_ptr<WeightAdapter>& adapter) {
    for (const Encoder& encoder : encoders_of(&conditioner)) {
        if (encoder.module == module) {
            encoder.runner->set_weight_adapter(adapter);
        }
    }
}

std::timed_mutex& opening_mutex() {
    static std::timed_mutex& mutex = *new std::timed_mutex;
    return mutex;
}

atelier_status open_context(Job& job, const sd_ctx_params_t* params, const atelier_conditioning_cache* conditioning, const char* encoders, atelier_context** out) {
    return run_guarded(&job, [&] {
        job.enter_phase(ATELIER_PHASE_LOADING);
        auto context    = std::make_unique<atelier_context>();
        context->dry_run = job.dry_run();
        {
            const auto lock = lock_unless_cancelled(opening_mutex());
            if (!lock.owns_lock()) {
                return ATELIER_CANCELLED;
            }
            context->sd = new_sd_ctx(params);
        }
        if (context->sd == nullptr) {
            last_error = "the engine could not open the model";
            return job.is_cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        StableDiffusionGGML* sd = context->sd->sd;
        context->text_encoders  = encoders_of(sd->cond_stage_model.get());
        if (context->dry_run == nullptr) {
            context->unused_tensors = unused_tensors(*sd);
        }
        const bool has_photomaker = params->photo_maker_path != nullptr && params->photo_maker_path[0] != '\0';
        if (has_photomaker && !wrap_photomaker(*sd)) {
            last_error = "the PhotoMaker file could not be read";
            return ATELIER_FAILED;
        }
        if (sd->cond_stage_model != nullptr) {
            const Conditioner& inner = *sd->cond_stage_model;
            std::string key_prefix   = std::to_string(sd->version) + ' ' + typeid(inner).name() + ' ' + (encoders == nullptr ? "" : encoders);
            const auto cache         = conditioning == nullptr ? nullptr : conditioning->cache;
            context->conditioner     = std::make_shared<CachingConditioner>(sd->cond_stage_model, cache, std::move(key_prefix));
            sd->cond_stage_model     = context->conditioner;
        }
        *out = context.release();
        return ATELIER_OK;
    });
}

}  // namespace atelier
