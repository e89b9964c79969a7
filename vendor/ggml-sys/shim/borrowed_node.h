// A node of a borrower's graph with what its rules ask of it (borrowed_graph.h).
#pragma once

#include <algorithm>
#include <initializer_list>

#include "borrowed_graph.h"
#include "ggml-impl.h"
#include "ggml.h"

namespace atelier {

constexpr auto FLOATS = {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16};

inline bool is_float(ggml_type type) {
    return std::find(FLOATS.begin(), FLOATS.end(), type) != FLOATS.end();
}

// Strides, paddings and dilations of windows: far beyond those of models, far below what overflows.
constexpr int32_t MAX_WINDOW_STEP = 1 << 12;

class Node {
public:
    explicit Node(ggml_tensor* tensor) : tensor_(tensor) {}

    ggml_tensor* tensor() const { return tensor_; }
    ggml_tensor* source(int index) const { return tensor_->src[index]; }
    // The operation in place, as the engine builds it: its result is a view of the source.
    bool is_in_place() const { return tensor_->view_src != nullptr; }
    int32_t number(int index) const { return ggml_get_op_params_i32(tensor_, index); }
    float real(int index) const { return ggml_get_op_params_f32(tensor_, index); }
    void require(bool holds, const char* why) const { atelier::require(holds, tensor_, why); }

    // The first `least` sources are there, no others after the first `most`.
    void check_sources(int least, int most) const {
        for (int i = 0; i < GGML_MAX_SRC; ++i) {
            require(i < least ? source(i) != nullptr : i < most || source(i) == nullptr, "it has another number of sources");
        }
    }
    void check_type(const ggml_tensor* tensor, std::initializer_list<ggml_type> types) const {
        require(std::find(types.begin(), types.end(), tensor->type) != types.end(), "it is not computed with this type");
    }
    // Values of a row lie side by side.
    void check_rows(const ggml_tensor* tensor) const {
        require(tensor->nb[0] == ggml_type_size(tensor->type) || tensor->ne[0] == 1, "values of a row do not lie side by side");
    }
    // All rows lie one stride apart, through all dimensions.
    void check_even_rows(const ggml_tensor* tensor) const {
        check_rows(tensor);
        uint64_t rows = tensor->ne[1];
        for (int i = 2; i < GGML_MAX_DIMS; ++i) {
            require(tensor->ne[i] == 1 || tensor->nb[i] == tensor->nb[1] * rows, "rows do not lie evenly");
            rows *= tensor->ne[i];
        }
    }
    // As many bytes as there are values, from the first on.
    void check_dense(const ggml_tensor* tensor) const {
        require(ggml_nbytes(tensor) >= ggml_row_size(tensor->type, tensor->ne[0]) * ggml_nrows(tensor), "values do not lie densely");
    }
    void check_steps(int begin, int end, int32_t least) const {
        for (int i = begin; i < end; ++i) {
            require(number(i) >= least && number(i) <= MAX_WINDOW_STEP, "a window's step, padding or dilation makes no sense");
        }
    }

private:
    ggml_tensor* tensor_;
};

// In image_rules.cpp: makes operations over windows and images anew.
ggml_tensor* convolve(ggml_context* context, const Node& node);
ggml_tensor* convolve_depthwise(ggml_context* context, const Node& node);
ggml_tensor* convolve_transposed(ggml_context* context, const Node& node);
ggml_tensor* unfold(ggml_context* context, const Node& node);
ggml_tensor* unfold_volume(ggml_context* context, const Node& node);
ggml_tensor* resize(ggml_context* context, const Node& node);
ggml_tensor* pad(ggml_context* context, const Node& node);

}  // namespace atelier
