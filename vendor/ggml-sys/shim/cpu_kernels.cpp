// Hands operations of the CPU backend to the kernels that Rust has registered.
//
// ggml asks its "extra buffer types" before each operation whether one of them computes it, whatever buffer the tensors are in. Here is one more,
// which never holds a tensor. It is the last, so that types with a layout of their own come first. What it does not take, ggml computes.
// Where ggml looks for operations to compute at once (`ggml_cpu_try_fuse_ops`), it asks here first.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>

#include "cpu_fusion.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu-impl.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "job.h"
#include "packed_weights.h"
#include "shim.h"
#include "traits.h"
#include "vec.h"

namespace atelier {

namespace {

std::atomic<const atelier_cpu_kernels*> registered{nullptr};

// Fewer rows of activations are faster by ggml's own products: unpacking the weights is most of the work then.
constexpr int64_t MIN_TOKENS = 12;
// Blocks of quantised weights must fit the depth that the kernels take at once.
constexpr int64_t DEPTH_UNIT = 256;
// Shorter rows with one constant are faster in ggml's loop.
constexpr int64_t MIN_CONSTANT_ROW = 16;
// Fewer neighbours are not worth a call.
constexpr int64_t MIN_RUN = 16;

// The matrix in the first two dimensions of `tensor`, from `offset` bytes on; false where its values are not side by side or not readable.
bool rows_of(const ggml_tensor* tensor, size_t offset, atelier_rows* out) {
    const ggml_type_traits* traits = ggml_get_type_traits(tensor->type);
    // A tensor with `extra` has the layout of another buffer type.
    if (tensor->nb[0] != traits->type_size || tensor->extra != nullptr) {
        return false;
    }
    *out = {static_cast<const char*>(tensor->data) + offset, tensor->nb[1],      ATELIER_VALUES_BLOCKS, format_of(tensor->type),
            static_cast<size_t>(traits->blck_size),          traits->type_size, traits->to_float};
    switch (tensor->type) {
        case GGML_TYPE_F32: out->values = ATELIER_VALUES_F32; return true;
        case GGML_TYPE_F16: out->values = ATELIER_VALUES_F16; return true;
        case GGML_TYPE_BF16: out->values = ATELIER_VALUES_BF16; return true;
        default: return ggml_is_quantized(tensor->type) && traits->to_float != nullptr && DEPTH_UNIT % traits->blck_size == 0;
    }
}

bool has_f32_rows(const ggml_tensor* tensor) {
    return tensor->type == GGML_TYPE_F32 && tensor->nb[0] == sizeof(float);
}

float* floats_at(const ggml_tensor* tensor, int64_t i1, int64_t i2, int64_t i3) {
    return reinterpret_cast<float*>(static_cast<char*>(tensor->data) + i1 * tensor->nb[1] + i2 * tensor->nb[2] + i3 * tensor->nb[3]);
}

// A kernel that failed ends its graph.
void check_done(atelier_status status) {
    if (status == ATELIER_NO_MEMORY) {
        throw std::bad_alloc();
    }
    if (status != ATELIER_OK) {
        throw EngineAbort{"a kernel of the processor failed"};
    }
}

constexpr atelier_epilogue NO_EPILOGUE = {nullptr, nullptr, 1.0f, false};

// The epilogue of the part of a result that is `values` values further on. Constants are the same for each part.
atelier_epilogue moved(atelier_epilogue epilogue, ptrdiff_t values) {
    if (epilogue.addend != nullptr) {
        epilogue.addend += values;
    }
    return epilogue;
}

// One column of each of many matrices, all to be multiplied by the same weights: one matrix of as many columns, where the weights are unpacked once.
// Chroma's approximator has its steps so.
bool are_columns_of_one(const ggml_tensor* weights, const ggml_tensor* activations) {
    return activations->ne[1] == 1 && activations->ne[3] == 1 && weights->ne[2] == 1 && weights->ne[3] == 1;
}

bool is_folded_product(const ggml_tensor* out) {
    return are_columns_of_one(out->src[0], out->src[1]) && ggml_is_contiguous(out);
}

// The sizes of a product, and its weights; false where the kernels do not compute it.
bool product_of(const ggml_tensor* out, atelier_product* product) {
    const ggml_tensor* weights     = out->src[0];
    const ggml_tensor* activations = out->src[1];
    const int64_t tokens           = is_folded_product(out) ? activations->ne[2] : activations->ne[1];
    if (tokens < MIN_TOKENS || !has_f32_rows(activations) || !has_f32_rows(out) || out->nb[1] % sizeof(float) != 0 ||
        ggml_get_op_params_i32(out, 1) == GGML_HINT_SRC0_IS_HADAMARD || !rows_of(weights, 0, &product->weights)) {
        return false;
    }
    product->out_stride = out->nb[1] / sizeof(float);
    product->tokens     = tokens;
    product->features   = weights->ne[1];
    product->depth      = weights->ne[0];
    // ggml's own product says what it lacks.
    return activations->ne[2] >= weights->ne[2] && activations->ne[3] >= weights->ne[3];
}

bool multiply(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out, const atelier_epilogue& epilogue = NO_EPILOGUE) {
    const ggml_tensor* weights     = out->src[0];
    const ggml_tensor* activations = out->src[1];
    atelier_product product        = {};
    const bool is_folded           = is_folded_product(out);
    if (!product_of(out, &product)) {
        return false;
    }
    for (int64_t i3 = 0; i3 < out->ne[3]; ++i3) {
        for (int64_t i2 = 0; i2 < (is_folded ? 1 : out->ne[2]); ++i2) {
            const int64_t w2 = i2 / (activations->ne[2] / weights->ne[2]);
            const int64_t w3 = i3 / (activations->ne[3] / weights->ne[3]);
            rows_of(weights, w2 * weights->nb[2] + w3 * weights->nb[3], &product.weights);
            if (!rows_of(activations, i2 * activations->nb[2] + i3 * activations->nb[3], &product.activations)) {
                return false;
            }
            if (is_folded) {
                product.activations.stride = activations->nb[2];
            }
            product.out      = floats_at(out, 0, i2, i3);
            product.epilogue = moved(epilogue, product.out - floats_at(out, 0, 0, 0));
            check_done(kernels.multiply(&product, params.ith, params.nth));
        }
    }
    return true;
}

// True for a convolution that the kernels compute.
bool is_known_convolution(const ggml_tensor* node) {
    if (node->op != GGML_OP_CONV_2D) {
        return false;
    }
    const ggml_tensor* weights = node->src[0];
    const ggml_tensor* image   = node->src[1];
    const bool is_known_type   = weights->type == GGML_TYPE_F32 || weights->type == GGML_TYPE_F16;
    atelier_rows rows          = {};
    if (!is_known_type || image->type != GGML_TYPE_F32 || node->type != GGML_TYPE_F32 || !ggml_is_contiguous(weights) ||
        !ggml_is_contiguous(image) || !ggml_is_contiguous(node) || !rows_of(weights, 0, &rows)) {
        return false;
    }
    const int32_t* sizes = node->op_params;
    return std::min(sizes[0], sizes[1]) > 0 && std::min(sizes[2], sizes[3]) >= 0 && std::min(sizes[4], sizes[5]) > 0;
}

// True where all weights of a known convolution are zero, so that its image does not matter.
bool is_without_weights(const ggml_tensor* convolution) {
    const ggml_tensor* weights = convolution->src[0];
    const auto is_zero         = [](auto bits) { return static_cast<decltype(bits)>(bits << 1) == 0; };
    const int64_t count        = ggml_nelements(weights);
    if (weights->type == GGML_TYPE_F16) {
        const auto* values = static_cast<const uint16_t*>(weights->data);
        return std::all_of(values, values + count, is_zero);
    }
    const auto* values = static_cast<const uint32_t*>(weights->data);
    return std::all_of(values, values + count, is_zero);
}

// The sizes of a known convolution, and its weights.
atelier_convolution convolution_of(const ggml_tensor* out) {
    const ggml_tensor* weights      = out->src[0];
    const ggml_tensor* image        = out->src[1];
    atelier_convolution convolution = {};
    rows_of(weights, 0, &convolution.weights);
    const int32_t* sizes       = out->op_params;
    convolution.weights.stride = weights->nb[3];
    convolution.width          = image->ne[0];
    convolution.height         = image->ne[1];
    convolution.channels       = image->ne[2];
    convolution.out_channels   = weights->ne[3];
    for (int axis = 0; axis < 2; ++axis) {
        convolution.kernel[axis]   = weights->ne[axis];
        convolution.stride[axis]   = sizes[axis];
        convolution.padding[axis]  = sizes[2 + axis];
        convolution.dilation[axis] = sizes[4 + axis];
        convolution.out_size[axis] = out->ne[axis];
    }
    return convolution;
}

bool convolve(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out, const atelier_epilogue& epilogue = NO_EPILOGUE) {
    const ggml_tensor* image = out->src[1];
    if (!is_known_convolution(out)) {
        return false;
    }
    atelier_convolution convolution = convolution_of(out);
    for (int64_t i3 = 0; i3 < out->ne[3]; ++i3) {
        convolution.image    = floats_at(image, 0, 0, i3);
        convolution.out      = floats_at(out, 0, 0, i3);
        convolution.epilogue = moved(epilogue, convolution.out - floats_at(out, 0, 0, 0));
        check_done(kernels.convolve(&convolution, params.ith, params.nth));
    }
    return true;
}

bool attend(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* queries = out->src[0];
    const ggml_tensor* keys    = out->src[1];
    const ggml_tensor* values  = out->src[2];
    const ggml_tensor* mask    = out->src[3];
    const ggml_tensor* sinks   = out->src[4];
    float settings[3];  // scale, slope of positions, cap of scores
    std::memcpy(settings, out->op_params, sizeof(settings));
    const bool is_mask_known = mask == nullptr || (mask->type == GGML_TYPE_F16 && mask->nb[0] == sizeof(ggml_fp16_t) && mask->ne[1] >= queries->ne[1]);
    if (settings[1] != 0.0f || settings[2] != 0.0f || sinks != nullptr || !is_mask_known || !has_f32_rows(queries) || !has_f32_rows(out) ||
        queries->ne[1] < MIN_TOKENS || out->nb[1] % sizeof(float) != 0 || out->nb[2] % sizeof(float) != 0 || keys->ne[2] != values->ne[2]) {
        return false;
    }
    // Batches are divided by; ggml's own attention says what they lack.
    if (queries->ne[3] < keys->ne[3] || queries->ne[3] < values->ne[3]) {
        return false;
    }
    atelier_attention attention = {};
    attention.query_head_stride = queries->nb[2];
    attention.key_head_stride   = keys->nb[2];
    attention.value_head_stride = values->nb[2];
    attention.out_stride        = out->nb[2] / sizeof(float);
    attention.out_head_stride   = out->nb[1] / sizeof(float);
    attention.scale             = settings[0];
    attention.heads             = queries->ne[2];
    attention.key_heads         = keys->ne[2];
    attention.query_count       = queries->ne[1];
    attention.key_count         = keys->ne[1];
    attention.key_size          = keys->ne[0];
    attention.value_size        = values->ne[0];
    if (mask != nullptr) {
        // One for all heads, or one for each.
        if (mask->ne[2] != 1 && mask->ne[2] != queries->ne[2]) {
            return false;
        }
        attention.mask_stride      = mask->nb[1];
        attention.mask_head_stride = mask->ne[2] == 1 ? 0 : mask->nb[2];
    }
    for (int64_t i3 = 0; i3 < queries->ne[3]; ++i3) {
        const int64_t k3 = i3 / (queries->ne[3] / keys->ne[3]);
        const int64_t v3 = i3 / (queries->ne[3] / values->ne[3]);
        if (!rows_of(queries, i3 * queries->nb[3], &attention.queries) || !rows_of(keys, k3 * keys->nb[3], &attention.keys) ||
            !rows_of(values, v3 * values->nb[3], &attention.values)) {
            return false;
        }
        // Columns of values are taken a panel at a time, which a block would not end with.
        if (attention.values.values == ATELIER_VALUES_BLOCKS) {
            return false;
        }
        attention.mask = mask == nullptr ? nullptr : static_cast<const char*>(mask->data) + (i3 % mask->ne[3]) * mask->nb[3];
        attention.out  = floats_at(out, 0, 0, i3);
        check_done(kernels.attend(&attention, params.ith, params.nth));
    }
    return true;
}

bool normalise(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out, const NormFusion& fusion = {}) {
    const ggml_tensor* image = out->src[0];
    const int32_t groups     = ggml_get_op_params_i32(out, 0);
    if (groups <= 0 || image->type != GGML_TYPE_F32 || !ggml_is_contiguous(image) || !ggml_is_contiguous(out)) {
        return false;
    }
    atelier_group_norm norm = {};
    const int64_t plane     = image->ne[0] * image->ne[1];
    norm.group_size         = (image->ne[2] + groups - 1) / groups * plane;
    norm.total              = image->ne[2] * plane;
    norm.epsilon            = ggml_get_op_params_f32(out, 1);
    norm.channel_size       = plane;
    norm.row_size           = image->ne[0];
    norm.factors            = fusion.factors;
    norm.terms              = fusion.terms;
    norm.activate           = fusion.has_silu ? ggml_vec_silu_f32 : nullptr;
    for (int64_t i3 = 0; i3 < image->ne[3]; ++i3) {
        norm.from = floats_at(image, 0, 0, i3);
        norm.to   = floats_at(out, 0, 0, i3);
        check_done(kernels.normalise(&norm, params.ith, params.nth));
    }
    return true;
}

// Addition of, or multiplication by, a tensor with one value for each row: the bias of a convolution, for which ggml loops value by value.
bool apply_constants(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* from      = out->src[0];
    const ggml_tensor* constants = out->src[1];
    if (constants->ne[0] != 1 || from->ne[0] < MIN_CONSTANT_ROW || constants->type != GGML_TYPE_F32 || !has_f32_rows(from) || !has_f32_rows(out)) {
        return false;
    }
    // A plane with one constant is one row.
    const bool is_plane = constants->ne[1] == 1 && from->nb[1] == from->ne[0] * sizeof(float) && out->nb[1] == from->nb[1];
    const int64_t rows  = is_plane ? 1 : from->ne[1];
    const int64_t count = is_plane ? from->ne[0] * from->ne[1] : from->ne[0];
    const int64_t total = rows * from->ne[2] * from->ne[3];
    for (int64_t row = total * params.ith / params.nth; row < total * (params.ith + 1) / params.nth; ++row) {
        const int64_t i1     = row % rows;
        const int64_t i2     = row / rows % from->ne[2];
        const int64_t i3     = row / rows / from->ne[2];
        const float constant = *floats_at(constants, i1 % constants->ne[1], i2 % constants->ne[2], i3 % constants->ne[3]);
        check_done(kernels.apply_constant(out->op == GGML_OP_MUL, floats_at(from, i1, i2, i3), count, constant, floats_at(out, i1, i2, i3)));
    }
    return true;
}

// A part of `total` values, in order, that one of the threads computes.
struct Share {
    int64_t begin;
    int64_t end;
};

Share share_of(int64_t total, const ggml_compute_params& params) {
    return {total * params.ith / params.nth, total * (params.ith + 1) / params.nth};
}

bool is_f32_contiguous(const ggml_tensor* tensor) {
    return tensor->type == GGML_TYPE_F32 && ggml_is_contiguous(tensor);
}

// True where `part` has the leading dimensions of `whole` and 1 in the others, so that it repeats in memory.
bool repeats_in(const ggml_tensor* part, const ggml_tensor* whole) {
    int axis = 0;
    while (axis < GGML_MAX_DIMS && part->ne[axis] == whole->ne[axis]) {
        ++axis;
    }
    return std::all_of(part->ne + axis, part->ne + GGML_MAX_DIMS, [](int64_t size) { return size == 1; });
}

// Addition or multiplication of tensors whose values lie in the same order. ggml goes row by row, which takes long where rows are short: those of
// rotary embeddings have two values.
bool combine(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* from  = out->src[0];
    const ggml_tensor* other = out->src[1];
    const int64_t period     = ggml_nelements(other);
    if (period < MIN_RUN || !is_f32_contiguous(from) || !is_f32_contiguous(other) || !is_f32_contiguous(out) || !repeats_in(other, from)) {
        return false;
    }
    auto [begin, end] = share_of(ggml_nelements(out), params);
    while (begin < end) {
        const int64_t at    = begin % period;
        const int64_t count = std::min(period - at, end - begin);
        check_done(kernels.combine(out->op == GGML_OP_MUL, floats_at(from, 0, 0, 0) + begin, floats_at(other, 0, 0, 0) + at, count, floats_at(out, 0, 0, 0) + begin));
        begin += count;
    }
    return true;
}

// Normalisation of rows, with what follows it.
bool normalise_rows(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out, const NormFusion& fusion = {}) {
    const ggml_tensor* from = out->src[0];
    if (from->ne[0] < MIN_RUN || !is_f32_contiguous(from) || !is_f32_contiguous(out)) {
        return false;
    }
    atelier_layer_norm norm = {};
    norm.from               = floats_at(from, 0, 0, 0);
    norm.to                 = floats_at(out, 0, 0, 0);
    norm.rows               = ggml_nrows(out);
    norm.length             = out->ne[0];
    norm.epsilon            = ggml_get_op_params_f32(out, 0);
    norm.factors            = fusion.factors;
    norm.terms              = fusion.terms;
    check_done(kernels.normalise_rows(&norm, params.ith, params.nth));
    return true;
}

// A product with one factor for each place in a row, with the sum that follows it.
bool modulate(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* product, const ModulationFusion& fusion) {
    if (product->ne[0] < MIN_RUN) {
        return false;
    }
    atelier_modulation modulation = {};
    modulation.from               = floats_at(product->src[0], 0, 0, 0);
    modulation.factors            = floats_at(product->src[1], 0, 0, 0);
    modulation.addend             = floats_at(fusion.addend, 0, 0, 0);
    modulation.terms              = fusion.terms;
    modulation.to                 = floats_at(fusion.sum, 0, 0, 0);
    modulation.rows               = ggml_nrows(product);
    modulation.length             = product->ne[0];
    check_done(kernels.modulate(&modulation, params.ith, params.nth));
    return true;
}

// GELU, for which ggml looks up each value in a table.
bool activate(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* from = out->src[0];
    if (ggml_get_unary_op(out) != GGML_UNARY_OP_GELU || !is_f32_contiguous(from) || !is_f32_contiguous(out)) {
        return false;
    }
    const auto [begin, end] = share_of(ggml_nelements(out), params);
    check_done(kernels.gelu(floats_at(from, 0, 0, 0) + begin, end - begin, floats_at(out, 0, 0, 0) + begin));
    return true;
}

// Repetition of single values, for which ggml copies one at a time.
bool repeat(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* from = out->src[0];
    if (from->ne[0] != 1 || !is_f32_contiguous(from) || !is_f32_contiguous(out) || !std::equal(from->ne + 1, from->ne + GGML_MAX_DIMS, out->ne + 1)) {
        return false;
    }
    const auto [begin, end] = share_of(ggml_nelements(from), params);
    check_done(kernels.spread(floats_at(from, 0, 0, 0) + begin, 1, end - begin, out->ne[0], floats_at(out, 0, 0, 0) + begin * out->ne[0]));
    return true;
}

// Copy of a tensor whose dimensions are permuted into one that is contiguous. Dimensions that follow one another are one.
bool copy_permuted(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* from = out->src[0];
    if (from->type != GGML_TYPE_F32 || !is_f32_contiguous(out) || !ggml_are_same_shape(from, out) || ggml_is_contiguous(from)) {
        return false;
    }
    int64_t sizes[GGML_MAX_DIMS];
    size_t strides[GGML_MAX_DIMS];
    int axes = 0;
    for (int axis = 0; axis < GGML_MAX_DIMS; ++axis) {
        if (from->nb[axis] % sizeof(float) != 0) {
            return false;
        }
        const size_t stride = from->nb[axis] / sizeof(float);
        if (from->ne[axis] == 1) {
            continue;
        }
        if (axes > 0 && strides[axes - 1] * sizes[axes - 1] == stride) {
            sizes[axes - 1] *= from->ne[axis];
        } else {
            sizes[axes]     = from->ne[axis];
            strides[axes++] = stride;
        }
    }
    // Whole rows are copied at memory's speed by ggml too.
    if (axes == 0 || strides[0] == 1 || sizes[0] < MIN_RUN) {
        return false;
    }
    // Offset of the values at `index` of the axes from `axis` on.
    const auto start_of = [&](int axis, int64_t index) {
        const float* start = floats_at(from, 0, 0, 0);
        for (; axis < axes; index /= sizes[axis++]) {
            start += index % sizes[axis] * strides[axis];
        }
        return start;
    };
    if (axes > 1 && strides[1] == 1 && sizes[1] >= MIN_RUN) {
        // Columns as rows, in blocks: value by value each would be written to a line of memory of its own.
        auto [begin, end] = share_of(ggml_nelements(out) / sizes[0], params);
        while (begin < end) {
            const int64_t at    = begin % sizes[1];
            const int64_t count = std::min(sizes[1] - at, end - begin);
            check_done(kernels.transpose(start_of(1, begin), strides[0], sizes[0], count, floats_at(out, 0, 0, 0) + begin * sizes[0], sizes[0]));
            begin += count;
        }
        return true;
    }
    auto [begin, end] = share_of(ggml_nelements(out), params);
    while (begin < end) {
        const int64_t at    = begin % sizes[0];
        const int64_t count = std::min(sizes[0] - at, end - begin);
        const float* start  = start_of(1, begin / sizes[0]) + at * strides[0];
        check_done(kernels.spread(start, strides[0], count, 1, floats_at(out, 0, 0, 0) + begin));
        begin += count;
    }
    return true;
}

// One tensor after the other along an axis. ggml copies value by value, and with one thread where there is one plane.
bool concatenate(const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* first  = out->src[0];
    const ggml_tensor* second = out->src[1];
    const int32_t axis        = ggml_get_op_params_i32(out, 0);
    if (!is_f32_contiguous(out) || !has_f32_rows(first) || !has_f32_rows(second)) {
        return false;
    }
    if (ggml_is_contiguous(first) && ggml_is_contiguous(second)) {
        // Values of each that follow one another, in turn.
        const auto values_of = [=](const ggml_tensor* tensor) {
            return std::accumulate(tensor->ne, tensor->ne + axis + 1, int64_t{1}, std::multiplies<int64_t>());
        };
        const int64_t a   = values_of(first);
        const int64_t b   = values_of(second);
        auto [begin, end] = share_of(ggml_nelements(out), params);
        while (begin < end) {
            const int64_t turn  = begin / (a + b);
            const int64_t at    = begin % (a + b);
            const bool is_first = at < a;
            const int64_t count = std::min((is_first ? a : a + b) - at, end - begin);
            const float* from   = is_first ? floats_at(first, 0, 0, 0) + turn * a + at : floats_at(second, 0, 0, 0) + turn * b + at - a;
            std::memcpy(floats_at(out, 0, 0, 0) + begin, from, count * sizeof(float));
            begin += count;
        }
        return true;
    }
    const auto [begin, end] = share_of(ggml_nrows(out), params);
    for (int64_t row = begin; row < end; ++row) {
        int64_t at[GGML_MAX_DIMS] = {0, row % out->ne[1], row / out->ne[1] % out->ne[2], row / out->ne[1] / out->ne[2]};
        float* to                 = floats_at(out, at[1], at[2], at[3]);
        if (axis == 0) {
            std::memcpy(to, floats_at(first, at[1], at[2], at[3]), first->ne[0] * sizeof(float));
            std::memcpy(to + first->ne[0], floats_at(second, at[1], at[2], at[3]), second->ne[0] * sizeof(float));
            continue;
        }
        const bool is_first = at[axis] < first->ne[axis];
        at[axis] -= is_first ? 0 : first->ne[axis];
        std::memcpy(to, floats_at(is_first ? first : second, at[1], at[2], at[3]), out->ne[0] * sizeof(float));
    }
    return true;
}

// Enlargement by whole factors without interpolation.
bool enlarge(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* from = out->src[0];
    const bool is_nearest   = ggml_get_op_params_i32(out, 0) == GGML_SCALE_MODE_NEAREST;
    if (!is_nearest || !is_f32_contiguous(from) || !is_f32_contiguous(out) || out->ne[0] % from->ne[0] != 0 || out->ne[1] % from->ne[1] != 0 ||
        out->ne[2] != from->ne[2] || out->ne[3] != from->ne[3]) {
        return false;
    }
    const int64_t times   = out->ne[0] / from->ne[0];
    const int64_t repeats = out->ne[1] / from->ne[1];
    // Rows of all planes; each becomes `repeats` rows.
    const auto [begin, end] = share_of(ggml_nrows(out), params);
    for (int64_t row = begin; row < end; ++row) {
        check_done(kernels.spread(floats_at(from, 0, 0, 0) + row / repeats * from->ne[0], 1, from->ne[0], times, floats_at(out, 0, 0, 0) + row * out->ne[0]));
    }
    return true;
}

// Computes a node with those after it that only change its result. Returns how many those are; 0 where nothing was computed.
int compute_fused(const atelier_cpu_kernels& kernels, const ggml_compute_params& params, const ggml_cgraph* graph, int index) {
    const ggml_tensor* node = graph->nodes[index];
    if (node->op == GGML_OP_GROUP_NORM) {
        const NormFusion fusion = fusion_of_norm(graph, index);
        return fusion.nodes > 0 && normalise(kernels, params, node, fusion) ? fusion.nodes : 0;
    }
    if (node->op == GGML_OP_NORM) {
        const NormFusion fusion = fusion_of_norm(graph, index);
        return fusion.nodes > 0 && normalise_rows(kernels, params, node, fusion) ? fusion.nodes : 0;
    }
    if (node->op == GGML_OP_MUL) {
        const ModulationFusion fusion = fusion_of_modulation(graph, index);
        return fusion.nodes > 0 && modulate(kernels, params, node, fusion) ? fusion.nodes : 0;
    }
    if (node->op != GGML_OP_CONV_2D && node->op != GGML_OP_MUL_MAT) {
        return 0;
    }
    const SumsFusion fusion   = fusion_of_sums(graph, index);
    const ggml_tensor* reader = node->op == GGML_OP_CONV_2D ? only_reader(graph, index, fusion.nodes) : nullptr;
    // Models that are filled up to the layout of their family have blocks of zeros.
    if (reader != nullptr && reader->src[1] == graph->nodes[index + fusion.nodes] && is_known_convolution(reader) && is_without_weights(reader)) {
        return fusion.nodes;
    }
    const auto compute      = node->op == GGML_OP_CONV_2D ? convolve : multiply;
    return fusion.nodes > 0 && compute(kernels, params, node, fusion.epilogue) ? fusion.nodes : 0;
}

// ggml's own sort leaves its rows where a value is no number, which compares with nothing. Those come first here, else it is the same sort.
void sort(const ggml_compute_params& params, const ggml_tensor* out) {
    const ggml_tensor* from = out->src[0];
    const bool is_ascending = ggml_get_op_params_i32(out, 0) == GGML_SORT_ORDER_ASC;
    for (int64_t row = params.ith; row < ggml_nrows(from); row += params.nth) {
        const auto* values = reinterpret_cast<const float*>(static_cast<const char*>(from->data) + row * from->nb[1]);
        auto* places       = reinterpret_cast<int32_t*>(static_cast<char*>(out->data) + row * out->nb[1]);
        std::iota(places, places + out->ne[0], 0);
        std::sort(places, places + out->ne[0], [=](int32_t a, int32_t b) {
            if (std::isnan(values[a]) || std::isnan(values[b])) {
                return std::isnan(values[a]) && !std::isnan(values[b]);
            }
            return is_ascending ? values[a] < values[b] : values[a] > values[b];
        });
    }
}

// ggml's product with chosen matrices trusts their indices, which may come from a borrower.
void check_choice(const ggml_tensor* out) {
    const ggml_tensor* indices = out->src[2];
    for (int64_t i1 = 0; i1 < indices->ne[1]; ++i1) {
        for (int64_t i0 = 0; i0 < indices->ne[0]; ++i0) {
            const int32_t index = *reinterpret_cast<const int32_t*>(static_cast<const char*>(indices->data) + i1 * indices->nb[1] + i0 * indices->nb[0]);
            GGML_ASSERT(index >= 0 && index < out->src[0]->ne[2] && "an index is beyond the last matrix");
        }
    }
}

class KernelTraits final : public ggml::cpu::tensor_traits {
public:
    bool work_size(int, const ggml_tensor*, size_t&) override { return false; }

    bool compute_forward(ggml_compute_params* params, ggml_tensor* out) override {
        if (out->op == GGML_OP_ARGSORT && out->src[0]->type == GGML_TYPE_F32) {
            sort(*params, out);
            return true;
        }
        if (out->op == GGML_OP_MUL_MAT_ID) {
            check_choice(out);
            return false;
        }
        const atelier_cpu_kernels* kernels = registered.load(std::memory_order_acquire);
        if (kernels == nullptr || params->use_ref) {
            return false;
        }
        switch (out->op) {
            case GGML_OP_MUL_MAT: return multiply(*kernels, *params, out);
            case GGML_OP_CONV_2D: return convolve(*kernels, *params, out);
            case GGML_OP_FLASH_ATTN_EXT: return attend(*kernels, *params, out);
            case GGML_OP_GROUP_NORM: return normalise(*kernels, *params, out);
            case GGML_OP_NORM: return normalise_rows(*kernels, *params, out);
            case GGML_OP_UNARY: return activate(*kernels, *params, out);
            case GGML_OP_ADD:
            case GGML_OP_MUL: return apply_constants(*kernels, *params, out) || combine(*kernels, *params, out);
            case GGML_OP_REPEAT: return repeat(*kernels, *params, out);
            case GGML_OP_CONCAT: return concatenate(*params, out);
            case GGML_OP_CONT: return copy_permuted(*kernels, *params, out);
            case GGML_OP_UPSCALE: return enlarge(*kernels, *params, out);
            default: return false;
        }
    }
};

class KernelBufferType final : public ggml::cpu::extra_buffer_type {
public:
    bool supports_op(ggml_backend_dev_t, const ggml_tensor*) override { return false; }
    ggml::cpu::tensor_traits* get_tensor_traits(const ggml_tensor*) override { return &traits_; }

private:
    KernelTraits traits_;
};

}  // namespace

int format_of(ggml_type type) {
    switch (type) {
        case GGML_TYPE_Q8_0: return ATELIER_FORMAT_Q8_0;
        case GGML_TYPE_Q5_0: return ATELIER_FORMAT_Q5_0;
        case GGML_TYPE_Q4_0: return ATELIER_FORMAT_Q4_0;
        case GGML_TYPE_Q6_K: return ATELIER_FORMAT_Q6_K;
        case GGML_TYPE_Q5_K: return ATELIER_FORMAT_Q5_K;
        case GGML_TYPE_Q4_K: return ATELIER_FORMAT_Q4_K;
        default: return ATELIER_FORMAT_OTHER;
    }
}

uint64_t packed_bytes(const ggml_tensor* node) {
    const atelier_cpu_kernels* kernels = registered.load(std::memory_order_acquire);
    if (kernels == nullptr) {
        return 0;
    }
    if (node->op == GGML_OP_CONV_2D && is_known_convolution(node)) {
        const atelier_convolution convolution = convolution_of(node);
        return kernels->packed_convolution_bytes(&convolution);
    }
    atelier_product product = {};
    if (node->op != GGML_OP_MUL_MAT || !product_of(node, &product)) {
        return 0;
    }
    // Each matrix of weights is packed by itself.
    return kernels->packed_product_bytes(&product) * static_cast<uint64_t>(node->src[0]->ne[2] * node->src[0]->ne[3]);
}

WeightMemory weight_memory(ggml_backend_buffer_t buffer) {
    // A buffer of several has no memory of its own.
    const bool is_ram = buffer != nullptr && ggml_backend_buffer_is_host(buffer) && buffer->iface.get_base != nullptr;
    return is_ram ? WeightMemory{ggml_backend_buffer_get_base(buffer), ggml_backend_buffer_get_size(buffer)} : WeightMemory{};
}

void keep_packed(const WeightMemory& memory, const void* owner, uint64_t limit) {
    const atelier_cpu_kernels* kernels = registered.load(std::memory_order_acquire);
    if (kernels != nullptr && memory.bytes > 0) {
        kernels->keep_packed(memory.start, memory.bytes, reinterpret_cast<size_t>(owner), limit);
    }
}

void forget_packed(const WeightMemory& memory) {
    const atelier_cpu_kernels* kernels = registered.load(std::memory_order_acquire);
    if (kernels != nullptr && memory.bytes > 0) {
        kernels->forget_packed(memory.start, memory.bytes);
    }
}

uint64_t packed_total() {
    const atelier_cpu_kernels* kernels = registered.load(std::memory_order_acquire);
    return kernels == nullptr ? 0 : kernels->packed_total();
}

void hook_cpu_operations() {
    // Never freed: ggml's threads may outlive static objects.
    static ggml_backend_buffer_type& type = *new ggml_backend_buffer_type(*ggml_backend_cpu_buffer_type());
    type.context                          = static_cast<ggml::cpu::extra_buffer_type*>(new KernelBufferType);
    ggml_backend_cpu_get_extra_buffer_types().push_back(&type);
}

}  // namespace atelier

// Called by ggml (patches/ggml-cpu.c.patch) on each thread, for each node.
extern "C" int atelier_compute_fused(const ggml_cgraph* graph, int index, const ggml_compute_params* params) {
    const atelier_cpu_kernels* kernels = atelier::registered.load(std::memory_order_acquire);
    return kernels == nullptr ? 0 : atelier::compute_fused(*kernels, *params, graph, index);
}

void atelier_set_cpu_kernels(const atelier_cpu_kernels* kernels) {
    atelier::registered.store(kernels, std::memory_order_release);
}
