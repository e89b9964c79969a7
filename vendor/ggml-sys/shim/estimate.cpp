// Estimators: contexts that generate images as dry runs (see dry_run.cpp).
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "context.h"
#include "dry_run.h"
#include "error_boundary.h"
#include "job.h"

using atelier::run_guarded;
using atelier::Job;
using atelier::last_error;
using atelier::reject;

atelier_status atelier_estimator_new(const sd_ctx_params_t* params, const atelier_callbacks* callbacks, atelier_context** out) {
    if (params == nullptr || callbacks == nullptr || out == nullptr) {
        return reject("an estimator needs parameters and callbacks");
    }
    *out = nullptr;
    atelier_init();
    Job job(*callbacks, std::make_shared<atelier::DryRun>());
    // No cache: a cached encoding would need no memory.
    return atelier::open_context(job, params, nullptr, nullptr, out);
}

atelier_status atelier_estimator_run(atelier_context* estimator,
                                     const sd_img_gen_params_t* params,
                                     const atelier_adapter_names* adapters,
                                     size_t adapter_count,
                                     const atelier_embedding* embeddings,
                                     size_t embedding_count,
                                     const atelier_limits* limits,
                                     const atelier_callbacks* callbacks,
                                     atelier_module_estimate* out,
                                     size_t capacity,
                                     size_t* count) {
    if (estimator == nullptr || estimator->dry_run == nullptr || params == nullptr || limits == nullptr || callbacks == nullptr || out == nullptr ||
        count == nullptr) {
        return reject("an estimate needs an estimator and parameters");
    }
    *count = 0;
    Job job(*callbacks, estimator->dry_run);
    job.set_adapters(adapters, adapter_count);
    return run_guarded(&job, [&] {
        estimator->dry_run->begin_image();
        estimator->set_limits(*limits);
        if (estimator->conditioner != nullptr) {
            estimator->conditioner->begin_image("", [estimator] { estimator->release_vae_staging(); });
            if (!estimator->conditioner->set_embeddings(embeddings, embedding_count)) {
                return reject("an embedding does not fit the text encoders");
            }
        }
        job.enter_phase(ATELIER_PHASE_ENCODING);
        sd_image_t* images = generate_image(estimator->sd, params);
        estimator->release_vae_staging();
        // Free the weights, so that the next run counts them again.
        atelier_context_release(estimator, 0);
        if (images == nullptr) {
            last_error = "the engine would make no picture";
            return job.is_cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        std::free(images[0].data);
        std::free(images);
        for (const atelier_module_estimate& estimate : estimator->dry_run->module_estimates()) {
            if (*count < capacity) {
                out[(*count)++] = estimate;
            }
        }
        return ATELIER_OK;
    });
}

size_t atelier_estimator_work(const atelier_context* estimator, atelier_work* out, size_t capacity) {
    if (estimator == nullptr || estimator->dry_run == nullptr || out == nullptr) {
        return 0;
    }
    const std::vector<atelier_work> work = estimator->dry_run->work();
    std::copy_n(work.begin(), std::min(work.size(), capacity), out);
    return work.size();
}
