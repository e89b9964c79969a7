// Packed copies of weights, which the processor's kernels keep from step to step (crates/kernels/src/packed_weights.rs).
//
// They are kept of the diffusion module's weights alone, while steps are computed: weights do not change then, and no other module uses its own
// more than a few times. Whoever frees or changes weights in RAM says so here.
#pragma once

#include <cstddef>
#include <cstdint>

struct ggml_backend_buffer;
struct ggml_tensor;

namespace atelier {

// Bytes of the packed weights of a node that would be kept; 0: none. Reads sizes alone.
uint64_t packed_bytes(const ggml_tensor* node);

// Addresses of weights.
struct WeightMemory {
    const void* start;
    size_t bytes;
};

// The memory of a buffer in RAM; empty for other buffers.
WeightMemory weight_memory(ggml_backend_buffer* buffer);
// Packed weights in this memory may be kept: `limit` bytes of all memory of one owner.
void keep_packed(const WeightMemory& memory, const void* owner, uint64_t limit);
void forget_packed(const WeightMemory& memory);
// Bytes of what is kept now.
uint64_t packed_total();

}  // namespace atelier

// Called by the patched sources of the engine.
extern "C" {
// True while the thread's job keeps packed weights.
bool atelier_job_keeps_packed(void);
// The buffer holds weights of the module of this tensor, which do not change before atelier_forget_packed.
void atelier_job_keep_packed(ggml_backend_buffer* buffer, const char* tensor_name);
void atelier_forget_packed(ggml_backend_buffer* buffer);
}
