#include "context.h"

#include <memory>
#include <mutex>
#include <string>
#include <typeinfo>

#include "guard.h"
#include "job.h"

namespace atelier {

namespace {

// The runners within a conditioner of this type, if it is one.
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

atelier_status open_context(Job& job, const sd_ctx_params_t* params, const atelier_encodings* encodings, const char* encoders, atelier_context** out) {
    // Opening sets what belongs to the whole process, the engine's log for one.
    static std::mutex& opening = *new std::mutex;
    return guarded(&job, [&] {
        job.enter(ATELIER_PHASE_LOADING);
        auto context    = std::make_unique<atelier_context>();
        context->ledger = job.ledger();
        {
            std::lock_guard<std::mutex> lock(opening);
            context->sd = new_sd_ctx(params);
        }
        if (context->sd == nullptr) {
            last_error = "the engine could not open the model";
            return job.cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        StableDiffusionGGML* sd = context->sd->sd;
        context->text_encoders  = runners_of(sd->cond_stage_model.get());
        // PhotoMaker looks for the concrete conditioner behind the pointer.
        const bool photomaker = params->photo_maker_path != nullptr && params->photo_maker_path[0] != '\0';
        if (sd->cond_stage_model != nullptr && !photomaker) {
            const Conditioner& inner = *sd->cond_stage_model;
            std::string named        = std::to_string(sd->version) + ' ' + typeid(inner).name() + ' ' + (encoders == nullptr ? "" : encoders);
            const auto known         = encodings == nullptr ? nullptr : encodings->known;
            context->conditioner     = std::make_shared<RememberingConditioner>(sd->cond_stage_model, known, std::move(named));
            sd->cond_stage_model     = context->conditioner;
        }
        *out = context.release();
        return ATELIER_OK;
    });
}

}  // namespace atelier
