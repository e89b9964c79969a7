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

// Adds the runners of a conditioner if it is of this type.
template <typename Type, typename... Runner>
void add_runners(const Conditioner* conditioner, std::vector<GGMLRunner*>& runners, Runner Type::*... members) {
    if (const auto* it = dynamic_cast<const Type*>(conditioner)) {
        (runners.push_back((it->*members).get()), ...);
    }
}

}  // namespace

std::vector<GGMLRunner*> runners_of(const Conditioner* conditioner) {
    std::vector<GGMLRunner*> runners;
    add_runners(conditioner, runners, &FrozenCLIPEmbedderWithCustomWords::text_model, &FrozenCLIPEmbedderWithCustomWords::text_model2);
    add_runners(conditioner, runners, &SD3CLIPEmbedder::clip_l, &SD3CLIPEmbedder::clip_g, &SD3CLIPEmbedder::t5);
    add_runners(conditioner, runners, &FluxCLIPEmbedder::clip_l, &FluxCLIPEmbedder::t5);
    add_runners(conditioner, runners, &T5CLIPEmbedder::t5);
    add_runners(conditioner, runners, &AnimaConditioner::llm);
    add_runners(conditioner, runners, &LLMEmbedder::llm);
    add_runners(conditioner, runners, &LTXAVEmbedder::llm, &LTXAVEmbedder::projector);
    return runners;
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
        context->text_encoders  = runners_of(sd->cond_stage_model.get());
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
