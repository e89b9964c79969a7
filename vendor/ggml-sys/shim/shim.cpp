#include "shim.h"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "accounts.h"
#include "conditioning.h"
#include "engine_layout.h"
#include "ggml-backend.h"
#include "job.h"
#include "model/vae/vae.hpp"
#include "preview.h"
#include "remote.h"
#include "upscaler.h"

using atelier::Aborted;
using atelier::Job;
using atelier::JobScope;

namespace {

thread_local std::string last_error;
thread_local atelier_shortage last_shortage = {};
thread_local std::string last_lost;
thread_local atelier::Peaks last_peaks;

// The engine's list of devices and its log are set while a context is opened.
std::mutex& opening() {
    static std::mutex& mutex = *new std::mutex;
    return mutex;
}

// Runs `work`, which returns a status, as this thread's job; nothing thrown gets past it.
template <typename Work>
atelier_status guarded(Job* job, Work work) noexcept {
    last_error.clear();
    last_shortage      = {};
    last_lost.clear();
    const auto stopped = [job](atelier_status otherwise) {
        // Also after a cancel: the context holds memory that is no more.
        if (job != nullptr && job->lost()) {
            last_lost = job->lost_server();
            return ATELIER_LOST;
        }
        if (job != nullptr && job->cancelled()) {
            return ATELIER_CANCELLED;
        }
        // The engine goes on from a null pointer in many ways, most of them an assert; what began it is what a person needs to know.
        if (job != nullptr && job->shortage() != nullptr) {
            last_shortage = *job->shortage();
            return ATELIER_NO_MEMORY;
        }
        return otherwise;
    };
    try {
        JobScope scope(job);
        const atelier_status status = work();
        const bool whole = status == ATELIER_OK || status == ATELIER_CANCELLED;
        return whole && (job == nullptr || !job->lost()) ? status : stopped(status);
    } catch (const Aborted& aborted) {
        last_error = aborted.message;
        return stopped(ATELIER_ABORTED);
    } catch (const atelier::Lost& lost) {
        last_error = "the connection to " + lost.server + " was lost";
        last_lost  = lost.server;
        return ATELIER_LOST;
    } catch (const std::bad_alloc&) {
        last_error = "out of memory";
        return ATELIER_NO_MEMORY;
    } catch (const std::exception& exception) {
        last_error = exception.what();
        return stopped(ATELIER_ABORTED);
    } catch (...) {
        last_error = "an unknown exception";
        return stopped(ATELIER_ABORTED);
    }
}

atelier_status refuse(const char* why) {
    last_error = why;
    return ATELIER_BAD_CALL;
}

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

// The runners within a conditioner of this type, if it is one.
template <typename Type, typename... Runner>
void add_runners(const Conditioner* conditioner, std::vector<GGMLRunner*>& runners, Runner Type::*... members) {
    if (const auto* it = dynamic_cast<const Type*>(conditioner)) {
        (runners.push_back((it->*members).get()), ...);
    }
}

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

}  // namespace

struct atelier_context {
    sd_ctx_t* sd = nullptr;
    // Of an estimator; its buffers know it too.
    std::shared_ptr<atelier::Ledger> ledger;
    uint64_t runs = 0;
    std::shared_ptr<atelier::RememberingConditioner> conditioner;
    // Made when it is first needed; remembers what decoding costs.
    std::shared_ptr<atelier::ThriftyPreview> thrifty;
    std::vector<GGMLRunner*> text_encoders;

    ~atelier_context() {
        // They hold runners of the engine, which must not outlive its devices.
        thrifty.reset();
        conditioner.reset();
        if (sd != nullptr) {
            free_sd_ctx(sd);
        }
    }

    void forget_cached_tensors() const {
        RunnerAccess::forget_cached_tensors(sd->sd->diffusion_model.get());
        RunnerAccess::forget_cached_tensors(sd->sd->high_noise_diffusion_model.get());
        RunnerAccess::forget_cached_tensors(sd->sd->first_stage_model.get());
        RunnerAccess::forget_cached_tensors(sd->sd->preview_vae.get());
        RunnerAccess::forget_cached_tensors(sd->sd->clip_vision.get());
        for (GGMLRunner* runner : text_encoders) {
            RunnerAccess::forget_cached_tensors(runner);
        }
    }

    void limit(const atelier_limits& limits) const {
        StableDiffusionGGML* it = sd->sd;
        const bool stream = limits.stream_layers && limits.diffusion > 0 && it->backend_manager.params_backend_is_cpu(SDBackendModule::DIFFUSION);
        RunnerAccess::limit(it->diffusion_model.get(), limits.diffusion, stream);
        RunnerAccess::limit(it->high_noise_diffusion_model.get(), limits.diffusion, stream);
        RunnerAccess::limit(it->first_stage_model.get(), limits.vae, false);
        RunnerAccess::limit(it->preview_vae.get(), limits.vae, false);
        RunnerAccess::limit(it->clip_vision.get(), limits.clip_vision, false);
        for (GGMLRunner* runner : text_encoders) {
            RunnerAccess::limit(runner, limits.te, false);
        }
    }
};

namespace {

// Puts the thrifty preview before the decoder for as long as the scope lives.
class ThriftyScope {
public:
    ThriftyScope(atelier_context* context, const sd_img_gen_params_t& params) : sd_(context->sd->sd), decoder_(sd_->preview_vae) {
        const std::shared_ptr<VAE>& inner = decoder_ != nullptr ? decoder_ : sd_->first_stage_model;
        if (context->thrifty == nullptr) {
            const bool last  = decoder_ == nullptr;
            context->thrifty = std::make_shared<atelier::ThriftyPreview>(inner, sd_->version, RunnerAccess::backend_of(inner.get()), last);
        }
        const int scale = inner->get_scale_factor();
        context->thrifty->begin(params.width / scale, params.height / scale, params.vae_tiling_params.enabled);
        sd_->preview_vae = context->thrifty;
    }
    ~ThriftyScope() { sd_->preview_vae = decoder_; }
    ThriftyScope(const ThriftyScope&)            = delete;
    ThriftyScope& operator=(const ThriftyScope&) = delete;

private:
    StableDiffusionGGML* sd_;
    std::shared_ptr<VAE> decoder_;
};

}  // namespace

struct atelier_upscaler {
    upscaler_ctx_t* upscaler = nullptr;

    ~atelier_upscaler() {
        if (upscaler != nullptr) {
            free_upscaler_ctx(upscaler);
        }
    }
};

void atelier_init(void) {
    static std::once_flag once;
    guarded(nullptr, [] {
        std::call_once(once, atelier::install_callbacks);
        // Devices can be added later, so this part is done each time.
        atelier::hook_devices();
        return ATELIER_OK;
    });
}

const char* atelier_last_error(void) {
    return last_error.c_str();
}

bool atelier_last_shortage(atelier_shortage* out) {
    if (out == nullptr || last_shortage.device == nullptr) {
        return false;
    }
    *out = last_shortage;
    return true;
}

size_t atelier_last_peaks(atelier_peak* out, size_t capacity) {
    size_t index = 0;
    for (const auto& it : last_peaks) {
        if (index < capacity) {
            out[index] = {it.first.second, it.first.first, it.second};
        }
        ++index;
    }
    return index;
}

size_t atelier_device_count(void) {
    atelier_init();
    std::lock_guard<std::mutex> lock(atelier::device_list());
    return ggml_backend_dev_count();
}

atelier_status atelier_device_get(size_t index, atelier_device* out) {
    ggml_backend_dev_t device = nullptr;
    {
        std::lock_guard<std::mutex> lock(atelier::device_list());
        device = index < ggml_backend_dev_count() ? ggml_backend_dev_get(index) : nullptr;
    }
    if (out == nullptr || device == nullptr) {
        return refuse("no such device");
    }
    return guarded(nullptr, [=] {
        size_t free_bytes         = 0;
        size_t total_bytes        = 0;
        const bool remote         = atelier::is_remote(device);
        try {
            ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
        } catch (const atelier::Lost&) {
            free_bytes = total_bytes = 0;
        }
        *out = {ggml_backend_dev_name(device), ggml_backend_dev_description(device), ggml_backend_dev_type(device), free_bytes, total_bytes, remote};
        return ATELIER_OK;
    });
}

const char* atelier_last_lost(void) {
    return last_lost.c_str();
}

atelier_status atelier_simulate_device(const char* name, uint64_t memory_bytes) {
    if (name == nullptr || name[0] == '\0') {
        return refuse("a device needs a name");
    }
    atelier_init();
    const atelier_status status = guarded(nullptr, [=] {
        if (!atelier::simulate_device(name, static_cast<size_t>(memory_bytes))) {
            last_error = "there is a device of this name";
            return ATELIER_FAILED;
        }
        atelier::hook_devices();
        return ATELIER_OK;
    });
    return status;
}

namespace {

atelier_status open_context(Job& job, const sd_ctx_params_t* params, atelier_context** out) {
    return guarded(&job, [&] {
        job.enter(ATELIER_PHASE_LOADING);
        auto context    = std::make_unique<atelier_context>();
        context->ledger = job.ledger();
        {
            std::lock_guard<std::mutex> lock(opening());
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
            context->conditioner = std::make_shared<atelier::RememberingConditioner>(sd->cond_stage_model);
            sd->cond_stage_model = context->conditioner;
        }
        *out = context.release();
        return ATELIER_OK;
    });
}

}  // namespace

atelier_status atelier_context_new(const sd_ctx_params_t* params, const atelier_callbacks* callbacks, atelier_context** out) {
    if (params == nullptr || callbacks == nullptr || out == nullptr) {
        return refuse("a context needs parameters and callbacks");
    }
    *out = nullptr;
    atelier_init();
    Job job(*callbacks);
    atelier::set_simulated_threads(params->n_threads);
    return open_context(job, params, out);
}

atelier_status atelier_estimator_new(const sd_ctx_params_t* params, const atelier_callbacks* callbacks, atelier_context** out) {
    if (params == nullptr || callbacks == nullptr || out == nullptr) {
        return refuse("an estimator needs parameters and callbacks");
    }
    *out = nullptr;
    atelier_init();
    Job job(*callbacks, std::make_shared<atelier::Ledger>());
    return open_context(job, params, out);
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
            // What is remembered of an encoding takes nothing, and is nothing.
            estimator->conditioner->set_lora_key(std::to_string(estimator->runs++));
        }
        job.enter(ATELIER_PHASE_ENCODING);
        sd_image_t* images = generate_image(estimator->sd, params);
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

void atelier_context_free(atelier_context* context) {
    guarded(nullptr, [=] {
        delete context;
        return ATELIER_OK;
    });
}

atelier_status atelier_context_limit(atelier_context* context, const atelier_limits* limits) {
    if (context == nullptr || limits == nullptr) {
        return refuse("limits need a context");
    }
    return guarded(nullptr, [=] {
        context->limit(*limits);
        return ATELIER_OK;
    });
}

atelier_status atelier_context_generate(atelier_context* context,
                                        const sd_img_gen_params_t* params,
                                        const char* lora_key,
                                        enum preview_t preview_mode,
                                        int preview_every,
                                        const atelier_callbacks* callbacks,
                                        sd_image_t* out) {
    if (context == nullptr || params == nullptr || callbacks == nullptr || out == nullptr || params->batch_count != 1) {
        return refuse("a picture needs a context, parameters and a batch of one");
    }
    *out = {};
    Job job(*callbacks);
    const bool thrifty = preview_every == ATELIER_PREVIEW_THRIFTY;
    if (!thrifty) {
        job.show_previews(preview_mode, preview_every);
    }
    const sd_guidance_params_t& guidance = params->sample_params.guidance;
    job.expect_graphs_per_step(guidance.txt_cfg == 1.0f ? 1 : 2);

    const atelier_status status = guarded(&job, [&] {
        if (job.cancelled()) {
            return ATELIER_CANCELLED;
        }
        if (context->conditioner != nullptr) {
            context->conditioner->set_lora_key(lora_key == nullptr ? "" : lora_key);
        }
        std::optional<ThriftyScope> scope;
        if (thrifty) {
            scope.emplace(context, *params);
            job.show_previews_if(PREVIEW_TAE, [context](int step, int steps) { return context->thrifty->affordable(step, steps); });
        }
        job.enter(ATELIER_PHASE_ENCODING);
        sd_image_t* images = generate_image(context->sd, params);
        if (images == nullptr) {
            last_error = "the engine made no picture";
            return job.cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        *out = images[0];
        std::free(images);
        if (out->data == nullptr || out->channel != 3) {
            last_error = "the engine made an empty picture";
            return ATELIER_FAILED;
        }
        return ATELIER_OK;
    });
    last_peaks = job.peaks();
    if (status != ATELIER_OK) {
        std::string sentence            = std::move(last_error);
        const atelier_shortage shortage = last_shortage;
        std::string lost                = std::move(last_lost);
        guarded(nullptr, [=] {
            context->forget_cached_tensors();
            return ATELIER_OK;
        });
        last_error    = std::move(sentence);
        last_shortage = shortage;
        last_lost     = std::move(lost);
    }
    return status;
}

void atelier_context_encodings(const atelier_context* context, uint64_t* hits, uint64_t* misses) {
    const bool known = context != nullptr && context->conditioner != nullptr;
    *hits            = known ? context->conditioner->hits() : 0;
    *misses          = known ? context->conditioner->misses() : 0;
}

atelier_status atelier_upscaler_new(const char* path,
                                    int n_threads,
                                    int tile_size,
                                    const char* backend,
                                    const char* params_backend,
                                    const atelier_callbacks* callbacks,
                                    atelier_upscaler** out) {
    if (path == nullptr || callbacks == nullptr || out == nullptr) {
        return refuse("an upscaler needs a file");
    }
    *out = nullptr;
    atelier_init();
    Job job(*callbacks);
    atelier::set_simulated_threads(n_threads);
    return guarded(&job, [&] {
        job.enter(ATELIER_PHASE_LOADING);
        auto upscaler      = std::make_unique<atelier_upscaler>();
        upscaler->upscaler = new_upscaler_ctx(path, false, n_threads, tile_size, backend, params_backend);
        if (upscaler->upscaler == nullptr) {
            last_error = "the engine could not open the upscaler";
            return ATELIER_FAILED;
        }
        *out = upscaler.release();
        return ATELIER_OK;
    });
}

void atelier_upscaler_free(atelier_upscaler* upscaler) {
    guarded(nullptr, [=] {
        delete upscaler;
        return ATELIER_OK;
    });
}

atelier_status atelier_upscaler_run(atelier_upscaler* upscaler, sd_image_t image, const atelier_callbacks* callbacks, sd_image_t* out) {
    if (upscaler == nullptr || image.data == nullptr || callbacks == nullptr || out == nullptr) {
        return refuse("an upscaler needs a picture");
    }
    *out = {};
    Job job(*callbacks);
    const atelier_status status = guarded(&job, [&] {
        job.enter(ATELIER_PHASE_UPSCALING);
        *out = upscale(upscaler->upscaler, image, static_cast<uint32_t>(get_upscale_factor(upscaler->upscaler)));
        if (out->data == nullptr) {
            last_error = "the upscaler made no picture";
            return job.cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        return ATELIER_OK;
    });
    last_peaks = job.peaks();
    return status;
}

atelier_status atelier_rpc_add_server(const char* endpoint) {
    if (endpoint == nullptr) {
        return refuse("a server needs an address");
    }
    atelier_init();
    return guarded(nullptr, [=] {
        if (!atelier::add_server(endpoint)) {
            last_error = "the server lends nothing";
            return ATELIER_FAILED;
        }
        return ATELIER_OK;
    });
}

atelier_status atelier_rpc_serve(int64_t socket, const char* const* devices, size_t count, int threads, const char* cache_dir) {
    if (devices == nullptr || count == 0) {
        return refuse("nothing to lend");
    }
    atelier_init();
    return guarded(nullptr, [=] {
        if (!atelier::serve(socket, devices, count, threads, cache_dir)) {
            last_error = "a device could not be used";
            return ATELIER_FAILED;
        }
        return ATELIER_OK;
    });
}

void atelier_image_free(sd_image_t* image) {
    if (image != nullptr) {
        std::free(image->data);
        *image = {};
    }
}
