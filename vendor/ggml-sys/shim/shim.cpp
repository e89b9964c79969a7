#include "shim.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "accounts.h"
#include "context.h"
#include "ggml-backend.h"
#include "guard.h"
#include "job.h"
#include "upscaler.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

using atelier::guarded;
using atelier::Job;
using atelier::last_error;
using atelier::last_lost;
using atelier::last_peaks;
using atelier::last_shortage;
using atelier::refuse;

namespace atelier {

thread_local std::string last_error;
thread_local atelier_shortage last_shortage = {};
thread_local std::string last_lost;
thread_local Peaks last_peaks;

atelier_status refuse(const char* why) {
    last_error = why;
    return ATELIER_BAD_CALL;
}

namespace {

// A model's tokenizer is a million small pieces, which the allocator would keep for this process.
void give_back_unused() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace

}  // namespace atelier

namespace {

// Puts the thrifty preview before the decoder for as long as the scope lives.
class ThriftyScope {
public:
    ThriftyScope(atelier_context* context, const sd_img_gen_params_t& params) : sd_(context->sd->sd), decoder_(sd_->preview_vae) {
        const std::shared_ptr<VAE>& inner = decoder_ != nullptr ? decoder_ : sd_->first_stage_model;
        if (context->thrifty == nullptr) {
            const bool last  = decoder_ == nullptr;
            context->thrifty = std::make_shared<atelier::ThriftyPreview>(inner, sd_->version, atelier::RunnerAccess::backend_of(inner.get()), last);
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
        ggml_backend_dev_props it = {};
        const bool remote         = atelier::is_remote(device);
        try {
            ggml_backend_dev_get_props(device, &it);
        } catch (const atelier::Lost&) {
            it.memory_free = it.memory_total = 0;
        }
        *out = {ggml_backend_dev_name(device), ggml_backend_dev_description(device), ggml_backend_dev_type(device), it.memory_free,
                it.memory_total, remote, it.device_id};
        return ATELIER_OK;
    });
}

const char* atelier_last_lost(void) {
    return last_lost.c_str();
}

atelier_status atelier_simulate_device(const char* name, uint64_t memory_bytes, const char* card) {
    if (name == nullptr || name[0] == '\0') {
        return refuse("a device needs a name");
    }
    atelier_init();
    const atelier_status status = guarded(nullptr, [=] {
        if (!atelier::simulate_device(name, static_cast<size_t>(memory_bytes), card == nullptr ? "" : card)) {
            last_error = "there is a device of this name";
            return ATELIER_FAILED;
        }
        atelier::hook_devices();
        return ATELIER_OK;
    });
    return status;
}

atelier_encodings* atelier_encodings_new(void) {
    atelier_encodings* encodings = nullptr;
    guarded(nullptr, [&] {
        encodings = new atelier_encodings{std::make_shared<atelier::Encodings>()};
        return ATELIER_OK;
    });
    return encodings;
}

void atelier_encodings_free(atelier_encodings* encodings) {
    delete encodings;
}

void atelier_encodings_forget(atelier_encodings* encodings) {
    if (encodings != nullptr) {
        encodings->known->forget();
    }
}

atelier_encoding_counts atelier_encodings_counts(const atelier_encodings* encodings) {
    return encodings == nullptr ? atelier_encoding_counts{} : encodings->known->counts();
}

atelier_status atelier_context_new(const sd_ctx_params_t* params,
                                   const atelier_encodings* encodings,
                                   const char* encoders,
                                   const atelier_callbacks* callbacks,
                                   atelier_context** out) {
    if (params == nullptr || callbacks == nullptr || out == nullptr) {
        return refuse("a context needs parameters and callbacks");
    }
    *out = nullptr;
    atelier_init();
    Job job(*callbacks);
    atelier::set_simulated_threads(params->n_threads);
    return atelier::open_context(job, params, encodings, encoders, out);
}

void atelier_context_free(atelier_context* context) {
    guarded(nullptr, [=] {
        delete context;
        return ATELIER_OK;
    });
    atelier::give_back_unused();
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
            // Of this context: the conditioner may be another's.
            context->conditioner->begin(lora_key == nullptr ? "" : lora_key, [context] { context->vae_done(); });
        }
        std::optional<ThriftyScope> scope;
        if (thrifty) {
            scope.emplace(context, *params);
            job.show_previews_if(PREVIEW_TAE, [context](int step, int steps) { return context->thrifty->affordable(step, steps); });
        }
        // Of pictures before.
        job.note_memory();
        job.enter(ATELIER_PHASE_ENCODING);
        sd_image_t* images = generate_image(context->sd, params);
        context->vae_done();
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
            context->vae_done();
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
