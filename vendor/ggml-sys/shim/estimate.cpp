// What a picture would take, from the engine itself: it goes the whole way of a picture on devices that hold nothing (see phantom.cpp).
#include <cstdlib>
#include <memory>
#include <string>

#include "accounts.h"
#include "context.h"
#include "guard.h"
#include "job.h"

using atelier::guarded;
using atelier::Job;
using atelier::last_error;
using atelier::refuse;

atelier_status atelier_estimator_new(const sd_ctx_params_t* params, const atelier_callbacks* callbacks, atelier_context** out) {
    if (params == nullptr || callbacks == nullptr || out == nullptr) {
        return refuse("an estimator needs parameters and callbacks");
    }
    *out = nullptr;
    atelier_init();
    Job job(*callbacks, std::make_shared<atelier::Ledger>());
    // An encoding that is remembered would take nothing the next time.
    return atelier::open_context(job, params, nullptr, nullptr, out);
}

atelier_status atelier_estimator_run(atelier_context* estimator,
                                     const sd_img_gen_params_t* params,
                                     const atelier_limits* limits,
                                     const atelier_callbacks* callbacks,
                                     atelier_need* out,
                                     size_t capacity,
                                     size_t* count) {
    if (estimator == nullptr || estimator->ledger == nullptr || params == nullptr || limits == nullptr || callbacks == nullptr || out == nullptr ||
        count == nullptr) {
        return refuse("an estimate needs an estimator and parameters");
    }
    *count = 0;
    Job job(*callbacks, estimator->ledger);
    return guarded(&job, [&] {
        estimator->ledger->begin();
        estimator->limit(*limits);
        if (estimator->conditioner != nullptr) {
            estimator->conditioner->begin("", [estimator] { estimator->vae_done(); });
        }
        job.enter(ATELIER_PHASE_ENCODING);
        sd_image_t* images = generate_image(estimator->sd, params);
        estimator->vae_done();
        // Weights of this run are not there for the next one. The engine lets go of all of them where LoRAs change, and at no other word.
        ModelManager& weights = *estimator->sd->sd->model_manager;
        weights.set_loras({ModelManager::LoraSpec{}}, estimator->sd->sd->version);
        weights.set_loras({}, estimator->sd->sd->version);
        if (images == nullptr) {
            last_error = "the engine would make no picture";
            return job.cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        std::free(images[0].data);
        std::free(images);
        for (const atelier_need& need : estimator->ledger->needs()) {
            if (*count < capacity) {
                out[(*count)++] = need;
            }
        }
        return ATELIER_OK;
    });
}
