// The operations that follow a node of a graph and change its result where it lies, or alone read it, so that a kernel can do them before the result
// leaves the caches.
#pragma once

#include "ggml.h"
#include "shim.h"

struct ggml_cgraph;

namespace atelier {

// `nodes`: how many nodes after the first are done with it, views between them counted in; 0 where nothing can be.

// After a product or a convolution: constants, another tensor, a ReLU or GELU.
struct SumsFusion {
    atelier_epilogue epilogue = {nullptr, nullptr, 1.0f, false};
    int nodes                 = 0;
};

SumsFusion fusion_of_sums(const ggml_cgraph* graph, int index);

// After a group norm: factors and terms of channels, an activation. After a norm of rows: factors and terms of their places.
struct NormFusion {
    const float* factors = nullptr;
    const float* terms   = nullptr;
    bool has_silu        = false;
    int nodes            = 0;
};

NormFusion fusion_of_norm(const ggml_cgraph* graph, int index);

// From a product with one factor for each place in a row on: a sum that alone reads it, and terms of places, as the engine modulates and gates.
struct ModulationFusion {
    const ggml_tensor* addend = nullptr;
    const ggml_tensor* sum    = nullptr;
    const float* terms        = nullptr;
    int nodes                 = 0;
};

ModulationFusion fusion_of_modulation(const ggml_cgraph* graph, int index);

// The node that alone reads the result of a node with the `nodes` after it that are done with it; null where there are others, or none yet.
const ggml_tensor* only_reader(const ggml_cgraph* graph, int index, int nodes);

}  // namespace atelier
