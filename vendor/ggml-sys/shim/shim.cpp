#include "shim.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "context.h"
#include "error_boundary.h"
#include "ggml-backend.h"
#include "job.h"
#include "lora_use.h"
#include "memory_tracker.h"
#include "step_records.h"
#include "upscaler.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

using atelier::run_guarded;
using atelier::Job;
using atelier::last_error;
using atelier::last_lost_device;
using atelier::last_loras;
using atelier::last_lost_server;
using atelier::last_peaks;
using atelier::last_shortage;
using atelier::reject;

namespace atelier {

thread_local std::string last_error;
thread_local atelier_shortage last_shortage = {};
thread_local std::string last_lost_server;
thread_local std::string last_lost_device;
thread_local PeakBytes last_peaks;
thread_local std::vector<LoraUse> last_loras;

atelier_status reject(const char* reason) {
    last_error = reason;
    return ATELIER_INVALID_ARGUMENT;
}

namespace {

// Returns free heap memory to the system: a T5 vocabulary is many small allocations, which glibc would keep.
void trim_heap() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

// Buffers of this many bytes and more come from the system, and go back to it when freed. By itself glibc raises the limit to the size of
// what was freed, up to 32 MB, and then each arena that some thread once used keeps a buffer.
constexpr int MIN_MAPPED_BYTES = 1 << 20;

void return_large_buffers() {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, MIN_MAPPED_BYTES);
#endif
}

}  // namespace

}  // namespace atelier

namespace {

// Replaces the preview decoder by an adaptive one while the scope lives.
class AdaptivePreviewScope {
public:
    AdaptivePreviewScope(atelier_context* context, const sd_img_gen_params_t& params) : sd_(context->sd->sd), decoder_(sd_->preview_vae) {
        const std::shared_ptr<VAE>& inner = decoder_ != nullptr ? decoder_ : sd_->first_stage_model;
        if (context->adaptive_preview == nullptr) {
            const bool decodes_last   = decoder_ == nullptr;
            ggml_backend_t backend    = atelier::RunnerAccess::backend_of(inner.get());
            context->adaptive_preview = std::make_shared<atelier::AdaptivePreview>(inner, sd_->version, backend, decodes_last);
        }
        const int scale = inner->get_scale_factor();
        context->adaptive_preview->begin_image(params.width / scale, params.height / scale, params.vae_tiling_params.enabled);
        sd_->preview_vae = context->adaptive_preview;
    }
    ~AdaptivePreviewScope() { sd_->preview_vae = decoder_; }
    AdaptivePreviewScope(const AdaptivePreviewScope&)            = delete;
    AdaptivePreviewScope& operator=(const AdaptivePreviewScope&) = delete;

private:
    StableDiffusionGGML* sd_;
    std::shared_ptr<VAE> decoder_;
};

}  // namespace

// As src/upscaler.cpp has it.
struct upscaler_ctx_t {
    UpscalerGGML* upscaler = nullptr;
};

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
    run_guarded(nullptr, [] {
        std::call_once(once, [] {
            atelier::return_large_buffers();
            atelier::install_callbacks();
            // Before any backend is made.
            atelier::hook_cpu_operations();
        });
        // At each call: devices can be added later.
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

size_t atelier_last_peaks(atelier_device_peak* out, size_t capacity) {
    size_t index = 0;
    for (const auto& it : last_peaks) {
        if (index < capacity) {
            out[index] = {it.first.second, it.first.first, it.second};
        }
        ++index;
    }
    return index;
}

size_t atelier_last_loras(atelier_lora_use* out, size_t capacity) {
    size_t index = 0;
    for (const auto& it : last_loras) {
        if (index < capacity) {
            out[index] = {it.path.c_str(), it.applied, it.total};
        }
        ++index;
    }
    return index;
}

static thread_local std::map<int, atelier::Copies> last_copies;

size_t atelier_last_copies(atelier_copies* out, size_t capacity) {
    size_t index = 0;
    for (const auto& [module, copies] : last_copies) {
        if (index < capacity) {
            out[index] = {module, copies.bytes, copies.count, static_cast<uint64_t>(copies.waited_us), static_cast<uint64_t>(copies.hidden_us)};
        }
        ++index;
    }
    return index;
}

static thread_local uint64_t last_missing_numbers = 0;

uint64_t atelier_last_missing_numbers(void) {
    return last_missing_numbers;
}

size_t atelier_device_count(void) {
    atelier_init();
    std::lock_guard<std::mutex> lock(atelier::device_list_mutex());
    return ggml_backend_dev_count();
}

atelier_status atelier_device_get(size_t index, atelier_device* out) {
    ggml_backend_dev_t device = nullptr;
    {
        std::lock_guard<std::mutex> lock(atelier::device_list_mutex());
        device = index < ggml_backend_dev_count() ? ggml_backend_dev_get(index) : nullptr;
    }
    if (out == nullptr || device == nullptr) {
        return reject("no such device");
    }
    return run_guarded(nullptr, [=] {
        ggml_backend_dev_props it = {};
        const bool remote         = atelier::is_remote(device);
        try {
            ggml_backend_dev_get_props(device, &it);
        } catch (const atelier::ConnectionLost&) {
            it.memory_free = it.memory_total = 0;
        }
        *out = {ggml_backend_dev_name(device), ggml_backend_dev_description(device), ggml_backend_dev_type(device), it.memory_free,
                it.memory_total, remote, it.device_id};
        return ATELIER_OK;
    });
}

const char* atelier_last_lost_server(void) {
    return last_lost_server.c_str();
}

const char* atelier_last_lost_device(void) {
    return last_lost_device.c_str();
}

void atelier_lose_simulated_device(const char* name) {
    atelier::lose_simulated_device(name);
}

atelier_status atelier_simulate_device(const char* name,
                                       uint64_t memory_bytes,
                                       const char* card,
                                       uint64_t largest_buffer_bytes,
                                       const char* without,
                                       double speed) {
    if (name == nullptr || name[0] == '\0') {
        return reject("a device needs a name");
    }
    if (!(speed > 0.0 && speed <= 1.0)) {
        return reject("a simulated device is no quicker than the processor");
    }
    atelier_init();
    const atelier_status status = run_guarded(nullptr, [=] {
        const auto text = [](const char* it) { return it == nullptr ? "" : it; };
        if (!atelier::simulate_device(name, static_cast<size_t>(memory_bytes), text(card), static_cast<size_t>(largest_buffer_bytes), text(without), speed)) {
            last_error = "there is a device of this name";
            return ATELIER_FAILED;
        }
        atelier::hook_devices();
        return ATELIER_OK;
    });
    return status;
}

atelier_conditioning_cache* atelier_conditioning_cache_new(void) {
    atelier_conditioning_cache* cache = nullptr;
    run_guarded(nullptr, [&] {
        cache = new atelier_conditioning_cache{std::make_shared<atelier::ConditioningCache>()};
        return ATELIER_OK;
    });
    return cache;
}

void atelier_conditioning_cache_free(atelier_conditioning_cache* cache) {
    delete cache;
}

void atelier_conditioning_cache_clear(atelier_conditioning_cache* cache) {
    if (cache != nullptr) {
        cache->cache->clear();
    }
}

atelier_conditioning_stats atelier_conditioning_cache_stats(const atelier_conditioning_cache* cache) {
    return cache == nullptr ? atelier_conditioning_stats{} : cache->cache->stats();
}

atelier_status atelier_context_new(const sd_ctx_params_t* params,
                                   const atelier_conditioning_cache* conditioning,
                                   const char* encoders,
                                   const atelier_callbacks* callbacks,
                                   atelier_context** out) {
    if (params == nullptr || callbacks == nullptr || out == nullptr) {
        return reject("a context needs parameters and callbacks");
    }
    *out = nullptr;
    atelier_init();
    Job job(*callbacks);
    atelier::set_simulated_threads(params->n_threads);
    return atelier::open_context(job, params, conditioning, encoders, out);
}

void atelier_context_free(atelier_context* context) {
    run_guarded(nullptr, [=] {
        delete context;
        return ATELIER_OK;
    });
    atelier::trim_heap();
}

atelier_status atelier_context_set_limits(atelier_context* context, const atelier_limits* limits) {
    if (context == nullptr || limits == nullptr) {
        return reject("limits need a context");
    }
    return run_guarded(nullptr, [=] {
        context->set_limits(*limits);
        return ATELIER_OK;
    });
}

atelier_status atelier_context_generate(atelier_context* context,
                                        const sd_img_gen_params_t* params,
                                        const atelier_area* area,
                                        const atelier_steps* steps,
                                        const atelier_noise_blend* blend,
                                        const atelier_control_steps* control_steps,
                                        const char* lora_key,
                                        const atelier_adapter_names* adapters,
                                        size_t adapter_count,
                                        const atelier_embedding* embeddings,
                                        size_t embedding_count,
                                        enum rng_type_t rng,
                                        enum rng_type_t sampler_rng,
                                        enum preview_t preview_mode,
                                        int preview_every,
                                        const atelier_callbacks* callbacks,
                                        sd_image_t* out) {
    if (context == nullptr || params == nullptr || callbacks == nullptr || out == nullptr || params->batch_count != 1) {
        return reject("a picture needs a context, parameters and a batch of one");
    }
    if (area != nullptr && area->soft_mask != nullptr && (area->width != params->width || area->height != params->height)) {
        return reject("a soft mask has the size of its picture");
    }
    *out = {};
    last_loras.clear();
    Job job(*callbacks);
    job.set_area(area);
    job.set_noise_blend(blend);
    job.set_control_steps(control_steps);
    job.set_packed_limit(context->packed_bytes);
    lora_key = lora_key == nullptr ? "" : lora_key;
    job.set_encoded_images(&context->encoded_images, lora_key);
    job.set_adapters(adapters, adapter_count);
    std::optional<atelier::StepReplay> replay;
    if (steps != nullptr) {
        job.set_step_replay(&replay.emplace(*steps));
    }
    const bool is_adaptive = preview_every == ATELIER_PREVIEW_ADAPTIVE;
    if (!is_adaptive) {
        job.set_preview(preview_mode, preview_every);
    }
    const sd_guidance_params_t& guidance = params->sample_params.guidance;
    job.set_graphs_per_step(guidance.txt_cfg == 1.0f ? 1 : 2);

    const atelier_status status = run_guarded(&job, [&] {
        if (job.is_cancelled()) {
            return ATELIER_CANCELLED;
        }
        if (context->conditioner != nullptr) {
            // The conditioner may be borrowed; the VAE is this context's.
            context->conditioner->begin_image(lora_key, [context] { context->release_vae_staging(); });
            if (!context->conditioner->set_embeddings(embeddings, embedding_count)) {
                return reject("an embedding does not fit the text encoders");
            }
        }
        context->set_rng(rng, sampler_rng);
        std::optional<AdaptivePreviewScope> scope;
        if (is_adaptive) {
            scope.emplace(context, *params);
            job.set_preview_if(PREVIEW_TAE, [context](int step, int steps) { return context->adaptive_preview->is_affordable(step, steps); });
        }
        // Buffers of earlier images count too.
        job.record_peaks();
        job.enter_phase(ATELIER_PHASE_ENCODING);
        sd_image_t* images = generate_image(context->sd, params);
        context->release_vae_staging();
        if (replay.has_value()) {
            replay->finish();
        }
        if (images == nullptr && replay.has_value() && replay->has_stopped() && !job.is_cancelled()) {
            job.check_loras();
            return ATELIER_OK;
        }
        if (images == nullptr) {
            last_error = "the engine made no picture";
            return job.is_cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        *out = images[0];
        std::free(images);
        job.check_loras();
        last_loras = atelier::lora_uses(*context, *params);
        if (out->data == nullptr || out->channel != 3) {
            last_error = "the engine made an empty picture";
            return ATELIER_FAILED;
        }
        return ATELIER_OK;
    });
    last_peaks           = job.peaks();
    last_missing_numbers = job.missing_numbers();
    last_copies          = job.copy_profile().by_module();
    if (status != ATELIER_OK) {
        std::string error               = std::move(last_error);
        const atelier_shortage shortage = last_shortage;
        std::string lost_server         = std::move(last_lost_server);
        std::string lost_device         = std::move(last_lost_device);
        run_guarded(nullptr, [=] {
            context->release_vae_staging();
            context->clear_cached_tensors();
            return ATELIER_OK;
        });
        last_error       = std::move(error);
        last_shortage    = shortage;
        last_lost_server = std::move(lost_server);
        last_lost_device = std::move(lost_device);
    }
    return status;
}

void atelier_context_conditioning_counts(const atelier_context* context, uint64_t* hits, uint64_t* misses) {
    const bool is_cached = context != nullptr && context->conditioner != nullptr;
    *hits                = is_cached ? context->conditioner->hits() : 0;
    *misses              = is_cached ? context->conditioner->misses() : 0;
}

atelier_status atelier_upscaler_new(const char* path,
                                    bool direct,
                                    int n_threads,
                                    int tile_size,
                                    const char* backend,
                                    const char* params_backend,
                                    uint64_t limit,
                                    bool stream,
                                    const atelier_callbacks* callbacks,
                                    atelier_upscaler** out) {
    if (path == nullptr || callbacks == nullptr || out == nullptr) {
        return reject("an upscaler needs a file");
    }
    *out = nullptr;
    atelier_init();
    Job job(*callbacks);
    atelier::set_simulated_threads(n_threads);
    return run_guarded(&job, [&] {
        job.enter_phase(ATELIER_PHASE_LOADING);
        auto upscaler = std::make_unique<atelier_upscaler>();
        {
            const auto lock = atelier::lock_unless_cancelled(atelier::opening_mutex());
            if (!lock.owns_lock()) {
                return ATELIER_CANCELLED;
            }
            upscaler->upscaler = new_upscaler_ctx(path, direct, n_threads, tile_size, backend, params_backend);
        }
        if (upscaler->upscaler == nullptr) {
            last_error = "the engine could not open the upscaler";
            return ATELIER_FAILED;
        }
        UpscalerGGML& engine = *upscaler->upscaler->upscaler;
        engine.set_max_graph_vram_bytes(limit);
        engine.set_stream_layers_enabled(stream && limit > 0 && engine.backend_manager.params_backend_is_cpu(SDBackendModule::UPSCALER));
        *out = upscaler.release();
        return ATELIER_OK;
    });
}

void atelier_upscaler_free(atelier_upscaler* upscaler) {
    run_guarded(nullptr, [=] {
        delete upscaler;
        return ATELIER_OK;
    });
}

namespace {

// Tiles along a side of the picture, as `UpscalerGGML::upscale_tensor` of src/upscaler.cpp divides it.
int tiles_along(int side, int tile_size) {
    constexpr float OVERLAP = 0.25f;
    if (side <= tile_size) {
        return 1;
    }
    int count     = 0;
    float overlap = 0.0f;
    sd_tiling_calc_tiles(count, overlap, side, tile_size, OVERLAP, false);
    return count;
}

}  // namespace

atelier_status atelier_upscaler_estimate(const char* path,
                                         bool direct,
                                         int tile_size,
                                         const char* backend,
                                         uint32_t width,
                                         uint32_t height,
                                         const atelier_callbacks* callbacks,
                                         atelier_module_estimate* out,
                                         int* tiles,
                                         atelier_work* work,
                                         size_t capacity,
                                         size_t* count) {
    constexpr uint32_t MAX_SIDE = 1 << 20;
    if (path == nullptr || callbacks == nullptr || out == nullptr || tiles == nullptr || work == nullptr || count == nullptr || tile_size < 1 || width < 1 ||
        height < 1 || width > MAX_SIDE || height > MAX_SIDE) {
        return reject("an estimate needs an upscaler and a picture");
    }
    *count = 0;
    atelier_init();
    auto dry_run = std::make_shared<atelier::DryRun>();
    Job job(*callbacks, dry_run);
    return run_guarded(&job, [&] {
        job.enter_phase(ATELIER_PHASE_LOADING);
        atelier_upscaler upscaler;
        {
            const auto lock = atelier::lock_unless_cancelled(atelier::opening_mutex());
            if (!lock.owns_lock()) {
                return ATELIER_CANCELLED;
            }
            upscaler.upscaler = new_upscaler_ctx(path, direct, 1, tile_size, backend, backend);
        }
        if (upscaler.upscaler == nullptr) {
            last_error = "the engine could not open the upscaler";
            return ATELIER_FAILED;
        }
        job.enter_phase(ATELIER_PHASE_UPSCALING);
        const uint32_t tile_width  = std::min(width, static_cast<uint32_t>(tile_size));
        const uint32_t tile_height = std::min(height, static_cast<uint32_t>(tile_size));
        std::vector<uint8_t> pixels(size_t(tile_width) * tile_height * 3);
        sd_image_t large = upscale(upscaler.upscaler, {tile_width, tile_height, 3, pixels.data()}, 0);
        std::free(large.data);
        const std::vector<atelier_module_estimate> estimates = dry_run->module_estimates();
        if (large.data == nullptr || estimates.size() != 1) {
            last_error = "the upscaler would make no picture";
            return job.is_cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        *out   = estimates.front();
        *tiles = tiles_along(static_cast<int>(width), tile_size) * tiles_along(static_cast<int>(height), tile_size);
        for (const atelier_work& it : dry_run->work()) {
            if (*count < capacity) {
                work[(*count)++] = it;
            }
        }
        return ATELIER_OK;
    });
}

atelier_status atelier_upscaler_run(atelier_upscaler* upscaler, sd_image_t image, const atelier_callbacks* callbacks, sd_image_t* out) {
    if (upscaler == nullptr || image.data == nullptr || callbacks == nullptr || out == nullptr) {
        return reject("an upscaler needs a picture");
    }
    *out = {};
    Job job(*callbacks);
    const atelier_status status = run_guarded(&job, [&] {
        job.enter_phase(ATELIER_PHASE_UPSCALING);
        *out = upscale(upscaler->upscaler, image, static_cast<uint32_t>(get_upscale_factor(upscaler->upscaler)));
        if (out->data == nullptr) {
            last_error = "the upscaler made no picture";
            return job.is_cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        return ATELIER_OK;
    });
    last_peaks = job.peaks();
    return status;
}

namespace {

atelier_status call_server(const char* endpoint, bool (*call)(const char*)) {
    if (endpoint == nullptr) {
        return reject("a server needs an address");
    }
    atelier_init();
    return run_guarded(nullptr, [=] {
        if (!call(endpoint)) {
            last_error = "the server lends nothing";
            return ATELIER_FAILED;
        }
        return ATELIER_OK;
    });
}

}  // namespace

atelier_status atelier_rpc_connect(const char* endpoint) {
    return call_server(endpoint, atelier::connect_server);
}

atelier_status atelier_rpc_add_server(const char* endpoint) {
    return call_server(endpoint, atelier::add_server);
}

atelier_status atelier_device_warm_up(const char* name) {
    atelier_init();
    return run_guarded(nullptr, [=] {
        ggml_backend_dev_t device = name == nullptr ? nullptr : ggml_backend_dev_by_name(name);
        ggml_backend_t backend    = device == nullptr ? nullptr : ggml_backend_dev_init(device, nullptr);
        if (backend == nullptr) {
            return ATELIER_FAILED;
        }
        ggml_backend_free(backend);
        return ATELIER_OK;
    });
}

atelier_status atelier_rpc_serve(int64_t socket, const char* const* devices, size_t count, int threads, uint64_t memory_bytes,
                                 const atelier_weights_cache* cache) {
    if (devices == nullptr || count == 0) {
        return reject("nothing to lend");
    }
    atelier_init();
    return run_guarded(nullptr, [=] {
        if (!atelier::serve_client(socket, devices, count, threads, memory_bytes, cache)) {
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
