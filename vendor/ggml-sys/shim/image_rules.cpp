// The rules of operations over windows and images (operation_rules.cpp).
#include <algorithm>

#include "borrowed_node.h"

namespace atelier {

namespace {

// Sides of images that are resized: kernels find their places with 32-bit floating-point numbers.
constexpr int64_t MAX_RESIZED_SIDE = 1 << 20;
// Scratch memory of a direct convolution (GGML_IM2COL_WORK_SIZE), in which one patch and its results must fit.
constexpr int64_t CONVOLUTION_SCRATCH_BYTES = 16 << 20;

// Steps at 0 and 1, paddings at 2 and 3, dilations at 4 and 5.
void check_window(const Node& node) {
    node.check_sources(2, 2);
    node.check_steps(0, 2, 1);
    node.check_steps(2, 4, 0);
    node.check_steps(4, 6, 1);
}

}  // namespace

ggml_tensor* convolve(ggml_context* context, const Node& node) {
    check_window(node);
    ggml_tensor* weights = node.source(0);
    ggml_tensor* image   = node.source(1);
    node.check_type(weights, {GGML_TYPE_F32, GGML_TYPE_F16});
    node.check_type(image, {GGML_TYPE_F32});
    node.check_dense(weights);
    const int64_t patch = weights->ne[0] * weights->ne[1] * weights->ne[2];
    node.require(patch * static_cast<int64_t>(ggml_type_size(weights->type)) + weights->ne[3] * static_cast<int64_t>(sizeof(float)) <=
                     CONVOLUTION_SCRATCH_BYTES,
                 "its weights are larger than any of a model");
    ggml_tensor* expected =
        ggml_conv_2d_direct(context, weights, image, node.number(0), node.number(1), node.number(2), node.number(3), node.number(4), node.number(5));
    node.require(expected->ne[0] > 0 && expected->ne[1] > 0, "its sources do not fit each other");
    return expected;
}

ggml_tensor* convolve_depthwise(ggml_context* context, const Node& node) {
    check_window(node);
    ggml_tensor* weights = node.source(0);
    ggml_tensor* image   = node.source(1);
    for (const ggml_tensor* tensor : {weights, image}) {
        node.check_type(tensor, {GGML_TYPE_F32});
        node.check_dense(tensor);
    }
    node.check_dense(node.tensor());
    ggml_tensor* expected =
        ggml_conv_2d_dw_direct(context, weights, image, node.number(0), node.number(1), node.number(2), node.number(3), node.number(4), node.number(5));
    node.require(expected->ne[0] > 0 && expected->ne[1] > 0, "its sources do not fit each other");
    return expected;
}

ggml_tensor* unfold(ggml_context* context, const Node& node) {
    check_window(node);
    ggml_tensor* weights = node.source(0);
    ggml_tensor* image   = node.source(1);
    const bool is_plane  = node.number(6) == 1;
    node.require(is_plane || node.number(6) == 0, "its parameters are not its own");
    node.check_type(node.tensor(), {GGML_TYPE_F32, GGML_TYPE_F16});
    node.check_type(image, {GGML_TYPE_F32, node.tensor()->type});
    node.require(node.tensor()->type == GGML_TYPE_F32 || weights->type == GGML_TYPE_F16, "its types do not fit each other");
    node.check_rows(weights);
    node.check_rows(image);
    // Planes are read as one piece, and found by strides of 31 bits.
    node.require(!is_plane || image->ne[1] == 1 || image->nb[1] == image->nb[0] * static_cast<size_t>(image->ne[0]), "an image's rows do not lie side by side");
    for (int i = 1; i < GGML_MAX_DIMS; ++i) {
        node.require(image->ne[i] == 1 || image->nb[i] <= INT32_MAX, "an image is larger than any of a model");
    }
    return ggml_im2col(context, weights, image, node.number(0), node.number(1), node.number(2), node.number(3), node.number(4), node.number(5), is_plane,
                       node.tensor()->type);
}

ggml_tensor* unfold_volume(ggml_context* context, const Node& node) {
    node.check_sources(2, 2);
    node.check_steps(0, 3, 1);
    node.check_steps(3, 6, 0);
    node.check_steps(6, 9, 1);
    ggml_tensor* weights   = node.source(0);
    ggml_tensor* image     = node.source(1);
    const int32_t channels = node.number(9);
    node.require(channels > 0 && image->ne[3] % channels == 0 && weights->ne[3] % channels == 0, "its sources do not fit each other");
    node.check_type(node.tensor(), {GGML_TYPE_F32, GGML_TYPE_F16});
    node.check_type(image, {GGML_TYPE_F32});
    node.require(node.tensor()->type == GGML_TYPE_F32 || weights->type == GGML_TYPE_F16, "its types do not fit each other");
    node.check_rows(weights);
    node.check_rows(image);
    return ggml_im2col_3d(context, weights, image, channels, node.number(0), node.number(1), node.number(2), node.number(3), node.number(4), node.number(5),
                          node.number(6), node.number(7), node.number(8), node.tensor()->type);
}

ggml_tensor* convolve_transposed(ggml_context* context, const Node& node) {
    node.check_sources(2, 2);
    node.check_steps(0, 1, 1);
    node.check_type(node.source(0), {GGML_TYPE_F32, GGML_TYPE_F16});
    node.check_type(node.source(1), {GGML_TYPE_F32});
    node.check_rows(node.source(0));
    node.check_rows(node.source(1));
    return ggml_conv_transpose_1d(context, node.source(0), node.source(1), node.number(0), node.number(1), node.number(2));
}

ggml_tensor* resize(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    constexpr int32_t FLAGS = GGML_SCALE_FLAG_ALIGN_CORNERS | GGML_SCALE_FLAG_ANTIALIAS;
    const int32_t mode      = node.number(0);
    node.require((mode & ~FLAGS) >= 0 && (mode & ~FLAGS) < GGML_SCALE_MODE_COUNT, "models do not need this operation");
    const int64_t* size = node.tensor()->ne;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        node.require(std::max(size[i], node.source(0)->ne[i]) <= MAX_RESIZED_SIDE, "an image is larger than any of a model");
    }
    return ggml_interpolate(context, node.source(0), size[0], size[1], size[2], size[3], static_cast<uint32_t>(mode));
}

ggml_tensor* pad(ggml_context* context, const Node& node) {
    node.check_sources(1, 1);
    node.check_type(node.source(0), {GGML_TYPE_F32});
    const bool is_circular = node.number(8) == 1;
    node.require(is_circular || node.number(8) == 0, "its parameters are not its own");
    for (int i = 0; i < 2 * GGML_MAX_DIMS; ++i) {
        node.require(node.number(i) >= 0 && node.number(i) <= MAX_TENSOR_VALUES, "its parameters make no sense");
        // Goes round once at most.
        node.require(!is_circular || node.number(i) <= node.source(0)->ne[i / 2], "its parameters make no sense");
    }
    const auto make = is_circular ? ggml_pad_ext_circular : ggml_pad_ext;
    return make(context, node.source(0), node.number(0), node.number(1), node.number(2), node.number(3), node.number(4), node.number(5), node.number(6),
                node.number(7));
}

}  // namespace atelier
