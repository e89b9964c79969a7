// What a lender accepts of a borrower's graph. Everything in it was sent by a stranger.
//
// An operation is computed only where it is one of those that the engine's models need, and its result is the one that ggml's own constructor
// makes of the same sources and parameters. Kernels trust more than constructors check: what they read without looking is a rule of its own here.
#pragma once

#include <cstdint>

#include "job.h"

struct ggml_cgraph;
struct ggml_tensor;

namespace atelier {

// Values of one tensor: kernels count rows and blocks with 32 bits.
constexpr int64_t MAX_TENSOR_VALUES = INT32_MAX - (1 << 16);

// With a sentence that names the operation.
struct Refused : EngineAbort {};

// All of them throw `Refused`.

// Shape, strides and, where the tensor has a buffer, its place there.
void check_tensor(const ggml_tensor* tensor);
// A view lies within what it shows.
void check_view(const ggml_tensor* tensor);
// Shapes, types and parameters of a node; nothing about memory.
void check_operation(ggml_tensor* node);
// All nodes of a graph, whose tensors were checked one by one.
void check_graph(const ggml_cgraph* graph);
// Rows that nodes choose by index, for devices whose kernels do not look; what is in memory now counts, so before each run.
void check_indices(const ggml_cgraph* graph);

// In operation_rules.cpp: makes a node anew in `context` from its sources and parameters, and throws where kernels would trust what is not so.
ggml_tensor* rebuild(struct ggml_context* context, ggml_tensor* node);
// True for an operation whose result may take the place of a source of the same layout.
bool may_be_in_place(const ggml_tensor* node);
// The index tensor of a node that chooses rows by it, and their number; null for other operations.
const ggml_tensor* indices_of(const ggml_tensor* node, int64_t* rows);

[[noreturn]] void refuse(const char* why);
[[noreturn]] void refuse(const ggml_tensor* node, const char* why);
inline void require(bool holds, const ggml_tensor* node, const char* why) {
    if (!holds) {
        refuse(node, why);
    }
}

}  // namespace atelier
