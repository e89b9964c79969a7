// The operations that the engine's models need, each with what its kernels trust.
#include <algorithm>
#include <cstring>

#include "borrowed_node.h"
#include "ggml-cpu.h"

// In ggml-alloc.c, without a header.
extern "C" bool ggml_op_can_inplace(enum ggml_op op);

namespace atelier {

namespace {

// Length of a time embedding.
constexpr int32_t MAX_EMBEDDING = 1 << 20;

using Rebuild = ggml_tensor* (*)(ggml_context*, const Node&);

void check_weights(const Node& node, const ggml_tensor* weights, const ggml_tensor* activations) {
    const ggml_type_traits_cpu* traits = ggml_get_type_traits_cpu(weights->type);
    node.require(traits->vec_dot != nullptr, "it is not computed with this type");
    node.require(activations->type == traits->vec_dot_type ||
                     (activations->type == GGML_TYPE_F32 && ggml_get_type_traits_cpu(traits->vec_dot_type)->from_float != nullptr),
                 "its types do not fit each other");
    node.require(ggml_blck_size(activations->type) == 1 && activations->ne[0] % ggml_blck_size(traits->vec_dot_type) == 0,
                 "its types do not fit each other");
    node.check_rows(weights);
    node.check_rows(activations);
}

void check_rows_by_index(const Node& node, const ggml_tensor* rows) {
    const bool has_blocks = ggml_blck_size(rows->type) > 1;
    node.require(has_blocks ? ggml_get_type_traits(rows->type)->to_float != nullptr
                            : rows->type == GGML_TYPE_I32 || is_float(rows->type),
                 "it is not computed with this type");
    node.check_rows(rows);
}

// The binary operations of one shape, the second repeated to fit the first.
template <ggml_tensor* (*make)(ggml_context*, ggml_tensor*, ggml_tensor*), ggml_tensor* (*make_in_place)(ggml_context*, ggml_tensor*, ggml_tensor*)>
ggml_tensor* combine(ggml_context* context, const Node& node) {
    node.check_sources(2, 2);
    const ggml_tensor* from  = node.source(0);
    const ggml_tensor* other = node.source(1);
    if (ggml_is_quantized(from->type)) {
        node.require(node.tensor()->op == GGML_OP_ADD && other->type == GGML_TYPE_F32 && ggml_are_same_shape(from, other) &&
                         ggml_get_type_traits(from->type)->to_float != nullptr && ggml_get_type_traits_cpu(from->type)->from_float != nullptr,
                     "it is not computed with this type");
        node.check_rows(other);
    } else {
        node.check_type(from, FLOATS);
        node.require(other->type == from->type || other->type == GGML_TYPE_F32, "its types do not fit each other");
    }
    node.check_rows(from);
    node.check_rows(node.tensor());
    return (node.is_in_place() ? make_in_place : make)(context, node.source(0), node.source(1));
}

// One value from one value.
template <ggml_tensor* (*make)(ggml_context*, ggml_tensor*), ggml_tensor* (*make_in_place)(ggml_context*, ggml_tensor*)>
ggml_tensor* map(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    node.check_type(node.source(0), FLOATS);
    node.check_rows(node.source(0));
    node.check_rows(node.tensor());
    return (node.is_in_place() ? make_in_place : make)(context, node.source(0));
}

ggml_tensor* activate(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    // Compared as the number that it is: as one of an enum, any other would be undefined.
    const int32_t kind               = node.number(0);
    static constexpr int32_t KINDS[] = {GGML_UNARY_OP_SILU, GGML_UNARY_OP_GELU, GGML_UNARY_OP_GELU_QUICK, GGML_UNARY_OP_GELU_ERF, GGML_UNARY_OP_RELU,
                                        GGML_UNARY_OP_TANH, GGML_UNARY_OP_SIGMOID, GGML_UNARY_OP_NEG, GGML_UNARY_OP_EXP};
    node.require(std::find(std::begin(KINDS), std::end(KINDS), kind) != std::end(KINDS), "models do not need this operation");
    node.check_type(node.source(0), FLOATS);
    node.check_rows(node.source(0));
    node.check_rows(node.tensor());
    return (node.is_in_place() ? ggml_unary_inplace : ggml_unary)(context, node.source(0), static_cast<ggml_unary_op>(kind));
}

ggml_tensor* gate(ggml_context* context, const Node& node) {
    node.check_sources(1, 2);
    ggml_tensor* from     = node.source(0);
    ggml_tensor* other    = node.source(1);
    const int32_t kind    = node.number(0);
    const bool is_limited = kind == GGML_GLU_OP_SWIGLU_OAI;
    node.require(kind == GGML_GLU_OP_SWIGLU || is_limited, "models do not need this operation");
    node.require(other != nullptr || from->ne[0] % 2 == 0, "its sources do not fit each other");
    node.check_type(from, is_limited ? std::initializer_list<ggml_type>{GGML_TYPE_F32} : std::initializer_list<ggml_type>{GGML_TYPE_F32, GGML_TYPE_F16});
    node.check_even_rows(from);
    node.check_even_rows(node.tensor());
    if (other != nullptr) {
        node.check_even_rows(other);
    }
    if (is_limited) {
        node.require(other != nullptr && node.real(3) >= 0.0f, "a limit makes no sense");
        return ggml_swiglu_oai(context, from, other, node.real(2), node.real(3));
    }
    node.require(node.number(1) == 0 || node.number(1) == 1, "its parameters are not its own");
    return other != nullptr ? ggml_glu_split(context, from, other, GGML_GLU_OP_SWIGLU) : ggml_glu(context, from, GGML_GLU_OP_SWIGLU, node.number(1) == 1);
}

void check_norm(const Node& node) {
    node.check_sources(1, 1);
    node.check_type(node.source(0), {GGML_TYPE_F32});
    node.check_rows(node.source(0));
    node.check_rows(node.tensor());
}

template <ggml_tensor* (*make)(ggml_context*, ggml_tensor*, float), ggml_tensor* (*make_in_place)(ggml_context*, ggml_tensor*, float)>
ggml_tensor* normalise(ggml_context* context, const Node& node) {
    check_norm(node);
    node.require(node.real(0) >= 0.0f, "its parameters make no sense");
    return (node.is_in_place() ? make_in_place : make)(context, node.source(0), node.real(0));
}

ggml_tensor* normalise_groups(ggml_context* context, const Node& node) {
    check_norm(node);
    node.require(node.number(0) > 0 && node.number(0) <= node.source(0)->ne[2], "it has no such number of groups");
    return (node.is_in_place() ? ggml_group_norm_inplace : ggml_group_norm)(context, node.source(0), node.number(0), node.real(1));
}

ggml_tensor* mean(ggml_context* context, const Node& node) {
    check_norm(node);
    return ggml_mean(context, node.source(0));
}

ggml_tensor* scale(ggml_context* context, const Node& node) {
    check_norm(node);
    node.check_even_rows(node.source(0));
    node.check_even_rows(node.tensor());
    return (node.is_in_place() ? ggml_scale_bias_inplace : ggml_scale_bias)(context, node.source(0), node.real(0), node.real(1));
}

ggml_tensor* clamp(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    node.check_type(node.source(0), {GGML_TYPE_F32, GGML_TYPE_F16});
    node.check_even_rows(node.source(0));
    return ggml_clamp(context, node.source(0), node.real(0), node.real(1));
}

ggml_tensor* leaky_relu(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    node.check_type(node.source(0), {GGML_TYPE_F32, GGML_TYPE_F16});
    node.check_even_rows(node.source(0));
    node.check_even_rows(node.tensor());
    return ggml_leaky_relu(context, node.source(0), node.real(0), node.is_in_place());
}

ggml_tensor* repeat(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    node.check_type(node.source(0), {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32});
    node.check_rows(node.source(0));
    const int64_t* size = node.tensor()->ne;
    return ggml_repeat_4d(context, node.source(0), size[0], size[1], size[2], size[3]);
}

ggml_tensor* concat(ggml_context* context, const Node& node) {
    node.check_sources(2, 2);
    node.check_type(node.source(0), {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32});
    return ggml_concat(context, node.source(0), node.source(1), node.number(0));
}

ggml_tensor* multiply(ggml_context* context, const Node& node) {
    node.check_sources(2, 2);
    check_weights(node, node.source(0), node.source(1));
    node.require(node.number(0) == GGML_PREC_DEFAULT || node.number(0) == GGML_PREC_F32, "its parameters are not its own");
    ggml_tensor* expected = ggml_mul_mat(context, node.source(0), node.source(1));
    ggml_mul_mat_set_prec(expected, static_cast<ggml_prec>(node.number(0)));
    return expected;
}

// Indices are looked at when they are there: cpu_kernels.cpp, check_indices.
ggml_tensor* multiply_chosen(ggml_context* context, const Node& node) {
    node.check_sources(3, 3);
    check_weights(node, node.source(0), node.source(1));
    return ggml_mul_mat_id(context, node.source(0), node.source(1), node.source(2));
}

ggml_tensor* add_chosen(ggml_context* context, const Node& node) {
    node.check_sources(3, 3);
    node.check_type(node.source(0), {GGML_TYPE_F32});
    node.check_type(node.source(1), {GGML_TYPE_F32});
    node.check_rows(node.source(0));
    node.check_rows(node.source(1));
    node.require(node.source(2)->ne[2] == 1 && node.source(2)->ne[3] == 1, "its sources do not fit each other");
    return ggml_add_id(context, node.source(0), node.source(1), node.source(2));
}

ggml_tensor* get_rows(ggml_context* context, const Node& node) {
    node.check_sources(2, 2);
    check_rows_by_index(node, node.source(0));
    return ggml_get_rows(context, node.source(0), node.source(1));
}

ggml_tensor* copy(ggml_context* context, const Node& node) {
    node.check_sources(2, 2);
    ggml_tensor* from         = node.source(0);
    ggml_tensor* to           = node.source(1);
    const ggml_tensor* result = node.tensor();
    const bool is_same_shape  = ggml_are_same_shape(from, result);
    const bool has_blocks     = ggml_is_quantized(from->type) || ggml_is_quantized(result->type);
    // Kernels count wrongly between shapes where they go value by value.
    node.require(is_same_shape || (!has_blocks && from->type == result->type && ggml_is_contiguous(from) && ggml_is_contiguous(result)),
                 "its sources do not fit each other");
    if (has_blocks) {
        node.check_rows(from);
        node.require(ggml_is_contiguous(result), "values of its result do not lie side by side");
        node.require(from->type == result->type ||
                         (ggml_is_quantized(from->type) ? result->type == GGML_TYPE_F32 && ggml_get_type_traits(from->type)->to_float != nullptr
                                                        : is_float(from->type) &&
                                                              ggml_get_type_traits_cpu(result->type)->from_float != nullptr),
                     "it is not computed with these types");
    } else {
        const bool is_from_integer = from->type == GGML_TYPE_I32;
        const bool is_to_integer   = result->type == GGML_TYPE_I32;
        node.require(from->type == result->type || (is_from_integer || is_to_integer
                                                        ? from->type == GGML_TYPE_F32 || result->type == GGML_TYPE_F32
                                                        : is_float(from->type) &&
                                                              is_float(result->type)),
                     "it is not computed with these types");
    }
    // A cast names itself as its target.
    return to == result ? ggml_cast(context, from, result->type) : ggml_cpy(context, from, to);
}

ggml_tensor* make_contiguous(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    ggml_tensor* from = node.source(0);
    if (ggml_is_quantized(from->type)) {
        node.check_rows(from);
        node.require(ggml_are_same_shape(from, node.tensor()) || ggml_is_contiguous(from), "its sources do not fit each other");
    }
    const int64_t* size = node.tensor()->ne;
    return ggml_cont_4d(context, from, size[0], size[1], size[2], size[3]);
}

ggml_tensor* reshape(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    const int64_t* size = node.tensor()->ne;
    return ggml_reshape_4d(context, node.source(0), size[0], size[1], size[2], size[3]);
}

ggml_tensor* view(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    const ggml_tensor* result = node.tensor();
    size_t offset;
    std::memcpy(&offset, result->op_params, sizeof(offset));
    // Below what overflows where the offset of a view of a view is added.
    node.require(offset <= ggml_nbytes(node.source(0)), "a view reaches out of what it shows");
    const int64_t* size  = result->ne;
    const size_t* stride = result->nb;
    return ggml_view_4d(context, node.source(0), size[0], size[1], size[2], size[3], stride[1], stride[2], stride[3], offset);
}

ggml_tensor* permute(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    ggml_tensor* from     = node.source(0);
    ggml_tensor* expected = ggml_permute(context, from, node.number(0), node.number(1), node.number(2), node.number(3));
    // The constructor passes strides through an int.
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        expected->nb[node.number(i)] = from->nb[i];
    }
    return expected;
}

ggml_tensor* transpose(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    return ggml_transpose(context, node.source(0));
}

ggml_tensor* soft_max(ggml_context* context, const Node& node) {
    node.check_sources(1, 3);
    ggml_tensor* from  = node.source(0);
    ggml_tensor* sinks = node.source(2);
    node.check_type(from, {GGML_TYPE_F32});
    const auto make       = node.is_in_place() ? ggml_soft_max_ext_inplace : ggml_soft_max_ext;
    ggml_tensor* expected = make(context, from, node.source(1), node.real(0), node.real(1));
    if (sinks != nullptr) {
        node.check_rows(sinks);
        ggml_soft_max_add_sinks(expected, sinks);
    }
    return expected;
}

ggml_tensor* attend(ggml_context* context, const Node& node) {
    node.check_sources(3, 5);
    ggml_tensor* queries = node.source(0);
    ggml_tensor* keys    = node.source(1);
    ggml_tensor* values  = node.source(2);
    ggml_tensor* mask    = node.source(3);
    ggml_tensor* sinks   = node.source(4);
    node.check_type(queries, {GGML_TYPE_F32});
    for (const ggml_tensor* tensor : {keys, values}) {
        node.check_type(tensor, FLOATS);
        node.require(queries->ne[2] % tensor->ne[2] == 0 && queries->ne[3] == tensor->ne[3] && tensor->ne[1] == keys->ne[1],
                     "its sources do not fit each other");
        node.check_rows(tensor);
    }
    node.check_rows(queries);
    if (mask != nullptr) {
        node.require(mask->ne[0] >= keys->ne[1] && mask->ne[1] >= queries->ne[1], "its mask is too small");
        node.check_rows(mask);
    }
    node.require(node.number(3) == GGML_PREC_DEFAULT || node.number(3) == GGML_PREC_F32, "its parameters are not its own");
    ggml_tensor* expected = ggml_flash_attn_ext(context, queries, keys, values, mask, node.real(0), node.real(1), node.real(2));
    ggml_flash_attn_ext_set_prec(expected, static_cast<ggml_prec>(node.number(3)));
    if (sinks != nullptr) {
        node.check_rows(sinks);
        ggml_flash_attn_ext_add_sinks(expected, sinks);
    }
    return expected;
}

ggml_tensor* rotate(ggml_context* context, const Node& node) {
    node.check_sources(2, 3);
    ggml_tensor* from      = node.source(0);
    ggml_tensor* positions = node.source(1);
    ggml_tensor* factors   = node.source(2);
    const int32_t rotated  = node.number(1);
    const int32_t mode     = node.number(2);
    const int64_t size     = from->ne[0];
    node.check_type(from, {GGML_TYPE_F32, GGML_TYPE_F16});
    node.check_rows(from);
    node.check_rows(node.tensor());
    node.check_rows(positions);
    node.require(rotated > 0 && rotated % 2 == 0 && rotated <= size && size % 2 == 0, "it has no such number of dimensions");
    node.require(mode == GGML_ROPE_TYPE_NORMAL || mode == GGML_ROPE_TYPE_NEOX || mode == GGML_ROPE_TYPE_MROPE || mode == GGML_ROPE_TYPE_VISION ||
                     mode == GGML_ROPE_TYPE_IMROPE,
                 "models do not need this operation");
    node.require(mode != GGML_ROPE_TYPE_VISION || rotated == size / 2, "it has no such number of dimensions");
    if (factors != nullptr) {
        node.check_rows(factors);
        // Read for all pairs, also for those that are not rotated.
        node.require(factors->ne[0] >= size / 2, "its sources do not fit each other");
    }
    int sections[GGML_MROPE_SECTIONS];
    int64_t sum = 0;
    for (int i = 0; i < GGML_MROPE_SECTIONS; ++i) {
        sections[i] = node.number(11 + i);
        node.require(sections[i] >= 0, "its parameters make no sense");
        sum += sections[i];
    }
    if ((mode & GGML_ROPE_TYPE_MROPE) == 0) {
        const auto make = node.is_in_place() ? ggml_rope_ext_inplace : ggml_rope_ext;
        return make(context, from, positions, factors, rotated, mode, node.number(4), node.real(5), node.real(6), node.real(7), node.real(8), node.real(9),
                    node.real(10));
    }
    node.require(sum > 0 && sum <= size, "its parameters make no sense");
    const auto make = node.is_in_place() ? ggml_rope_multi_inplace : ggml_rope_multi;
    return make(context, from, positions, factors, rotated, sections, mode, node.number(4), node.real(5), node.real(6), node.real(7), node.real(8),
                node.real(9), node.real(10));
}

ggml_tensor* count_up(ggml_context* context, const Node& node) {
    node.check_sources(0, 0);
    const float steps = (node.real(1) - node.real(0)) / node.real(2);
    node.require(node.real(2) > 0.0f && steps > 0.0f && steps <= static_cast<float>(MAX_TENSOR_VALUES), "its parameters make no sense");
    return ggml_arange(context, node.real(0), node.real(1), node.real(2));
}

ggml_tensor* embed_time(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    node.check_type(node.source(0), {GGML_TYPE_F32});
    node.check_rows(node.source(0));
    node.require(node.number(0) > 0 && node.number(0) <= MAX_EMBEDDING, "its parameters make no sense");
    return ggml_timestep_embedding(context, node.source(0), node.number(0), node.number(1));
}

ggml_tensor* sort(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    node.check_type(node.source(0), {GGML_TYPE_F32});
    node.check_even_rows(node.source(0));
    const int32_t order = node.number(0);
    node.require(order == GGML_SORT_ORDER_ASC || order == GGML_SORT_ORDER_DESC, "its parameters are not its own");
    return ggml_argsort(context, node.source(0), static_cast<ggml_sort_order>(order));
}

struct Rule {
    ggml_op op;
    Rebuild make;
    // Constructors of the others divide by sizes.
    bool may_be_empty;
};

constexpr bool MAY_BE_EMPTY = true;

constexpr Rule RULES[] = {
    {GGML_OP_ADD, combine<ggml_add, ggml_add_inplace>, MAY_BE_EMPTY},
    {GGML_OP_SUB, combine<ggml_sub, ggml_sub_inplace>, MAY_BE_EMPTY},
    {GGML_OP_MUL, combine<ggml_mul, ggml_mul_inplace>, MAY_BE_EMPTY},
    {GGML_OP_DIV, combine<ggml_div, ggml_div_inplace>, MAY_BE_EMPTY},
    {GGML_OP_SQR, map<ggml_sqr, ggml_sqr_inplace>, MAY_BE_EMPTY},
    {GGML_OP_SQRT, map<ggml_sqrt, ggml_sqrt_inplace>, MAY_BE_EMPTY},
    {GGML_OP_LOG, map<ggml_log, ggml_log_inplace>, MAY_BE_EMPTY},
    {GGML_OP_SIN, map<ggml_sin, ggml_sin_inplace>, MAY_BE_EMPTY},
    {GGML_OP_UNARY, activate, MAY_BE_EMPTY},
    {GGML_OP_SCALE, scale, MAY_BE_EMPTY},
    {GGML_OP_NORM, normalise<ggml_norm, ggml_norm_inplace>, MAY_BE_EMPTY},
    {GGML_OP_RMS_NORM, normalise<ggml_rms_norm, ggml_rms_norm_inplace>, MAY_BE_EMPTY},
    {GGML_OP_L2_NORM, normalise<ggml_l2_norm, ggml_l2_norm_inplace>, MAY_BE_EMPTY},
    {GGML_OP_CONCAT, concat, MAY_BE_EMPTY},
    {GGML_OP_CPY, copy, MAY_BE_EMPTY},
    {GGML_OP_CONT, make_contiguous, MAY_BE_EMPTY},
    {GGML_OP_RESHAPE, reshape, MAY_BE_EMPTY},
    {GGML_OP_VIEW, view, MAY_BE_EMPTY},
    {GGML_OP_PERMUTE, permute, MAY_BE_EMPTY},
    {GGML_OP_TRANSPOSE, transpose, MAY_BE_EMPTY},
    {GGML_OP_GROUP_NORM, normalise_groups, false},
    {GGML_OP_MEAN, mean, false},
    {GGML_OP_CLAMP, clamp, false},
    {GGML_OP_LEAKY_RELU, leaky_relu, false},
    {GGML_OP_GLU, gate, false},
    {GGML_OP_REPEAT, repeat, false},
    {GGML_OP_MUL_MAT, multiply, false},
    {GGML_OP_MUL_MAT_ID, multiply_chosen, false},
    {GGML_OP_ADD_ID, add_chosen, false},
    {GGML_OP_GET_ROWS, get_rows, false},
    {GGML_OP_SOFT_MAX, soft_max, false},
    {GGML_OP_FLASH_ATTN_EXT, attend, false},
    {GGML_OP_ROPE, rotate, false},
    {GGML_OP_CONV_2D, convolve, false},
    {GGML_OP_CONV_2D_DW, convolve_depthwise, false},
    {GGML_OP_CONV_TRANSPOSE_1D, convolve_transposed, false},
    {GGML_OP_IM2COL, unfold, false},
    {GGML_OP_IM2COL_3D, unfold_volume, false},
    {GGML_OP_UPSCALE, resize, false},
    {GGML_OP_PAD, pad, false},
    {GGML_OP_ARANGE, count_up, false},
    {GGML_OP_TIMESTEP_EMBEDDING, embed_time, false},
    {GGML_OP_ARGSORT, sort, false},
};

}  // namespace

ggml_tensor* rebuild(ggml_context* context, ggml_tensor* node) {
    const auto* rule = std::find_if(std::begin(RULES), std::end(RULES), [node](const Rule& candidate) { return candidate.op == node->op; });
    require(rule != std::end(RULES), node, "models do not need this operation");
    const auto is_empty = [](const ggml_tensor* tensor) { return tensor != nullptr && ggml_is_empty(tensor); };
    const bool has_empty_source = std::any_of(node->src, node->src + GGML_MAX_SRC, is_empty);
    require(rule->may_be_empty || (!is_empty(node) && !has_empty_source), node, "a source or its result is empty");
    // Of operations with an empty source only this one has a result that is none.
    require(!has_empty_source || is_empty(node) || node->op == GGML_OP_CONCAT, node, "a source is empty");
    return rule->make(context, Node(node));
}

bool may_be_in_place(const ggml_tensor* node) {
    return ggml_op_can_inplace(node->op) || node->view_src != nullptr;
}

const ggml_tensor* indices_of(const ggml_tensor* node, int64_t* rows) {
    switch (node->op) {
        case GGML_OP_GET_ROWS: *rows = node->src[0]->ne[1]; return node->src[1];
        case GGML_OP_ADD_ID: *rows = node->src[1]->ne[1]; return node->src[2];
        case GGML_OP_MUL_MAT_ID: *rows = node->src[0]->ne[2]; return node->src[2];
        default: return nullptr;
    }
}

}  // namespace atelier
