// Counts the work of graphs, node by node.
#include "graph_work.h"

#include <algorithm>

#include "ggml-impl.h"

namespace atelier {

namespace {

// A product or convolution with fewer rows or columns is narrow: kernels work in blocks.
constexpr int64_t NARROW = 16;
// A product with fewer rows or columns is small, however deep: there is little to do with a weight that is unpacked.
constexpr int64_t LOW = 128;
// Attention with smaller heads is narrow: most of its time goes into the softmax.
constexpr int64_t NARROW_HEAD = 32;
// Upper limits of small and medium nodes, in operations and in bytes.
constexpr uint64_t SMALL_OPERATIONS  = uint64_t(1) << 27;
constexpr uint64_t MEDIUM_OPERATIONS = uint64_t(1) << 32;
constexpr uint64_t SMALL_BYTES       = uint64_t(1) << 20;
constexpr uint64_t MEDIUM_BYTES      = uint64_t(1) << 26;

struct NodeWork {
    atelier_work_kind kind = ATELIER_WORK_COPY;
    ggml_type type         = GGML_TYPE_F32;
    uint64_t operations    = 0;
    bool is_narrow         = false;
    bool is_low            = false;
};

uint64_t values_of(const ggml_tensor* tensor) {
    return static_cast<uint64_t>(ggml_nelements(tensor));
}

// Without the gaps of a view.
uint64_t bytes_of(const ggml_tensor* tensor) {
    return static_cast<uint64_t>(ggml_row_size(tensor->type, tensor->ne[0])) * static_cast<uint64_t>(ggml_nrows(tensor));
}

uint64_t bytes_of_node(const ggml_tensor* node) {
    if (node->op == GGML_OP_GET_ROWS) {
        // As many values are read as are written, not the whole table.
        return 2 * bytes_of(node) + bytes_of(node->src[1]);
    }
    uint64_t bytes = bytes_of(node);
    for (const ggml_tensor* source : node->src) {
        bytes += source == nullptr ? 0 : bytes_of(source);
    }
    return bytes;
}

// A product over an unfolded image (ggml_conv_2d) is a convolution.
bool is_unfolded(const ggml_tensor* tensor) {
    while (tensor != nullptr && ggml_op_is_empty(tensor->op)) {
        tensor = tensor->src[0];
    }
    return tensor != nullptr && (tensor->op == GGML_OP_IM2COL || tensor->op == GGML_OP_IM2COL_3D);
}

NodeWork product(const ggml_tensor* node) {
    const ggml_tensor* left  = node->src[0];
    const ggml_tensor* right = node->src[1];
    NodeWork it;
    it.kind       = ATELIER_WORK_PRODUCT;
    it.type       = left->type;
    it.operations = 2 * static_cast<uint64_t>(left->ne[0]) * values_of(node);
    it.is_narrow  = std::min(node->ne[0], node->ne[1]) < NARROW;
    it.is_low     = std::min(node->ne[0], node->ne[1]) < LOW;
    if (is_unfolded(left) || is_unfolded(right)) {
        it.kind   = ATELIER_WORK_CONVOLUTION;
        it.type   = is_unfolded(left) ? right->type : left->type;
        it.is_low = false;
    }
    return it;
}

// `depth`: products that are added up for a value of the result, or of the source that is spread.
NodeWork convolution(const ggml_tensor* kernel, uint64_t depth, uint64_t values, int64_t channels, int64_t pixels) {
    NodeWork it;
    it.kind       = ATELIER_WORK_CONVOLUTION;
    it.type       = kernel->type;
    it.operations = 2 * depth * values;
    it.is_narrow  = std::min(channels, pixels) < NARROW;
    return it;
}

NodeWork attention(const ggml_tensor* node) {
    const ggml_tensor* queries = node->src[0];
    const ggml_tensor* keys    = node->src[1];
    const ggml_tensor* values  = node->src[2];
    const auto scores          = static_cast<uint64_t>(keys->ne[1] * queries->ne[1] * queries->ne[2] * queries->ne[3]);
    NodeWork it;
    it.kind       = ATELIER_WORK_ATTENTION;
    it.type       = keys->type;
    it.operations = 2 * scores * static_cast<uint64_t>(queries->ne[0] + values->ne[0]);
    it.is_narrow  = std::min(queries->ne[1], keys->ne[1]) < NARROW || queries->ne[0] < NARROW_HEAD;
    return it;
}

NodeWork limited_by_memory(atelier_work_kind kind) {
    NodeWork it;
    it.kind = kind;
    return it;
}

// Activations that ggml's CPU backend computes in vectors (`vec.h`, `vec.cpp`); for the others it calls the C library, or looks a value up.
bool is_vectorised(const ggml_tensor* node) {
    if (node->op == GGML_OP_GLU) {
        return ggml_get_glu_op(node) == GGML_GLU_OP_REGLU || ggml_get_glu_op(node) == GGML_GLU_OP_SWIGLU;
    }
    switch (ggml_get_unary_op(node)) {
        case GGML_UNARY_OP_ABS:
        case GGML_UNARY_OP_SGN:
        case GGML_UNARY_OP_NEG:
        case GGML_UNARY_OP_STEP:
        case GGML_UNARY_OP_RELU:
        case GGML_UNARY_OP_SILU:
            return true;
        default:
            return false;
    }
}

NodeWork work_of(const ggml_tensor* node) {
    const ggml_tensor* kernel = node->src[0];
    switch (node->op) {
        case GGML_OP_MUL_MAT:
        case GGML_OP_MUL_MAT_ID:
            return product(node);
        case GGML_OP_CONV_2D:
            return convolution(kernel, kernel->ne[0] * kernel->ne[1] * kernel->ne[2], values_of(node), node->ne[2], node->ne[0] * node->ne[1]);
        case GGML_OP_CONV_2D_DW:
            return convolution(kernel, kernel->ne[0] * kernel->ne[1], values_of(node), 1, node->ne[0] * node->ne[1]);
        case GGML_OP_CONV_3D: {
            const auto input_channels = ggml_get_op_params_i32(node, 9);
            return convolution(kernel, kernel->ne[0] * kernel->ne[1] * kernel->ne[2] * input_channels, values_of(node),
                               ggml_get_op_params_i32(node, 11), node->ne[0] * node->ne[1] * node->ne[2]);
        }
        case GGML_OP_CONV_TRANSPOSE_2D:
            return convolution(kernel, kernel->ne[0] * kernel->ne[1] * kernel->ne[2], values_of(node->src[1]), kernel->ne[2],
                               node->ne[0] * node->ne[1]);
        case GGML_OP_CONV_TRANSPOSE_1D:
            return convolution(kernel, kernel->ne[0] * kernel->ne[1], values_of(node->src[1]), kernel->ne[1], node->ne[0]);
        case GGML_OP_IM2COL:
        case GGML_OP_IM2COL_3D: {
            // Its product has the operations.
            NodeWork it = limited_by_memory(ATELIER_WORK_CONVOLUTION);
            it.type     = kernel->type;
            return it;
        }
        case GGML_OP_FLASH_ATTN_EXT:
            return attention(node);
        case GGML_OP_NORM:
        case GGML_OP_RMS_NORM:
        case GGML_OP_GROUP_NORM:
        case GGML_OP_L2_NORM:
            return limited_by_memory(ATELIER_WORK_NORMALIZATION);
        case GGML_OP_SOFT_MAX:
        case GGML_OP_LOG:
        case GGML_OP_SIN:
        case GGML_OP_COS:
            return limited_by_memory(ATELIER_WORK_TRANSCENDENTAL);
        case GGML_OP_UNARY:
        case GGML_OP_GLU:
            return limited_by_memory(is_vectorised(node) ? ATELIER_WORK_ELEMENTWISE : ATELIER_WORK_TRANSCENDENTAL);
        case GGML_OP_ADD:
        case GGML_OP_ADD_ID:
        case GGML_OP_ADD1:
        case GGML_OP_ACC:
        case GGML_OP_SUB:
        case GGML_OP_MUL:
        case GGML_OP_DIV:
        case GGML_OP_SQR:
        case GGML_OP_SQRT:
        case GGML_OP_SCALE:
        case GGML_OP_CLAMP:
        case GGML_OP_LEAKY_RELU:
        case GGML_OP_ROPE:
            return limited_by_memory(ATELIER_WORK_ELEMENTWISE);
        default:
            return limited_by_memory(ATELIER_WORK_COPY);
    }
}

atelier_node_size size_of(const NodeWork& work, uint64_t bytes) {
    if (work.is_narrow) {
        return ATELIER_NODE_NARROW;
    }
    const bool has_operations = work.operations > 0;
    const uint64_t amount     = has_operations ? work.operations : bytes;
    if (work.is_low || amount < (has_operations ? SMALL_OPERATIONS : SMALL_BYTES)) {
        return ATELIER_NODE_SMALL;
    }
    return amount < (has_operations ? MEDIUM_OPERATIONS : MEDIUM_BYTES) ? ATELIER_NODE_MEDIUM : ATELIER_NODE_LARGE;
}

}  // namespace

void GraphWork::add_node(const ggml_tensor* node) {
    const NodeWork work  = work_of(node);
    const uint64_t bytes = bytes_of_node(node);
    Amount& amount       = amounts_[{work.kind, work.type, size_of(work, bytes)}];
    ++amount.nodes;
    amount.operations += work.operations;
    amount.bytes += bytes;
}

void GraphWork::add_graph(const ggml_cgraph* graph) {
    ++graphs_;
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor* node = graph->nodes[i];
        if (!ggml_op_is_empty(node->op) && (node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0) {
            add_node(node);
        }
    }
}

std::vector<atelier_work> GraphWork::classes() const {
    std::vector<atelier_work> list;
    for (const auto& [key, amount] : amounts_) {
        atelier_work it = {};
        it.kind         = key[0];
        it.type         = ggml_type_name(static_cast<ggml_type>(key[1]));
        it.size         = key[2];
        it.nodes        = amount.nodes;
        it.operations   = amount.operations;
        it.bytes        = amount.bytes;
        list.push_back(it);
    }
    return list;
}

}  // namespace atelier
