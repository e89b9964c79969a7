// The C interface between Atelier and stable-diffusion.cpp.
//
// Rules: no exception leaves a function declared here; every function that can fail returns an atelier_status and keeps a sentence for
// atelier_last_error; callbacks are called on the thread that called in, except `log`, which may also come from a loading thread of
// the same job. Callbacks must not throw and must not call back into this interface.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stable-diffusion.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ATELIER_OK        = 0,
    ATELIER_FAILED    = 1,  // the engine said no; the context can be used again
    ATELIER_CANCELLED = 2,  // `cancelled` returned true; the context can be used again
    ATELIER_ABORTED   = 3,  // an assert or exception was caught; the context must be freed
    ATELIER_NO_MEMORY = 4,  // an allocation failed, see atelier_last_shortage; the context must be freed
    ATELIER_BAD_CALL  = 5,  // a null or meaningless argument
    ATELIER_LOST      = 6,  // a remote device went away, see atelier_last_lost; the context must be freed
} atelier_status;

typedef enum {
    ATELIER_PHASE_LOADING   = 0,
    ATELIER_PHASE_ENCODING  = 1,
    ATELIER_PHASE_DENOISING = 2,
    ATELIER_PHASE_DECODING  = 3,
    ATELIER_PHASE_UPSCALING = 4,
} atelier_phase;

// In the order of Atelier's `Module`.
typedef enum {
    ATELIER_MODULE_NONE        = -1,
    ATELIER_MODULE_DIFFUSION   = 0,
    ATELIER_MODULE_TE          = 1,
    ATELIER_MODULE_CLIP_VISION = 2,
    ATELIER_MODULE_VAE         = 3,
    ATELIER_MODULE_CONTROLNET  = 4,
    ATELIER_MODULE_PHOTOMAKER  = 5,
    ATELIER_MODULE_UPSCALER    = 6,
} atelier_module;

typedef struct {
    void* user;
    void (*log)(void* user, int level, const char* text);
    void (*phase)(void* user, int phase);
    // Weights of one module: bytes read so far and in all.
    void (*load)(void* user, int module, uint64_t done, uint64_t total);
    // `fraction` of the step that runs now, 0 to 1; `seconds` of the last finished one. While upscaling: tiles.
    void (*step)(void* user, int done, int total, float fraction, float seconds);
    void (*preview)(void* user, int step, uint32_t width, uint32_t height, const uint8_t* rgb);
    bool (*cancelled)(void* user);
} atelier_callbacks;

typedef struct {
    const char* name;
    const char* description;
    int type;  // enum ggml_backend_dev_type
    uint64_t memory_free;
    uint64_t memory_total;
    // Of another machine; the description is its server's address, `#`, and its number there. Total 0: the server does not answer.
    bool remote;
    const char* card;  // its PCI address, or null; two devices with the same are two backends of one card
} atelier_device;

// Memory that a device did not have.
typedef struct {
    const char* device;
    int phase;  // atelier_phase
    uint64_t bytes_wanted;
    uint64_t bytes_free;  // 0 for the processor, whose memory ggml does not count
} atelier_shortage;

// The most that was held of a device in a phase, of this job's model and of others.
typedef struct {
    const char* device;
    int phase;  // atelier_phase
    uint64_t bytes;
} atelier_peak;

// What a module takes in a phase, in bytes.
typedef struct {
    int module;  // atelier_module
    int phase;   // atelier_phase
    uint64_t weight_bytes;   // the most weights at one time where it runs
    uint64_t lora_bytes;     // LoRA weights beside them
    uint64_t compute_bytes;  // the most of all else at one time
    uint64_t peak_bytes;     // the most weights and else at one time; without LoRAs
    int graphs;              // computed until the phase ended; more than in one piece where they are cut
} atelier_need;

// The most bytes of its device that a module's graph may use, weights included; 0: no limit. None has an effect on the processor.
typedef struct {
    uint64_t diffusion;
    uint64_t te;
    uint64_t clip_vision;
    uint64_t vae;
    // Keep the diffusion layers that fit and stream the others. Needs a limit for the diffusion module, and its weights in RAM.
    bool stream_layers;
} atelier_limits;

typedef struct atelier_context atelier_context;
typedef struct atelier_upscaler atelier_upscaler;
typedef struct atelier_encodings atelier_encodings;

// Installs callbacks and hooks; to be called before all else, any number of times, from any thread.
void atelier_init(void);

// Nodes that a graph hook computes between two looks at the cancel flag, for devices without a check of their own. 0: adapt to their speed.
// `force` uses the hook also where the device has its own check: for tests on a machine without a GPU.
void atelier_set_hook(int nodes, bool force);

// Why the last call on this thread failed; "" where it did not. Valid until the next call on this thread.
const char* atelier_last_error(void);
// What was missing where the last call on this thread returned ATELIER_NO_MEMORY and a device is to blame; else false.
bool atelier_last_shortage(atelier_shortage* out);
// The address of the server where the last call on this thread returned ATELIER_LOST.
const char* atelier_last_lost(void);

// What the last picture or enlarging of this thread took, whether it succeeded or not: how many peaks there are, at most `capacity` of them
// in `out`.
size_t atelier_last_peaks(atelier_peak* out, size_t capacity);
// Bytes that are held of a device now; a name of atelier_device_get.
uint64_t atelier_held(const char* device);

size_t atelier_device_count(void);
atelier_status atelier_device_get(size_t index, atelier_device* out);
// Adds a device of type GPU that the processor computes, with so much memory of its own. Before the first context; names are unique.
// Devices of the same `card`, which may be "" or null, share their memory.
atelier_status atelier_simulate_device(const char* name, uint64_t memory_bytes, const char* card);

// Whether the library through which programs find Vulkan devices is on this machine. Only in a build with Vulkan.
bool atelier_vulkan_loader(void);

// Text encodings that contexts remember, 256 MiB at most; the least recently used go first.
typedef struct {
    uint64_t found;
    uint64_t made;
    uint64_t bytes;  // now
} atelier_encoding_counts;

// Null where there is no memory. Contexts keep what they need of it when it is freed.
atelier_encodings* atelier_encodings_new(void);
void atelier_encodings_free(atelier_encodings* encodings);
void atelier_encodings_forget(atelier_encodings* encodings);
atelier_encoding_counts atelier_encodings_counts(const atelier_encodings* encodings);

// `encoders` names the text encoders: contexts of the same name share what was encoded. Without `encodings` nothing is remembered.
atelier_status atelier_context_new(const sd_ctx_params_t* params,
                                   const atelier_encodings* encodings,
                                   const char* encoders,
                                   const atelier_callbacks* callbacks,
                                   atelier_context** out);
// A context that holds nothing and makes no picture: what it is asked to make is only counted. Weights are not read, no device is given
// work or memory, and both may be done beside a job of another thread.
atelier_status atelier_estimator_new(const sd_ctx_params_t* params, const atelier_callbacks* callbacks, atelier_context** out);
// What a picture would take of the context's devices: at most `capacity` entries, `*count` of them.
atelier_status atelier_estimator_run(atelier_context* estimator,
                                     const sd_img_gen_params_t* params,
                                     const atelier_limits* limits,
                                     const atelier_callbacks* callbacks,
                                     atelier_need* out,
                                     size_t capacity,
                                     size_t* count);
void atelier_context_free(atelier_context* context);
// Between pictures, any number of times.
atelier_status atelier_context_limit(atelier_context* context, const atelier_limits* limits);

// Weights of a module in a device's memory.
typedef struct {
    int module;  // atelier_module
    const char* device;
    uint64_t bytes;
} atelier_holding;

// What the context holds between pictures, borrowed modules left out. At most `capacity` are written; returns how many there are.
size_t atelier_context_holdings(const atelier_context* context, atelier_holding* out, size_t capacity);
// Frees the weights of these modules, a bit for each atelier_module. They are read again when they are next needed. Between pictures only.
atelier_status atelier_context_release(atelier_context* context, uint32_t modules);
// Text encoder or VAE (bits as above) of another context take the place of this one's own, which was never used. The caller answers for
// both being of the same files and settings; the lender must outlive the context, and pictures of the two must not be made at once.
atelier_status atelier_context_borrow(atelier_context* context, atelier_context* lender, uint32_t modules);
// Reads the weights of these modules now that would be read with the first picture, where they live in memory.
atelier_status atelier_context_warm(atelier_context* context, uint32_t modules, const atelier_callbacks* callbacks);

// For `preview_every`: through the decoder, as large and as often as a fifth of the picture's time pays for.
#define ATELIER_PREVIEW_THRIFTY (-1)

// Makes one picture; `params->batch_count` must be 1. `lora_key` names the LoRAs in use, so that a remembered text encoding is not used
// for another set. `preview_every` 0 shows none. The picture is freed by atelier_image_free.
atelier_status atelier_context_generate(atelier_context* context,
                                        const sd_img_gen_params_t* params,
                                        const char* lora_key,
                                        enum preview_t preview_mode,
                                        int preview_every,
                                        const atelier_callbacks* callbacks,
                                        sd_image_t* out);
// Text encodings that the context found and had to make since it was made.
void atelier_context_encodings(const atelier_context* context, uint64_t* hits, uint64_t* misses);

atelier_status atelier_upscaler_new(const char* path,
                                    int n_threads,
                                    int tile_size,
                                    const char* backend,
                                    const char* params_backend,
                                    const atelier_callbacks* callbacks,
                                    atelier_upscaler** out);
void atelier_upscaler_free(atelier_upscaler* upscaler);
atelier_status atelier_upscaler_run(atelier_upscaler* upscaler, sd_image_t image, const atelier_callbacks* callbacks, sd_image_t* out);

void atelier_image_free(sd_image_t* image);

// Opens and greets a connection to a server: a socket that blocks, with time limits of its own on reading and writing, or -1. It may be
// called on any thread that calls in.
typedef int64_t (*atelier_dialer)(const char* endpoint);
void atelier_rpc_set_dialer(atelier_dialer dial);
// How long a server may say nothing while an answer is due; 0: as long as is usual.
void atelier_rpc_set_patience(uint64_t milliseconds);
// What both ends must agree on beside the greeting: protocol and the length of names.
const char* atelier_rpc_version(void);
// Adds the devices of a server, `host:port`, named RPC0, RPC1... in the order in which they were added.
atelier_status atelier_rpc_add_server(const char* endpoint);
// Lends devices to the borrower behind a greeted socket, which is closed at the end. Returns when the borrower leaves.
atelier_status atelier_rpc_serve(int64_t socket, const char* const* devices, size_t count, int threads, const char* cache_dir);

#ifdef __cplusplus
}
#endif
