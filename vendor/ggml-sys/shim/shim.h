// The C interface between Atelier and stable-diffusion.cpp.
//
// Rules: no exception leaves a function declared here; every function that can fail returns an atelier_status and stores a message for
// atelier_last_error; callbacks are called on the thread of the call, except `log` and `cancelled`, which the loading threads of the same job
// call too. Callbacks must not throw and must not call functions of this interface.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stable-diffusion.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    ATELIER_OK               = 0,
    ATELIER_FAILED           = 1,  // the engine reported a failure; the context can be used again
    ATELIER_CANCELLED        = 2,  // `cancelled` returned true; the context can be used again
    ATELIER_ABORTED          = 3,  // an assert or exception was caught; the context must be freed
    ATELIER_NO_MEMORY        = 4,  // an allocation failed, see atelier_last_shortage; the context must be freed
    ATELIER_INVALID_ARGUMENT = 5,  // null or out of range
    ATELIER_CONNECTION_LOST  = 6,  // the connection to a remote device broke, see atelier_last_lost_server; the context must be freed
    ATELIER_DEVICE_LOST      = 7,  // a device stopped answering for good, see atelier_last_lost_device; the context must be freed
} atelier_status;

typedef enum {
    ATELIER_PHASE_LOADING   = 0,
    ATELIER_PHASE_ENCODING  = 1,
    ATELIER_PHASE_DENOISING = 2,
    ATELIER_PHASE_DECODING  = 3,
    ATELIER_PHASE_UPSCALING = 4,
} atelier_phase;

// In the order of `Module` in crates/core/src/placement.
typedef enum {
    ATELIER_MODULE_NONE        = -1,
    ATELIER_MODULE_DIFFUSION   = 0,
    ATELIER_MODULE_CLIP_L      = 1,  // the first of the text encoders
    ATELIER_MODULE_CLIP_G      = 2,
    ATELIER_MODULE_T5          = 3,
    ATELIER_MODULE_LLM         = 4,  // the last of them
    ATELIER_MODULE_CLIP_VISION = 5,
    ATELIER_MODULE_VAE         = 6,
    ATELIER_MODULE_CONTROLNET  = 7,
    ATELIER_MODULE_PHOTOMAKER  = 8,
    ATELIER_MODULE_UPSCALER    = 9,
    ATELIER_MODULE_COUNT       = 10,
} atelier_module;

typedef struct {
    void* user;
    void (*log)(void* user, int level, const char* text);
    void (*phase)(void* user, int phase);
    // Weights of one module (atelier_module): bytes read so far and in all.
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
    // On another machine: the description is the server's address, `#` and the index there. Total 0: the server does not answer.
    bool remote;
    const char* card;  // PCI address, or null; devices with the same one are backends of one card
} atelier_device;

// An allocation that failed.
typedef struct {
    const char* device;
    int phase;  // atelier_phase
    uint64_t bytes_wanted;
    uint64_t bytes_free;  // 0 for the CPU, whose memory ggml does not report
} atelier_shortage;

// Peak of the bytes that this process had allocated on a device in a phase, other jobs included.
typedef struct {
    const char* device;
    int phase;  // atelier_phase
    uint64_t bytes;
} atelier_device_peak;

// Predicted memory of a module in a phase, in bytes, on the device where it runs.
typedef struct {
    int module;  // atelier_module
    int phase;   // atelier_phase
    uint64_t weight_bytes;   // peak of weights
    uint64_t lora_bytes;     // peak of LoRA weights
    uint64_t compute_bytes;  // peak of all other buffers
    uint64_t peak_bytes;     // peak of the sum of both, without LoRAs
    uint64_t packed_bytes;   // of packed weights that the processor may keep from step to step, beside the others
    int graphs;              // number of computed graphs; a graph that is cut counts once a segment
    uint64_t input_bytes;    // copied to the device for its graphs, weights apart
    uint64_t output_bytes;   // copied from the device
} atelier_module_estimate;

// Kind of a node of a graph, by what limits its speed. In the order of `WorkKind` in crates/core/src/time.
typedef enum {
    ATELIER_WORK_PRODUCT        = 0,
    ATELIER_WORK_CONVOLUTION    = 1,  // direct, or an unfolded image and its product
    ATELIER_WORK_ATTENTION      = 2,
    ATELIER_WORK_ELEMENTWISE    = 3,
    ATELIER_WORK_TRANSCENDENTAL = 4,
    ATELIER_WORK_NORMALIZATION  = 5,
    ATELIER_WORK_COPY           = 6,
} atelier_work_kind;

// In the order of `NodeSize` in crates/core/src/time.
typedef enum {
    ATELIER_NODE_NARROW = 0,  // fewer than 16 rows or columns
    ATELIER_NODE_SMALL  = 1,  // less than 2^27 operations; 2^20 bytes, where it has no operations
    ATELIER_NODE_MEDIUM = 2,  // less than 2^32 operations; 2^26 bytes
    ATELIER_NODE_LARGE  = 3,
} atelier_node_size;

// Nodes of one class in the graphs of a module in a phase.
typedef struct {
    int module;           // atelier_module
    int phase;            // atelier_phase
    int kind;             // atelier_work_kind
    int size;             // atelier_node_size
    const char* type;     // ggml's name of the number type of the weights, or of the first operand; f32 where memory limits the kind
    uint64_t nodes;
    uint64_t operations;  // floating point; 0 where memory limits the kind
    uint64_t bytes;       // read and written
} atelier_work;

typedef struct {
    // By module: maximum bytes of its device that its graph may use, weights included; 0: no limit. Without effect on the CPU, and for modules that
    // run as a whole (ControlNet, PhotoMaker) or are no part of a context (upscaler).
    uint64_t bytes[ATELIER_MODULE_COUNT];
    // Bit n: stream the layers of module n that do not fit. Needs its limit, and its weights in RAM.
    uint32_t streamed;
    // Copy the next layers while these are computed, where the device can. Not with LoRAs, nor where other images are made meanwhile.
    bool prefetch;
    // Packed weights of the diffusion module that the processor may keep while it computes the steps of an image; 0: none.
    uint64_t packed_bytes;
} atelier_limits;

// Weights that were copied to the device of their module while an image was made.
typedef struct {
    int module;          // atelier_module
    uint64_t bytes;
    uint64_t count;      // of buffers
    uint64_t waited_us;  // in which the device computed nothing
    uint64_t hidden_us;  // beside computing
} atelier_copies;

// Names of the tensors in a LoRA's file: `to[n]` is `lora.<weight>#<first row>.<end>` of the tensor `from[n]`, by the engine's names of weights. The
// ends are those of LyCORIS, `.diff` also for biases and norms, and `dora_scale` (lengths of outputs) or `dora_scale_in` (of inputs). The caller
// has checked that the shapes fit the weight. Tensors without a name have no effect.
typedef struct {
    const char* path;
    const char* const* from;
    const char* const* to;
    size_t count;           // 0: by the engine's own names
    float encoder_strength; // what its changes of text encoders are multiplied by; not a number: as those of other modules
    bool is_merged;         // its changes become a part of the diffusion module's weights, which are read again for others
} atelier_adapter_names;

// Tensors of a LoRA's file, and how many of them an image was made with.
typedef struct {
    const char* path;
    uint64_t applied;
    uint64_t total;  // 0: none is of a module of this model
} atelier_lora_use;

// A textual inversion: vectors that take the place of a text in a prompt.
typedef struct {
    const char* token;       // the text, of lower-case ASCII
    int count;               // of vectors; each is one token of the prompt
    int width;               // values of a vector of the first encoder
    const float* vectors;    // count x width
    int width_2;             // of the second encoder, where the model has one
    const float* vectors_2;  // count x width_2; may be null
} atelier_embedding;

// How an image changes a part of the one that it starts from.
typedef struct {
    // The part of the schedule that is run, in all of `sample_steps`: 1 begins with noise alone. Takes the place of the engine's own strength.
    float strength;
    // width x height bytes, the size of the image: 255 is denoised in all steps, less in as large a part of the last ones, 0 never. Null: the
    // engine's own mask decides.
    const uint8_t* soft_mask;
    int width;
    int height;
} atelier_area;

// Estimates of the picture that the steps of an image gave, for a later one of the same schedule, size and noise.
typedef struct atelier_step_records atelier_step_records;

typedef struct {
    int steps;          // whole steps that are kept
    uint64_t bytes;
    uint64_t computed;  // evaluations that the image computed, kept or not; the others were replayed
} atelier_step_counts;

// The steps that an image does not compute, and those that it keeps.
typedef struct {
    atelier_step_records* record;        // empty; gets those of this image. Null: none are kept
    const atelier_step_records* replay;  // of an earlier image; null: none
    int replay_steps;                    // the number of first steps that take their estimates from there
    const atelier_step_records* restart; // of an earlier image, whose estimate gets this image's noise; null: none
    int restart_after;                   // the step after which it does: with `restart`, this image begins with the next one
    int stop_after;                      // the last step that is run; 0: all are run
    bool shows_last_step;                // the picture is the estimate of `stop_after`; else none comes
} atelier_steps;

// Start noise between those of two seeds.
typedef struct {
    int64_t seed;  // the other seed
    float amount;  // 0: the image's own noise, 1: that of the other seed
} atelier_noise_blend;

// The steps in which a ControlNet acts: those that begin after `start` of all and before `end`, 0 to 1.
typedef struct {
    float start;
    float end;
} atelier_control_steps;

// Null without memory. Keeps as many whole steps as `max_bytes` hold.
atelier_step_records* atelier_step_records_new(uint64_t max_bytes);
void atelier_step_records_free(atelier_step_records* records);
atelier_step_counts atelier_step_records_counts(const atelier_step_records* records);

typedef struct atelier_context atelier_context;
typedef struct atelier_upscaler atelier_upscaler;
typedef struct atelier_conditioning_cache atelier_conditioning_cache;

// Installs the engine's callbacks and the compute hooks of all devices. Thread-safe and repeatable; the other functions call it.
void atelier_init(void);

// Kernels of the processor, for the operations that take nearly all time. Each function computes the share of thread `index` of `count`; the
// shares of all threads are the whole operation. They are called on ggml's threads, must not throw, and wait for nobody.

typedef enum {
    ATELIER_VALUES_F32    = 0,
    ATELIER_VALUES_F16    = 1,
    ATELIER_VALUES_BF16   = 2,
    ATELIER_VALUES_BLOCKS = 3,  // quantised: `unpack` makes f32 of them
} atelier_values;

// Forms of blocks that kernels read by themselves, as ggml stores them: of 32 values with one factor, or of 256 with factors for parts.
typedef enum {
    ATELIER_FORMAT_OTHER = 0,
    ATELIER_FORMAT_Q8_0  = 1,
    ATELIER_FORMAT_Q5_0  = 2,
    ATELIER_FORMAT_Q4_0  = 3,
    ATELIER_FORMAT_Q6_K  = 4,
    ATELIER_FORMAT_Q5_K  = 5,
    ATELIER_FORMAT_Q4_K  = 6,
} atelier_format;

// A matrix, row by row; the values of a row lie side by side. Without alignment.
typedef struct {
    const void* data;
    size_t stride;  // bytes from one row to the next
    int values;     // atelier_values
    int format;     // atelier_format
    size_t block_values;
    size_t block_bytes;
    void (*unpack)(const void* from, float* to, int64_t count);
} atelier_rows;

// What is done to each value of a result, in this order, before it leaves the caches.
typedef struct {
    const float* constants;  // added: one for each output channel or feature; or null
    const float* addend;     // added: laid out as the result; or null
    float negative_slope;    // factor of what is negative then: 0 is a ReLU, 1 changes nothing
    bool has_gelu;           // GELU then
} atelier_epilogue;

// out[i][j] = sum over k of activations[i][k] * weights[j][k]
typedef struct {
    atelier_rows weights;
    atelier_rows activations;
    float* out;
    size_t out_stride;  // values
    size_t tokens;
    size_t features;
    size_t depth;
    atelier_epilogue epilogue;
} atelier_product;

// One image in planes. Pairs are horizontal, vertical.
typedef struct {
    atelier_rows weights;  // a row for each output channel
    const float* image;
    float* out;
    size_t width;
    size_t height;
    size_t channels;
    size_t out_channels;
    size_t kernel[2];
    size_t stride[2];
    size_t padding[2];
    size_t dilation[2];
    size_t out_size[2];
    atelier_epilogue epilogue;
} atelier_convolution;

// Heads of one batch; distances between heads in bytes, those of `out` in values.
typedef struct {
    atelier_rows queries;
    atelier_rows keys;
    atelier_rows values;
    size_t query_head_stride;
    size_t key_head_stride;
    size_t value_head_stride;
    const void* mask;  // f16, a row for each query; or null
    size_t mask_stride;
    size_t mask_head_stride;
    float* out;
    size_t out_stride;
    size_t out_head_stride;
    float scale;
    size_t heads;
    size_t key_heads;
    size_t query_count;
    size_t key_count;
    size_t key_size;
    size_t value_size;
} atelier_attention;

// Groups side by side; the last may be smaller.
typedef struct {
    const float* from;
    float* to;
    size_t group_size;
    size_t total;
    float epsilon;
    // Of the channels, which have `channel_size` values each: factors, then terms, then an activation of rows of `row_size` values; each may be null.
    size_t channel_size;
    size_t row_size;
    const float* factors;
    const float* terms;
    void (*activate)(int count, float* to, const float* from);
} atelier_group_norm;

// Rows side by side, each normalised by itself.
typedef struct {
    const float* from;
    float* to;  // may be `from`
    size_t rows;
    size_t length;
    float epsilon;
    const float* factors;  // one for each place in a row; or null
    const float* terms;    // likewise, added then
} atelier_layer_norm;

// to = addend + from * factors + terms, for rows side by side
typedef struct {
    const float* from;
    const float* factors;  // one for each place in a row
    const float* addend;
    const float* terms;  // as the factors; or null
    float* to;           // may be `from` or `addend`
    size_t rows;
    size_t length;
} atelier_modulation;

// ATELIER_OK, ATELIER_NO_MEMORY, or ATELIER_ABORTED; the latter two end the graph.
typedef struct {
    atelier_status (*multiply)(const atelier_product* product, size_t index, size_t count);
    atelier_status (*convolve)(const atelier_convolution* convolution, size_t index, size_t count);
    atelier_status (*attend)(const atelier_attention* attention, size_t index, size_t count);
    atelier_status (*normalise)(const atelier_group_norm* norm, size_t index, size_t count);
    atelier_status (*normalise_rows)(const atelier_layer_norm* norm, size_t index, size_t count);
    atelier_status (*modulate)(const atelier_modulation* modulation, size_t index, size_t count);
    // GELU in its form with a hyperbolic tangent; `to` may be `from`
    atelier_status (*gelu)(const float* from, size_t count, float* to);
    // to[i] = from[i] + constant, or from[i] * constant
    atelier_status (*apply_constant)(bool multiplies, const float* from, size_t count, float constant, float* to);
    // to[i] = from[i] + other[i], or from[i] * other[i]; `to` may be `from` or `other`
    atelier_status (*combine)(bool multiplies, const float* from, const float* other, size_t count, float* to);
    // to[i * times + j] = from[i * stride] for j below `times`; nothing overlaps
    atelier_status (*spread)(const float* from, size_t stride, size_t count, size_t times, float* to);
    // to[column * to_stride + row] = from[row * from_stride + column]; nothing overlaps
    atelier_status (*transpose)(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride);
    // Bytes of the packed weights that would be kept of this operation; 0: none. Read sizes alone.
    size_t (*packed_product_bytes)(const atelier_product* product);
    size_t (*packed_convolution_bytes)(const atelier_convolution* convolution);
    // Packed weights in this memory may be kept until they are forgotten: `limit` bytes of all memory of the same owner, a number of the caller's.
    void (*keep_packed)(const void* start, size_t size, size_t owner, size_t limit);
    void (*forget_packed)(const void* start, size_t size);
    size_t (*packed_total)(void);
} atelier_cpu_kernels;

// From now on the processor computes with these functions what they can, and with ggml's own the rest; null: everything with ggml's own.
// Thread-safe, but not while a job runs: its nodes would be computed by both. `kernels` lives as long as the process.
void atelier_set_cpu_kernels(const atelier_cpu_kernels* kernels);

// Number of nodes that are computed between two checks for a cancel, on devices whose backend has no abort callback. 0: adaptive. `force`
// applies it to the CPU too, for tests on a machine without a GPU.
void atelier_set_compute_hook(int nodes, bool force);

// Reason of the failure of this thread's last call; "" after a success. Valid until this thread's next call.
const char* atelier_last_error(void);
// The allocation that failed where this thread's last call returned ATELIER_NO_MEMORY; false where no device is known.
bool atelier_last_shortage(atelier_shortage* out);
// Address of the server where this thread's last call returned ATELIER_CONNECTION_LOST.
const char* atelier_last_lost_server(void);
// Name of the device of the last ATELIER_DEVICE_LOST on this thread.
const char* atelier_last_lost_device(void);

// Peaks of this thread's last generation or upscaling, successful or not. Writes at most `capacity`; returns their number.
size_t atelier_last_peaks(atelier_device_peak* out, size_t capacity);
// LoRAs of this thread's last generation that succeeded; those of no strength are left out. Writes at most `capacity`; returns their number.
// The paths are valid until this thread's next call.
size_t atelier_last_loras(atelier_lora_use* out, size_t capacity);
// Values of the picture of this thread's last generation or upscaling that are no numbers.
uint64_t atelier_last_missing_numbers(void);
// Bytes that this process has allocated on a device (name of atelier_device_get) now; of the CPU, with those of atelier_kept_bytes.
uint64_t atelier_allocated_bytes(const char* device);

// Bytes of RAM that are kept for the next compute buffers of the CPU. Thread-safe, as are the next two.
uint64_t atelier_kept_bytes(void);
// Gives back what has been kept, and used by nobody, for so many milliseconds; 0: all. Returns the bytes.
uint64_t atelier_release_kept_buffers(uint64_t unused_ms);
// Sets each byte that is kept: for tests of what relies on new memory being zero.
void atelier_fill_kept_buffers(uint8_t value);

size_t atelier_device_count(void);
atelier_status atelier_device_get(size_t index, atelier_device* out);
// Version of the driver of the graphics card with this name of atelier_device_get; empty where it is not known. Writes `capacity` bytes at most, the
// last of them 0.
atelier_status atelier_driver_version(const char* name, char* out, size_t capacity);
// Adds a device of type GPU that the CPU computes, with memory of its own. Before the first context; names are unique. Devices of the same
// `card` share their memory; "" and null are no card. `largest_buffer_bytes`: limit of one buffer, 0: none. `without`: ggml's name of a type of
// weights with which it does not compute; "" and null: none. `speed`: a graph lasts the CPU time that the processor takes, divided by this; above 0, at
// most 1.
atelier_status atelier_simulate_device(const char* name,
                                       uint64_t memory_bytes,
                                       const char* card,
                                       uint64_t largest_buffer_bytes,
                                       const char* without,
                                       double speed);
// Lets a simulated device fail from now on as a lost one.
void atelier_lose_simulated_device(const char* name);

// Operations that are timed. Activations are f32; `size`, from the first on:
typedef enum {
    ATELIER_OPERATION_PRODUCT     = 0,  // features, tokens, depth
    ATELIER_OPERATION_CONVOLUTION = 1,  // side of the image, channels, channels of the result: 3 x 3, without unfolding the image
    ATELIER_OPERATION_ATTENTION   = 2,  // size of a head, tokens, heads
    ATELIER_OPERATION_ADD         = 3,  // values
    ATELIER_OPERATION_NORM        = 4,  // values
    ATELIER_OPERATION_SOFT_MAX    = 5,  // values
    ATELIER_OPERATION_GELU        = 6,  // values
    ATELIER_OPERATION_PERMUTE     = 7,  // values: a copy in another order
    ATELIER_OPERATION_UNFOLDED    = 8,  // a convolution as a product with the unfolded image; sizes as above
    ATELIER_OPERATION_UPLOAD      = 9,  // bytes
    ATELIER_OPERATION_DOWNLOAD    = 10, // bytes
    ATELIER_OPERATION_TRANSPOSE   = 11, // values: a copy of columns as rows
    ATELIER_OPERATION_CONVERT     = 12, // values: a copy as f16
    ATELIER_OPERATION_SILU        = 13, // values
    ATELIER_OPERATION_ALLOCATE    = 14, // bytes: the first use of new memory; of what the processor computes only
    ATELIER_OPERATION_UPLOAD_NEW  = 15, // bytes: a copy to a buffer that is allocated for it
} atelier_operation_kind;

typedef struct {
    int kind;             // atelier_operation_kind
    const char* weights;  // ggml's name of the type of weights, keys and values; null where there are none
    int64_t size[3];      // at least 1; those that an operation does not have are 1
    int nodes;            // operations of the graph, each with weights and a result of its own
} atelier_operation;

// A device that is measured. It is used by one thread at a time.
typedef struct atelier_measurement atelier_measurement;

// Begins to measure a device, with `threads` threads of the processor.
atelier_status atelier_measurement_new(const char* device, int threads, const atelier_callbacks* callbacks, atelier_measurement** out);
void atelier_measurement_free(atelier_measurement* measurement);
// Computes the operation once, then as often as `repeats`, until `limit_seconds` are over. Writes the seconds of each of these; none where the
// device does not compute the operation. Of what the processor computes it is CPU time, where the system tells it: other programs do not count.
atelier_status atelier_measurement_run(atelier_measurement* measurement,
                                       const atelier_operation* operation,
                                       double limit_seconds,
                                       const atelier_callbacks* callbacks,
                                       double* seconds,
                                       size_t repeats,
                                       size_t* count);

// True where this machine has the Vulkan loader. Only in a build with Vulkan.
bool atelier_has_vulkan_loader(void);

// Use and size of a cache of text encodings: 256 MiB at most, least recently used evicted first.
typedef struct {
    uint64_t hits;
    uint64_t misses;  // lookups that ran the text encoder
    uint64_t bytes;
} atelier_conditioning_stats;

// Null where memory is short. Contexts hold their own reference: freeing it does not affect them. All functions accept null, on any thread.
atelier_conditioning_cache* atelier_conditioning_cache_new(void);
void atelier_conditioning_cache_free(atelier_conditioning_cache* cache);
void atelier_conditioning_cache_clear(atelier_conditioning_cache* cache);
atelier_conditioning_stats atelier_conditioning_cache_stats(const atelier_conditioning_cache* cache);

// An entry of a GGUF file's metadata.
typedef struct {
    const char* key;
    const char* value;
} atelier_text_entry;

// Writes a model's file as GGUF, its weights converted to `type` (enum ggml_type; its count: as they are) and by rules as the engine converts
// them when it loads a model: the first pattern that occurs in the engine's name decides. `prefix`: what the engine puts before the names of a
// file of its role. Writes to `*bytes` what the new file takes; without `output` that is all. Progress is told as steps of 1 MiB.
atelier_status atelier_convert(const char* input,
                               const char* prefix,
                               int type,
                               const char* rules,
                               int threads,
                               const atelier_text_entry* entries,
                               size_t entry_count,
                               const char* output,
                               const atelier_callbacks* callbacks,
                               uint64_t* bytes);

// Reads a part of a file as weights are read (file_reader.h), whose first `announced` bytes from `offset` on are what a load will read of it.
// `free_bytes`: memory that is free; 0 asks the system. Returns how many of the bytes did not come through the system's cache; -1 where not all of
// it could be read so, which is always so elsewhere than on Linux.
int64_t atelier_read_file(const char* path, uint64_t offset, void* to, size_t count, uint64_t announced, uint64_t free_bytes);

// Opens a model. `encoders` identifies the text encoders: contexts with an equal one share encodings. Without `conditioning`, which may be
// null, nothing is cached.
atelier_status atelier_context_new(const sd_ctx_params_t* params,
                                   const atelier_conditioning_cache* conditioning,
                                   const char* encoders,
                                   const atelier_callbacks* callbacks,
                                   atelier_context** out);
// Opens a model for dry runs, which predict memory: no weights are read, no device allocates or computes. May be used beside a job of another
// thread.
atelier_status atelier_estimator_new(const sd_ctx_params_t* params, const atelier_callbacks* callbacks, atelier_context** out);
// Predicts the memory of an image: at most `capacity` entries, `*count` of them.
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
                                     size_t* count);
// Work of the estimator's last image. Writes at most `capacity`; returns the number of entries.
size_t atelier_estimator_work(const atelier_context* estimator, atelier_work* out, size_t capacity);
void atelier_context_free(atelier_context* context);
// Sets the limits of the images that follow. Between images only.
atelier_status atelier_context_set_limits(atelier_context* context, const atelier_limits* limits);

// Bytes of a module's weights in the memory of a device.
typedef struct {
    int module;  // atelier_module
    const char* device;
    uint64_t bytes;
} atelier_module_memory;

// What the last image of this thread copied; writes at most `capacity`, returns their number.
size_t atelier_last_copies(atelier_copies* out, size_t capacity);
// Weights of the context in memory, without borrowed modules. Between images only. Writes at most `capacity`; returns their number.
size_t atelier_context_module_memory(const atelier_context* context, atelier_module_memory* out, size_t capacity);
// Frees the weights of these modules; bit n is number n of atelier_module. They are read again when they are next needed. Between images only.
atelier_status atelier_context_release(atelier_context* context, uint32_t modules);
// Replaces text encoder or VAE (bits as above) by those of `lender`. Before the first image. The caller ensures that both contexts are of the
// same files and settings, that `lender` outlives `context`, and that the two do not generate at once.
atelier_status atelier_context_borrow(atelier_context* context, atelier_context* lender, uint32_t modules);
// Reads the weights of these modules (bits as above) now instead of at the first image, except those that stay on disk.
atelier_status atelier_context_preload(atelier_context* context, uint32_t modules, const atelier_callbacks* callbacks);
// True where weights of the context were on a server whose connection has broken since. Between images only.
bool atelier_context_is_lost(const atelier_context* context);
// True where a weight with which the processor computes is stored in one of the known forms (atelier_format), as it will be in memory.
bool atelier_context_has_known_format(const atelier_context* context);
// The name of a tensor of the model's files that no module asks for; null at their end. It lives as long as the context.
const char* atelier_context_unused_tensor(const atelier_context* context, size_t index);

// Value of `preview_every`: previews through the decoder, as large and as often as a fifth of the image's time allows.
#define ATELIER_PREVIEW_ADAPTIVE (-1)

// Generates one image; `params->batch_count` must be 1. `lora_key` identifies the LoRAs: it is part of the key of cached text encodings. The token of an
// embedding identifies its vectors.
// `area`, `steps`, `blend` and `control_steps` may be null; an image that stops early succeeds without data. `rng` draws the start noise, `sampler_rng` what samplers add (`RNG_TYPE_COUNT`: the same one). `preview_every`: steps between two previews; 0: none. The image is freed by atelier_image_free.
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
                                        sd_image_t* out);
// Draws outlines (Canny) in the place of an image of three channels, white on black.
atelier_status atelier_draw_outlines(sd_image_t image);
// Hits and misses of the context's text encodings in the cache.
void atelier_context_conditioning_counts(const atelier_context* context, uint64_t* hits, uint64_t* misses);

// `limit`: maximum bytes of its device that a tile's graph may use, weights included; 0: no limit. `stream`: copy the blocks that do not fit
// piece by piece; needs a limit, and weights in RAM.
atelier_status atelier_upscaler_new(const char* path,
                                    bool direct,
                                    int n_threads,
                                    int tile_size,
                                    const char* backend,
                                    const char* params_backend,
                                    uint64_t limit,
                                    bool stream,
                                    const atelier_callbacks* callbacks,
                                    atelier_upscaler** out);
void atelier_upscaler_free(atelier_upscaler* upscaler);
// Work of an upscaler on one tile of a picture, as a dry run: no weights are read. `tiles`: the number of tiles of the picture. Writes at most
// `capacity` classes of nodes.
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
                                         size_t* count);
atelier_status atelier_upscaler_run(atelier_upscaler* upscaler, sd_image_t image, const atelier_callbacks* callbacks, sd_image_t* out);

void atelier_image_free(sd_image_t* image);

// True in a job that was cancelled.
bool atelier_is_cancelled(void);

// Connects to a server, handshake included: a blocking socket with short time-outs for reading and writing, or -1. `is_stock`: it is ggml's own
// program. Called on any thread of a call; gives up where the job is cancelled.
typedef int64_t (*atelier_dialer)(const char* endpoint, bool* is_stock);
void atelier_rpc_set_dialer(atelier_dialer dial);
// Writes the 32 bytes of a SHA-256.
typedef void (*atelier_hasher)(const uint8_t* data, size_t size, uint8_t* hash);
void atelier_rpc_set_hasher(atelier_hasher hash);
// Time-out of a server's answers; 0: the default.
void atelier_rpc_set_timeout(uint64_t milliseconds);
// Protocol version and length of names, on which both ends must agree.
const char* atelier_rpc_version(void);
// Bytes of a tensor's description in a message.
uint32_t atelier_rpc_tensor_bytes(void);
// Asks a server for what adding it needs.
atelier_status atelier_rpc_connect(const char* endpoint);
// Adds the devices of a server, `host:port`, named RPC0, RPC1... in the order in which they were connected. Does not wait for a server that is
// connected.
atelier_status atelier_rpc_add_server(const char* endpoint);

// Uses a device once, so that its driver has opened and started what it needs.
atelier_status atelier_device_warm_up(const char* name);

// Weights that a lender keeps. All functions may be called on any thread.
typedef struct {
    void* user;
    void (*store)(void* user, const uint8_t* data, size_t size);
    bool (*contains)(void* user, const uint8_t* hash, size_t size);
    // Fills `data` with weights of this SHA-256, or returns false.
    bool (*load)(void* user, const uint8_t* hash, uint8_t* data, size_t size);
} atelier_weights_cache;

// Serves devices to one client after the handshake, and closes the socket. Returns when the client disconnects. `memory_bytes` is what all devices
// lend together. `cache` may be null.
atelier_status atelier_rpc_serve(int64_t socket, const char* const* devices, size_t count, int threads, uint64_t memory_bytes,
                                 const atelier_weights_cache* cache);

// Tokenizers of the engine's text encoders. None needs weights.
typedef enum {
    ATELIER_TOKENIZER_CLIP    = 0,
    ATELIER_TOKENIZER_T5      = 1,
    ATELIER_TOKENIZER_UMT5    = 2,
    ATELIER_TOKENIZER_QWEN2   = 3,
    ATELIER_TOKENIZER_MISTRAL = 4,
    ATELIER_TOKENIZER_GPT_OSS = 5,
    ATELIER_TOKENIZER_GEMMA   = 6,
} atelier_tokenizer_kind;

// What a prompt's brackets mean to an encoder.
typedef enum {
    ATELIER_READING_WEIGHTED   = 0,  // they weigh words
    ATELIER_READING_EMPHASISED = 1,  // those with a number do, the others are letters
    ATELIER_READING_QUOTED     = 2,  // the same, and each letter between quotes is read alone
    ATELIER_READING_PLAIN      = 3,  // letters, without the backslashes before them
    ATELIER_READING_LITERAL    = 4,  // letters
} atelier_reading;

typedef struct atelier_tokenizer atelier_tokenizer;

// A text that stands for so many tokens: the vectors of an embedding.
typedef struct {
    const char* token;
    size_t count;
} atelier_token_word;

typedef struct {
    size_t tokens;
    size_t places;  // the same with those that BREAK and AND leave empty
} atelier_token_counts;

// Reads a vocabulary, which takes up to some seconds and tens of megabytes.
atelier_status atelier_tokenizer_new(int kind, atelier_tokenizer** out);
void atelier_tokenizer_free(atelier_tokenizer* tokenizer);
// Vocabularies in memory that tokenizers have in common, those of open models too: for tests. Thread-safe.
uint64_t atelier_shared_vocabularies(void);
// The tokens of a prompt (`size` bytes of UTF-8), without those that an encoder adds at its begin and end. `chunk`: tokens of a chunk, of which BREAK
// and AND begin another one; 0: they are words. Not for two threads at once.
atelier_status atelier_tokenizer_count(atelier_tokenizer* tokenizer, const char* text, size_t size, int reading, size_t chunk,
                                       const atelier_token_word* tokens, size_t token_count, atelier_token_counts* out);

#ifdef __cplusplus
}
#endif
