#include "borrowed_graph.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ggml-backend-impl.h"
#include "ggml-backend.h"
#include "ggml-impl.h"
#include "ggml.h"
#include "job.h"

namespace atelier {

namespace {

constexpr uint64_t MAX_STRIDE = UINT32_MAX;

// Bytes at whose multiples values of a type lie: compilers may load them so.
size_t alignment_of(ggml_type type) {
    const size_t size = ggml_type_size(type);
    return ggml_blck_size(type) == 1 ? size : size % 4 == 0 ? 4 : 2;
}

const char* begin_of(const ggml_tensor* tensor) {
    return static_cast<const char*>(tensor->data);
}

bool has_memory(const ggml_tensor* tensor) {
    return tensor->buffer != nullptr || ggml_is_empty(tensor);
}

// True where the elements lie within the buffer.
bool is_within_buffer(const ggml_tensor* tensor) {
    const uint64_t begin = reinterpret_cast<uint64_t>(ggml_backend_buffer_get_base(tensor->buffer));
    const uint64_t size  = ggml_backend_buffer_get_size(tensor->buffer);
    const uint64_t data  = reinterpret_cast<uint64_t>(tensor->data);
    if (data < begin || data - begin > size) {
        return false;
    }
    if (ggml_is_empty(tensor)) {
        return true;
    }
    // Of unsigned 32-bit shapes and strides: a product does not overflow, the sum is bounded at each step.
    const uint64_t left = size - (data - begin);
    uint64_t bytes      = ggml_type_size(tensor->type);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        const uint64_t steps  = static_cast<uint64_t>(i == 0 ? tensor->ne[0] / ggml_blck_size(tensor->type) : tensor->ne[i]) - 1;
        const uint64_t stride = tensor->nb[i];
        if (stride > MAX_STRIDE || steps * stride > left) {
            return false;
        }
        bytes += steps * stride;
        if (bytes > left) {
            return false;
        }
    }
    return true;
}

bool same_layout(const ggml_tensor* one, const ggml_tensor* other) {
    return one->type == other->type && std::equal(one->ne, one->ne + GGML_MAX_DIMS, other->ne) &&
           std::equal(one->nb, one->nb + GGML_MAX_DIMS, other->nb);
}

// True where two tensors may share bytes. Parts of the same rows, as a split matrix has them, share none.
bool shares_bytes(const ggml_tensor* one, const ggml_tensor* other) {
    const char* a = begin_of(one);
    const char* b = begin_of(other);
    if (ggml_is_empty(one) || ggml_is_empty(other) || a >= b + ggml_nbytes(other) || b >= a + ggml_nbytes(one)) {
        return false;
    }
    if (a > b) {
        std::swap(one, other);
        std::swap(a, b);
    }
    const auto row_of = [](const ggml_tensor* tensor) { return ggml_row_size(tensor->type, tensor->ne[0]); };
    const auto is_split = [&](const ggml_tensor* tensor, size_t stride) {
        bool is_multiple = ggml_type_size(tensor->type) == tensor->nb[0];
        for (int i = 1; i < GGML_MAX_DIMS; ++i) {
            is_multiple = is_multiple && (tensor->ne[i] == 1 || tensor->nb[i] % stride == 0);
        }
        return is_multiple;
    };
    const size_t stride = one->nb[1];
    const size_t apart  = stride == 0 ? 0 : static_cast<size_t>(b - a) % stride;
    return !(stride != 0 && is_split(one, stride) && is_split(other, stride) && apart >= row_of(one) && apart + row_of(other) <= stride);
}

// Strides of dimensions with one value are never stepped over, and are sent with 32 bits.
bool same_strides(const ggml_tensor* node, const ggml_tensor* expected) {
    const bool is_empty = ggml_is_empty(node);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        const bool is_stepped = node->ne[i] > 1 && !is_empty;
        if (is_stepped ? node->nb[i] != expected->nb[i] : static_cast<uint32_t>(node->nb[i]) != static_cast<uint32_t>(expected->nb[i])) {
            return false;
        }
    }
    return true;
}

using Context = std::unique_ptr<ggml_context, void (*)(ggml_context*)>;

Context scratch_context() {
    constexpr size_t TENSORS = 4;
    return {ggml_init({TENSORS * ggml_tensor_overhead(), nullptr, true}), ggml_free};
}

void check_rebuilt(ggml_context* context, ggml_tensor* node) {
    ggml_reset(context);
    ggml_tensor* expected = nullptr;
    try {
        expected = rebuild(context, node);
    } catch (const Refused&) {
        throw;
    } catch (const EngineAbort&) {
        // An assert of the constructor's.
        refuse(node, "its sources do not fit each other");
    }
    require(node->type == expected->type, node, "its result has a type that it does not give");
    require(std::equal(node->ne, node->ne + GGML_MAX_DIMS, expected->ne), node, "its result has a shape that its sources do not give");
    require(same_strides(node, expected), node, "its result has strides that it does not give");
    require(std::memcmp(node->op_params, expected->op_params, sizeof(node->op_params)) == 0, node, "its parameters are not its own");
    require(node->view_src == expected->view_src && (node->view_src == nullptr || node->view_offs == expected->view_offs), node,
            "its result is a view of something else");
    require(std::equal(node->src, node->src + GGML_MAX_SRC, expected->src) || (node->op == GGML_OP_CPY && node->src[1] == node), node,
            "it has sources that it does not read");
}

void check_places(const ggml_tensor* node) {
    require(has_memory(node), node, "its result has no place");
    for (const ggml_tensor* source : node->src) {
        if (source == nullptr) {
            continue;
        }
        require(has_memory(source), node, "a source has no place");
        const bool is_target = node->op == GGML_OP_CPY && source == node->src[1];
        if (ggml_op_is_empty(node->op) || is_target || !shares_bytes(node, source)) {
            continue;
        }
        const bool is_same = node->data == source->data && same_layout(node, source);
        require(is_same && may_be_in_place(node), node, "its result lies over a source");
    }
}

}  // namespace

void refuse(const ggml_tensor* node, const char* why) {
    const auto kind      = static_cast<uint32_t>(node->op_params[0]);
    const bool is_named  = node->op == GGML_OP_UNARY ? kind < GGML_UNARY_OP_COUNT : node->op != GGML_OP_GLU || kind < GGML_GLU_OP_COUNT;
    const std::string op = node->op == GGML_OP_NONE ? "" : std::string(is_named ? ggml_op_desc(node) : ggml_op_name(node->op)) + ": ";
    refuse((op + why).c_str());
}

void refuse(const char* why) {
    Refused refused;
    refused.message = std::string("what a borrower sent was refused: ") + why;
    throw refused;
}

void check_tensor(const ggml_tensor* tensor) {
    const int64_t block = ggml_blck_size(tensor->type);
    int64_t values      = 1;
    for (int64_t size : tensor->ne) {
        require(size >= 0 && size <= MAX_TENSOR_VALUES, tensor, "a tensor is larger than any of a model");
        // Empty ones too: kernels multiply the other dimensions.
        values *= std::max<int64_t>(size, 1);
        require(values <= MAX_TENSOR_VALUES, tensor, "a tensor is larger than any of a model");
    }
    require(tensor->ne[0] % block == 0, tensor, "a row is no whole number of blocks");
    require(block == 1 || tensor->nb[0] == ggml_type_size(tensor->type), tensor, "blocks do not lie side by side");
    if (tensor->buffer == nullptr) {
        return;
    }
    require(is_within_buffer(tensor), tensor, "a tensor reaches out of its buffer");
    const size_t alignment = alignment_of(tensor->type);
    bool is_aligned        = reinterpret_cast<uint64_t>(tensor->data) % alignment == 0;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        const size_t unit = block == 1 ? alignment : ggml_type_size(tensor->type);
        is_aligned        = is_aligned && (tensor->ne[i] <= 1 || (tensor->nb[i] != 0 && tensor->nb[i] % unit == 0));
    }
    require(is_aligned, tensor, "values do not lie where their type lies");
}

void check_view(const ggml_tensor* tensor) {
    const ggml_tensor* whole = tensor->view_src;
    if (whole == nullptr) {
        return;
    }
    require(whole->view_src == nullptr && whole != tensor, tensor, "a view is of another view");
    require(tensor->buffer == whole->buffer, tensor, "a view lies in another buffer");
    if (tensor->buffer == nullptr) {
        return;
    }
    require(begin_of(tensor) == begin_of(whole) + tensor->view_offs, tensor, "a view lies elsewhere than it says");
    require(tensor->view_offs <= ggml_nbytes(whole) && ggml_nbytes(tensor) <= ggml_nbytes(whole) - tensor->view_offs, tensor,
            "a view reaches out of what it shows");
}

void check_operation(ggml_tensor* node) {
    const Context context = scratch_context();
    check_rebuilt(context.get(), node);
}

void check_graph(const ggml_cgraph* graph) {
    const Context context = scratch_context();
    for (int i = 0; i < graph->n_nodes; ++i) {
        ggml_tensor* node = graph->nodes[i];
        if (node->op == GGML_OP_NONE) {
            continue;
        }
        check_rebuilt(context.get(), node);
        check_places(node);
    }
}

void check_indices(const ggml_cgraph* graph) {
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor* node = graph->nodes[i];
        int64_t rows                = 0;
        const ggml_tensor* indices  = indices_of(node, &rows);
        if (indices == nullptr || indices->buffer == nullptr || ggml_backend_buffer_is_host(indices->buffer)) {
            continue;
        }
        const ggml_tensor* whole = indices->view_src != nullptr ? indices->view_src : indices;
        bool is_sorted           = false;
        for (int k = 0; k < graph->n_nodes; ++k) {
            const ggml_tensor* writer = graph->nodes[k];
            if (ggml_op_is_empty(writer->op) || !shares_bytes(writer, indices)) {
                continue;
            }
            // Places in rows that are as long as there are rows to choose from.
            is_sorted = writer == whole && writer->op == GGML_OP_ARGSORT && writer->ne[0] <= rows && k < i;
            require(is_sorted, node, "its indices are computed");
        }
        if (is_sorted) {
            continue;
        }
        std::vector<char> bytes(ggml_nbytes(indices));
        ggml_backend_tensor_get(indices, bytes.data(), 0, bytes.size());
        for (int64_t at = 0; at < ggml_nelements(indices); ++at) {
            int64_t place[GGML_MAX_DIMS];
            ggml_unravel_index(indices, at, &place[0], &place[1], &place[2], &place[3]);
            size_t offset = 0;
            for (int axis = 0; axis < GGML_MAX_DIMS; ++axis) {
                offset += place[axis] * indices->nb[axis];
            }
            int32_t index;
            std::memcpy(&index, bytes.data() + offset, sizeof(index));
            require(index >= 0 && index < rows, node, "an index is beyond the last row");
        }
    }
}

}  // namespace atelier
