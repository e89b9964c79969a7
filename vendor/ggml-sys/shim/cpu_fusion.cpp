// Finds operations that can be done with the one before them.
//
// Operations in place are taken: what they leave in memory is the same whether each is computed by itself or all are at once, whoever reads it
// later. Where the allocator gave an operation a place of its own, it stays an operation of its own; but a product that one sum alone reads, which is
// then not written at all.
#include "cpu_fusion.h"

#include <algorithm>

#include "ggml-impl.h"

namespace atelier {

namespace {

// The next node that computes something; the number of nodes where there is none.
int next_of(const ggml_cgraph* graph, int index) {
    do {
        ++index;
    } while (index < graph->n_nodes && ggml_op_is_empty(graph->nodes[index]->op));
    return index;
}

// Walks the nodes after one whose result may be changed in place.
class Follower {
public:
    Follower(const ggml_cgraph* graph, int index) : graph_(graph), index_(index), end_(index), result_(graph->nodes[index]) {
        is_over_ = result_->type != GGML_TYPE_F32 || !ggml_is_contiguous(result_);
        advance();
    }

    // The next node, where it changes the result in place; null where it does not.
    const ggml_tensor* node() const { return is_over_ ? nullptr : graph_->nodes[end_]; }

    // Takes the node and goes to the next.
    void take() {
        taken_ = end_ - index_;
        advance();
    }

    int taken() const { return taken_; }

    const ggml_tensor* result() const { return result_; }

    // True where the tensor is the result, as it is or as a view with other dimensions.
    bool is_result(const ggml_tensor* tensor) const {
        return tensor->data == result_->data && tensor->type == GGML_TYPE_F32 && ggml_is_contiguous(tensor) &&
               ggml_nelements(tensor) == ggml_nelements(result_);
    }

private:
    void advance() {
        if (is_over_) {
            return;
        }
        end_     = next_of(graph_, end_);
        is_over_ = end_ >= graph_->n_nodes || (graph_->nodes[end_]->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 || !is_result(graph_->nodes[end_]);
    }

    const ggml_cgraph* graph_;
    int index_;
    int end_;
    int taken_ = 0;
    bool is_over_;
    const ggml_tensor* result_;
};

// What an addition or multiplication combines the result with; null where the node is none.
const ggml_tensor* other_operand(const Follower& follower, ggml_op op) {
    const ggml_tensor* node = follower.node();
    if (node == nullptr || node->op != op || !follower.is_result(node->src[0]) || node->src[1]->type != GGML_TYPE_F32 ||
        !ggml_is_contiguous(node->src[1])) {
        return nullptr;
    }
    return node->src[1];
}

bool overlaps(const ggml_tensor* one, const ggml_tensor* other) {
    const char* a = static_cast<const char*>(one->data);
    const char* b = static_cast<const char*>(other->data);
    return a < b + ggml_nbytes(other) && b < a + ggml_nbytes(one);
}

// The values of a tensor that has one for each index of `axis` of the result's own dimensions, and nothing else; null where it has not.
const float* constants_of(const ggml_tensor* tensor, const Follower& follower, int axis) {
    const ggml_tensor* node = follower.node();
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (tensor->ne[i] != (i == axis ? follower.result()->ne[axis] : 1)) {
            return nullptr;
        }
    }
    // The node may see the result with other dimensions.
    const bool is_same = node->ne[axis] == follower.result()->ne[axis] && (axis == 0 || ggml_are_same_shape(node, follower.result()));
    return is_same && !overlaps(tensor, node) ? static_cast<const float*>(tensor->data) : nullptr;
}

}  // namespace

SumsFusion fusion_of_sums(const ggml_cgraph* graph, int index) {
    SumsFusion fusion;
    Follower follower(graph, index);
    const int axis = graph->nodes[index]->op == GGML_OP_CONV_2D ? 2 : 0;
    if (const ggml_tensor* term = other_operand(follower, GGML_OP_ADD)) {
        fusion.epilogue.constants = constants_of(term, follower, axis);
        if (fusion.epilogue.constants != nullptr) {
            follower.take();
        }
    }
    if (const ggml_tensor* term = other_operand(follower, GGML_OP_ADD)) {
        if (ggml_are_same_shape(term, follower.node()) && !overlaps(term, follower.node())) {
            fusion.epilogue.addend = static_cast<const float*>(term->data);
            follower.take();
        }
    }
    const ggml_tensor* node = follower.node();
    if (node != nullptr && node->op == GGML_OP_UNARY && ggml_get_unary_op(node) == GGML_UNARY_OP_RELU && follower.is_result(node->src[0])) {
        fusion.epilogue.negative_slope = 0.0f;
        follower.take();
    } else if (node != nullptr && node->op == GGML_OP_LEAKY_RELU && follower.is_result(node->src[0])) {
        fusion.epilogue.negative_slope = ggml_get_op_params_f32(node, 0);
        follower.take();
    } else if (node != nullptr && node->op == GGML_OP_UNARY && ggml_get_unary_op(node) == GGML_UNARY_OP_GELU && follower.is_result(node->src[0])) {
        fusion.epilogue.has_gelu = true;
        follower.take();
    }
    fusion.nodes = follower.taken();
    return fusion;
}

NormFusion fusion_of_norm(const ggml_cgraph* graph, int index) {
    NormFusion fusion;
    Follower follower(graph, index);
    const bool has_groups = graph->nodes[index]->op == GGML_OP_GROUP_NORM;
    const int axis        = has_groups ? 2 : 0;
    // Each follows the one before, as the engine's norms have them.
    if (const ggml_tensor* factors = other_operand(follower, GGML_OP_MUL)) {
        fusion.factors = constants_of(factors, follower, axis);
        if (fusion.factors != nullptr) {
            follower.take();
        }
    }
    if (const ggml_tensor* terms = other_operand(follower, GGML_OP_ADD)) {
        fusion.terms = constants_of(terms, follower, axis);
        if (fusion.terms != nullptr) {
            follower.take();
        }
    }
    const ggml_tensor* node = follower.node();
    if (has_groups && node != nullptr && node->op == GGML_OP_UNARY && ggml_get_unary_op(node) == GGML_UNARY_OP_SILU &&
        follower.is_result(node->src[0]) && ggml_are_same_shape(node, follower.result())) {
        fusion.has_silu = true;
        follower.take();
    }
    fusion.nodes = follower.taken();
    return fusion;
}

ModulationFusion fusion_of_modulation(const ggml_cgraph* graph, int index) {
    const ggml_tensor* product = graph->nodes[index];
    const ggml_tensor* from    = product->src[0];
    const ggml_tensor* factors = product->src[1];
    const int next             = next_of(graph, index);
    // One in place would have changed what others may read.
    if (next >= graph->n_nodes || product->view_src != nullptr || (product->flags & GGML_TENSOR_FLAG_OUTPUT) != 0 ||
        ggml_node_get_use_count(graph, index) != 1) {
        return {};
    }
    const ggml_tensor* sum = graph->nodes[next];
    if (sum->op != GGML_OP_ADD || (sum->flags & GGML_TENSOR_FLAG_COMPUTE) == 0 || (sum->src[0] != product && sum->src[1] != product)) {
        return {};
    }
    ModulationFusion fusion;
    fusion.sum    = sum;
    fusion.addend = sum->src[sum->src[0] == product ? 1 : 0];
    for (const ggml_tensor* tensor : {from, product, fusion.addend, sum}) {
        if (tensor->type != GGML_TYPE_F32 || !ggml_is_contiguous(tensor) || !ggml_are_same_shape(tensor, product)) {
            return {};
        }
    }
    // What was read last by the product may lie where the sum goes.
    for (const ggml_tensor* tensor : {from, fusion.addend}) {
        if (tensor->data != sum->data && overlaps(tensor, sum)) {
            return {};
        }
    }
    if (factors->type != GGML_TYPE_F32 || !ggml_is_contiguous(factors) || factors->ne[0] != product->ne[0] ||
        ggml_nelements(factors) != factors->ne[0] || overlaps(factors, sum)) {
        return {};
    }
    Follower follower(graph, next);
    if (const ggml_tensor* terms = other_operand(follower, GGML_OP_ADD)) {
        fusion.terms = constants_of(terms, follower, 0);
        if (fusion.terms != nullptr) {
            follower.take();
        }
    }
    fusion.nodes = next - index + follower.taken();
    return fusion;
}

const ggml_tensor* only_reader(const ggml_cgraph* graph, int index, int nodes) {
    const int last = index + nodes;
    for (int i = index; i <= last; ++i) {
        // Each but the last is read by the one after it.
        const bool is_view = ggml_op_is_empty(graph->nodes[i]->op);
        if (!is_view && (ggml_node_get_use_count(graph, i) != 1 || (graph->nodes[i]->flags & GGML_TENSOR_FLAG_OUTPUT) != 0)) {
            return nullptr;
        }
    }
    const int reader = next_of(graph, last);
    if (reader >= graph->n_nodes) {
        return nullptr;
    }
    const ggml_tensor* node = graph->nodes[reader];
    const bool reads        = std::find(node->src, node->src + GGML_MAX_SRC, graph->nodes[last]) != node->src + GGML_MAX_SRC;
    return reads && (node->flags & GGML_TENSOR_FLAG_COMPUTE) != 0 ? node : nullptr;
}

}  // namespace atelier
