// Shapes are in ggml's order: a matrix of `rows` outputs has ne = [inputs, rows], a convolution's kernel [width, height, inputs, rows].
#include "adapter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "job.h"
#include "weight_scales.h"

namespace atelier {

namespace {

// Names of the caller's: `lora.<weight>#<row>.<end>`, `lora.<weight>#<row>@<bits of the alpha>.<end>`; those of tensors without a place begin otherwise.
constexpr const char* PREFIX = "lora.";
// Ends of lengths of a weight's rows after the change: those of its outputs, and those of its inputs.
constexpr const char* MAGNITUDE       = "dora_scale";
constexpr const char* INPUT_MAGNITUDE = "dora_scale_in";

using Placed = std::vector<std::pair<int64_t, ggml_tensor*>>;

ggml_tensor* find(const AdapterPart& part, const char* end) {
    const auto found = part.tensors.find(end);
    return found == part.tensors.end() ? nullptr : found->second;
}

ggml_tensor* as_f32(ggml_context* ctx, ggml_backend_t backend, ggml_tensor* a) {
    if (a->type == GGML_TYPE_F32) {
        return a;
    }
    return ggml_is_quantized(a->type) ? ggml_cast(ctx, a, GGML_TYPE_F32) : ggml_ext_cast_f32(ctx, backend, a);
}

// As a matrix of so many rows, whatever dimensions of size 1 a file gives it.
ggml_tensor* flat(ggml_context* ctx, ggml_tensor* a, int64_t rows) {
    return ggml_reshape_2d(ctx, a, ggml_nelements(a) / rows, rows);
}

ggml_tensor* transposed(ggml_context* ctx, ggml_tensor* a) {
    return ggml_cont(ctx, ggml_transpose(ctx, a));
}

// up x down, of ne [rank, rows] and [columns, rank]: ne [columns, rows].
ggml_tensor* product(ggml_context* ctx, ggml_tensor* up, ggml_tensor* down) {
    return ggml_mul_mat(ctx, transposed(ctx, down), up);
}

// A kernel of a core of ne [width, height, j, i], what `in` [inputs, j] and `out` [rows, i] make of it: ne [width x height x inputs, rows].
ggml_tensor* rebuilt(ggml_context* ctx, ggml_tensor* core, ggml_tensor* in, ggml_tensor* out) {
    const int64_t area   = core->ne[0] * core->ne[1];
    const int64_t j      = core->ne[2];
    const int64_t i      = core->ne[3];
    const int64_t inputs = in->ne[0];
    const int64_t rows   = out->ne[0];
    ggml_tensor* x = ggml_reshape_3d(ctx, core, area, j, i);
    x              = ggml_cont(ctx, ggml_permute(ctx, x, 1, 0, 2, 3));                        // [j, area, i]
    x              = ggml_mul_mat(ctx, transposed(ctx, in), x);                               // [inputs, area, i]
    x              = transposed(ctx, ggml_reshape_2d(ctx, x, inputs * area, i));              // [i, inputs x area]
    x              = transposed(ctx, ggml_mul_mat(ctx, transposed(ctx, out), x));             // [inputs x area, rows]
    x              = ggml_reshape_3d(ctx, x, inputs, area, rows);
    x              = ggml_cont(ctx, ggml_permute(ctx, x, 1, 0, 2, 3));                        // [area, inputs, rows]
    return ggml_reshape_2d(ctx, x, area * inputs, rows);
}

float number(const AdapterPart& part, const char* end, float otherwise) {
    ggml_tensor* const tensor = find(part, end);
    return tensor == nullptr ? otherwise : ggml_ext_backend_tensor_get_f32(tensor);
}

float scale_of(const AdapterPart& part, int64_t rank) {
    const float alpha = number(part, "alpha", part.alpha != 0.0f ? part.alpha : static_cast<float>(rank));
    return number(part, "scale", alpha / static_cast<float>(rank));
}

struct Factors {
    ggml_tensor* first;
    ggml_tensor* second;
    float scale;
};

// The two factors of a Kronecker product: ne [b, a] and [d, c], or a kernel [width, height, d, c].
Factors kronecker_factors(ggml_context* ctx, ggml_backend_t backend, const AdapterPart& part) {
    ggml_tensor* first  = find(part, "lokr_w1");
    ggml_tensor* second = find(part, "lokr_w2");
    int64_t rank = 0;
    if (first == nullptr) {
        ggml_tensor* const a = as_f32(ctx, backend, find(part, "lokr_w1_a"));
        ggml_tensor* const b = as_f32(ctx, backend, find(part, "lokr_w1_b"));
        rank                 = b->ne[1];
        first                = product(ctx, a, b);
    } else {
        first = as_f32(ctx, backend, first);
    }
    if (second == nullptr) {
        ggml_tensor* const a    = as_f32(ctx, backend, find(part, "lokr_w2_a"));
        ggml_tensor* const b    = as_f32(ctx, backend, find(part, "lokr_w2_b"));
        ggml_tensor* const core = find(part, "lokr_t2");
        if (core != nullptr) {
            rank   = b->ne[1];
            second = rebuilt(ctx, as_f32(ctx, backend, core), b, a);
            second = ggml_reshape_4d(ctx, second, core->ne[0], core->ne[1], b->ne[0], a->ne[0]);
        } else {
            // The first half has as many columns as the second has rows.
            rank                    = a->ne[0];
            ggml_tensor* const down = flat(ctx, b, rank);
            second                  = product(ctx, a, down);
        }
    } else {
        second = as_f32(ctx, backend, second);
    }
    return {first, second, rank == 0 ? 1.0f : scale_of(part, rank)};
}

// The kernel of a factor whose height and width lie in its columns.
ggml_tensor* as_kernel(ggml_context* ctx, ggml_tensor* factor, int64_t inputs, int64_t width, int64_t height) {
    return ggml_reshape_4d(ctx, factor, width, height, inputs, ggml_nelements(factor) / (inputs * width * height));
}

// The change of a part of a weight: ne [columns, rows], columns with the kernel's; without the strength.
ggml_tensor* change(ggml_context* ctx, ggml_backend_t backend, const AdapterPart& part, int64_t columns, int64_t area) {
    const auto get = [&](const char* end) { return as_f32(ctx, backend, find(part, end)); };
    if (ggml_tensor* const diff = find(part, "diff")) {
        return flat(ctx, as_f32(ctx, backend, diff), ggml_nelements(diff) / columns);
    }
    if (find(part, "lora_down") != nullptr) {
        ggml_tensor* down = get("lora_down");
        ggml_tensor* up   = get("lora_up");
        ggml_tensor* core = find(part, "lora_mid");
        if (core != nullptr) {
            const int64_t rank = core->ne[2];
            const int64_t outer = core->ne[3];
            ggml_tensor* const in  = flat(ctx, down, rank);
            ggml_tensor* const out = transposed(ctx, ggml_reshape_2d(ctx, up, outer, ggml_nelements(up) / outer));
            return ggml_scale(ctx, rebuilt(ctx, as_f32(ctx, backend, core), in, out), scale_of(part, rank));
        }
        const int64_t rank = ggml_nelements(down) / columns;
        ggml_tensor* const delta = product(ctx, ggml_reshape_2d(ctx, up, rank, ggml_nelements(up) / rank), flat(ctx, down, rank));
        return ggml_scale(ctx, delta, scale_of(part, rank));
    }
    if (find(part, "hada_w1_a") != nullptr) {
        ggml_tensor* factors[2];
        const char* const ends[2][3] = {{"hada_t1", "hada_w1_a", "hada_w1_b"}, {"hada_t2", "hada_w2_a", "hada_w2_b"}};
        int64_t rank = 1;
        for (int index = 0; index < 2; ++index) {
            ggml_tensor* const a    = get(ends[index][1]);
            ggml_tensor* const b    = get(ends[index][2]);
            ggml_tensor* const core = find(part, ends[index][0]);
            if (index == 0) {
                rank = core == nullptr ? a->ne[0] : b->ne[1];
            }
            factors[index] = core == nullptr ? product(ctx, a, flat(ctx, b, a->ne[0])) : rebuilt(ctx, as_f32(ctx, backend, core), b, a);
        }
        return ggml_scale(ctx, ggml_mul(ctx, factors[0], factors[1]), scale_of(part, rank));
    }
    const Factors factors = kronecker_factors(ctx, backend, part);
    const int64_t inputs  = columns / area / factors.first->ne[0];
    // Both as kernels: ggml repeats the second factor over the first one's enlarged values.
    ggml_tensor* const second = ggml_reshape_3d(ctx, factors.second, area, inputs, ggml_nelements(factors.second) / (inputs * area));
    ggml_tensor* const first  = ggml_reshape_3d(ctx, factors.first, 1, factors.first->ne[0], factors.first->ne[1]);
    ggml_tensor* const delta  = ggml_ext_kronecker(ctx, first, second);
    return ggml_scale(ctx, ggml_reshape_2d(ctx, delta, columns, delta->ne[2]), factors.scale);
}

// Lengths of rows (or columns) of a matrix of ne [columns, rows]: ne [1, rows].
ggml_tensor* lengths(ggml_context* ctx, ggml_tensor* rows) {
    return ggml_sqrt(ctx, ggml_scale(ctx, ggml_mean(ctx, ggml_sqr(ctx, rows)), static_cast<float>(rows->ne[0])));
}

// What a change does to rows of a weight (ne [columns, rows]) whose lengths are given, of its outputs or its inputs: the rows' difference.
ggml_tensor* decomposed(ggml_context* ctx, ggml_tensor* weight, ggml_tensor* delta, ggml_tensor* magnitude, bool is_of_inputs, int64_t area) {
    ggml_tensor* const sum = ggml_add(ctx, weight, delta);
    const int64_t columns  = sum->ne[0];
    const int64_t rows     = sum->ne[1];
    const int64_t inputs   = columns / area;
    ggml_tensor* whole;
    if (is_of_inputs) {
        ggml_tensor* const kernels  = ggml_reshape_3d(ctx, sum, area, inputs, rows);
        ggml_tensor* const of_input = ggml_cont(ctx, ggml_permute(ctx, kernels, 0, 2, 1, 3));  // [area, rows, inputs]
        ggml_tensor* const length   = lengths(ctx, ggml_reshape_2d(ctx, of_input, area * rows, inputs));
        ggml_tensor* const factor   = ggml_div(ctx, ggml_reshape_2d(ctx, magnitude, 1, inputs), length);
        whole = ggml_reshape_2d(ctx, ggml_mul(ctx, kernels, ggml_reshape_3d(ctx, factor, 1, inputs, 1)), columns, rows);
    } else {
        ggml_tensor* const factor = ggml_div(ctx, ggml_reshape_2d(ctx, magnitude, 1, rows), lengths(ctx, sum));
        whole                     = ggml_mul(ctx, sum, factor);
    }
    return ggml_sub(ctx, whole, weight);
}

// A slice of a tensor along a dimension.
ggml_tensor* slice(ggml_context* ctx, ggml_tensor* a, int dim, int64_t begin, int64_t count) {
    int64_t ne[4] = {a->ne[0], a->ne[1], a->ne[2], a->ne[3]};
    ne[dim]       = count;
    return ggml_cont(ctx, ggml_view_4d(ctx, a, ne[0], ne[1], ne[2], ne[3], a->nb[1], a->nb[2], a->nb[3], begin * a->nb[dim]));
}

ggml_tensor* zeros(ggml_context* ctx, const ggml_tensor* like, int dim, int64_t count) {
    int64_t ne[4] = {like->ne[0], like->ne[1], like->ne[2], like->ne[3]};
    ne[dim]       = count;
    return ggml_ext_zeros(ctx, ne[0], ne[1], ne[2], ne[3]);
}

// Adds parts to `sum` in their places along a dimension. One that goes beyond the end goes on at the beginning.
ggml_tensor* add_placed(ggml_context* ctx, ggml_tensor* sum, Placed parts, int dim) {
    const int64_t total = sum->ne[dim];
    Placed pieces;
    for (const auto& [at, part] : parts) {
        const int64_t size = part->ne[dim];
        const int64_t before_end = std::min(size, total - at);
        if (before_end == size) {
            pieces.emplace_back(at, part);
        } else {
            pieces.emplace_back(at, slice(ctx, part, dim, 0, before_end));
            pieces.emplace_back(0, slice(ctx, part, dim, before_end, size - before_end));
        }
    }
    std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    while (!pieces.empty()) {
        ggml_tensor* row = nullptr;
        int64_t end      = 0;
        Placed rest;
        const auto append = [&](ggml_tensor* piece) { row = row == nullptr ? piece : ggml_concat(ctx, row, piece, dim); };
        for (const auto& [at, piece] : pieces) {
            if (at < end) {
                rest.emplace_back(at, piece);
                continue;
            }
            if (at > end) {
                append(zeros(ctx, piece, dim, at - end));
            }
            append(piece);
            end = at + piece->ne[dim];
        }
        if (end < total) {
            append(zeros(ctx, row, dim, total - end));
        }
        sum    = ggml_add(ctx, sum, row);
        pieces = std::move(rest);
    }
    return sum;
}

ggml_tensor* convolved(ggml_context* ctx, ggml_tensor* x, ggml_tensor* kernel, const WeightAdapter::ForwardParams::conv2d_params_t& conv) {
    if (kernel->type != GGML_TYPE_F16) {
        kernel = ggml_cast(ctx, kernel, GGML_TYPE_F16);
    }
    return ggml_ext_conv_2d(ctx, x, kernel, nullptr, conv.s0, conv.s1, conv.p0, conv.p1, conv.d0, conv.d1, conv.direct, conv.circular_x,
                            conv.circular_y, conv.scale);
}

// A convolution without a kernel's size: of each point alone.
ggml_tensor* mixed(ggml_context* ctx, ggml_tensor* x, ggml_tensor* kernel, const WeightAdapter::ForwardParams::conv2d_params_t& conv) {
    WeightAdapter::ForwardParams::conv2d_params_t points = {};
    points.direct                                        = conv.direct;
    points.scale                                         = conv.scale;
    return convolved(ctx, x, kernel, points);
}

ggml_tensor* linear(ggml_context* ctx, ggml_tensor* x, ggml_tensor* matrix, const WeightAdapter::ForwardParams& layer) {
    return ggml_ext_linear(ctx, x, matrix, nullptr, layer.linear.force_prec_f32, layer.linear.scale);
}

// What a part's change makes of a layer's input; without the strength.
ggml_tensor* output(ggml_context* ctx, ggml_backend_t backend, const AdapterPart& part, ggml_tensor* x, ggml_tensor* weight,
                    const WeightAdapter::ForwardParams& layer) {
    const bool is_conv    = layer.op_type == WeightAdapter::ForwardParams::op_type_t::OP_CONV2D;
    const int64_t width   = is_conv ? weight->ne[0] : 1;
    const int64_t height  = is_conv ? weight->ne[1] : 1;
    const int64_t inputs  = is_conv ? weight->ne[2] : weight->ne[0];
    const int64_t columns = width * height * inputs;
    if (find(part, "lora_down") != nullptr) {
        ggml_tensor* down       = find(part, "lora_down");
        ggml_tensor* up         = find(part, "lora_up");
        ggml_tensor* const core = find(part, "lora_mid");
        if (!is_conv && core == nullptr) {
            const int64_t rank = ggml_nelements(down) / columns;
            if (weight->type == GGML_TYPE_F32) {
                // Its products round no inputs.
                down = as_f32(ctx, backend, down);
                up   = as_f32(ctx, backend, up);
            }
            ggml_tensor* y     = linear(ctx, x, flat(ctx, down, rank), layer);
            y                  = linear(ctx, y, ggml_reshape_2d(ctx, up, rank, ggml_nelements(up) / rank), layer);
            return ggml_scale(ctx, y, scale_of(part, rank));
        }
        if (is_conv) {
            const int64_t rank  = core == nullptr ? ggml_nelements(down) / columns : core->ne[2];
            const int64_t outer = core == nullptr ? rank : core->ne[3];
            ggml_tensor* y;
            if (core == nullptr) {
                y = convolved(ctx, x, as_kernel(ctx, down, inputs, width, height), layer.conv2d);
            } else {
                y = mixed(ctx, x, ggml_reshape_4d(ctx, down, 1, 1, inputs, rank), layer.conv2d);
                y = convolved(ctx, y, core, layer.conv2d);
            }
            y = mixed(ctx, y, ggml_reshape_4d(ctx, up, 1, 1, outer, ggml_nelements(up) / outer), layer.conv2d);
            return ggml_scale(ctx, y, scale_of(part, rank));
        }
    }
    const bool is_kronecker = find(part, "lokr_w1") != nullptr || find(part, "lokr_w1_a") != nullptr;
    if (is_kronecker) {
        const Factors factors = kronecker_factors(ctx, backend, part);
        if (!is_conv) {
            // The engine's product knows inputs of two dimensions.
            ggml_tensor* const rows = ggml_reshape_2d(ctx, ggml_is_contiguous(x) ? x : ggml_cont(ctx, x), x->ne[0], ggml_nrows(x));
            ggml_tensor* const second = flat(ctx, factors.second, ggml_nelements(factors.second) / (inputs / factors.first->ne[0]));
            ggml_tensor* y = ggml_ext_lokr_forward(ctx, backend, rows, factors.first, nullptr, nullptr, second, nullptr, nullptr, false,
                                                   layer.conv2d, factors.scale);
            return ggml_reshape_4d(ctx, y, y->ne[0], x->ne[1], x->ne[2], x->ne[3]);
        }
        ggml_tensor* second = as_kernel(ctx, factors.second, inputs / factors.first->ne[0], width, height);
        second              = ggml_cast(ctx, second, GGML_TYPE_F16);
        return ggml_ext_lokr_forward(ctx, backend, x, factors.first, nullptr, nullptr, second, nullptr, nullptr, true, layer.conv2d,
                                     factors.scale);
    }
    ggml_tensor* const delta = change(ctx, backend, part, columns, width * height);
    return is_conv ? convolved(ctx, x, as_kernel(ctx, delta, inputs, width, height), layer.conv2d) : linear(ctx, x, delta, layer);
}

}  // namespace

bool Adapter::open(ModelLoader& loader, const std::string& path, const std::string& prefix, SDVersion version) {
    const Job* const job                      = current_job();
    const atelier_adapter_names* const names = job == nullptr ? nullptr : job->adapter_names(path);
    if (names == nullptr || names->count == 0) {
        return loader.init_from_file_and_convert_name(path, prefix, version);
    }
    if (!loader.init_from_file(path)) {
        return false;
    }
    is_named_ = true;
    std::unordered_map<std::string, const char*> by_name;
    for (size_t index = 0; index < names->count; ++index) {
        by_name.emplace(names->from[index], names->to[index]);
    }
    String2TensorStorage renamed;
    for (auto& [name, storage] : loader.get_tensor_storage_map()) {
        if (name.find(SCALE_NAME) != std::string::npos) {
            renamed[name] = std::move(storage);
            continue;
        }
        const auto known = by_name.find(name);
        // No module asks for tensors of this prefix; they are still counted.
        const std::string new_name = known == by_name.end() ? "without_place." + name : known->second;
        storage.name               = new_name;
        renamed[new_name]          = std::move(storage);
    }
    loader.get_tensor_storage_map().swap(renamed);
    return true;
}

void Adapter::set_tensors(const std::unordered_map<std::string, ggml_tensor*>& tensors) {
    if (!is_named_) {
        return;
    }
    parts_.clear();
    std::map<std::string, std::map<int64_t, AdapterPart>> found;
    for (const auto& [name, tensor] : tensors) {
        const size_t mark = name.find('#');
        const size_t dot  = name.find('.', mark == std::string::npos ? 0 : mark);
        if (mark == std::string::npos || dot == std::string::npos) {
            continue;
        }
        const int64_t row = std::strtoll(name.c_str() + mark + 1, nullptr, 10);
        AdapterPart& part = found[name.substr(std::strlen(PREFIX), mark - std::strlen(PREFIX))][row];
        part.row          = row;
        const size_t at   = name.find('@', mark);
        if (at < dot) {
            const auto bits = static_cast<uint32_t>(std::strtoul(name.c_str() + at + 1, nullptr, 10));
            std::memcpy(&part.alpha, &bits, sizeof(bits));
        }
        part.tensors.emplace(name.substr(dot + 1), tensor);
        part.names.push_back(name);
    }
    for (auto& [weight_name, parts] : found) {
        for (auto& [row, part] : parts) {
            parts_[weight_name].push_back(std::move(part));
        }
    }
}

const std::vector<AdapterPart>* Adapter::parts_of(const std::string& weight_name, std::set<std::string>& used) const {
    const auto found = parts_.find(weight_name);
    if (found == parts_.end()) {
        return nullptr;
    }
    for (const AdapterPart& part : found->second) {
        used.insert(part.names.begin(), part.names.end());
    }
    return &found->second;
}

bool Adapter::has_magnitude(const std::string& weight_name) const {
    const auto found = parts_.find(weight_name);
    return found != parts_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [](const AdapterPart& part) {
               return find(part, MAGNITUDE) != nullptr || find(part, INPUT_MAGNITUDE) != nullptr;
           });
}

ggml_tensor* Adapter::patched(ggml_context* ctx, ggml_backend_t backend, ggml_tensor* weight, const std::string& weight_name, float strength,
                              std::set<std::string>& used) const {
    const std::vector<AdapterPart>* const parts = parts_of(weight_name, used);
    if (parts == nullptr) {
        return weight;
    }
    weight               = as_f32(ctx, backend, weight);
    const bool is_vector = ggml_n_dims(weight) == 1;
    const bool is_kernel = ggml_n_dims(weight) > 2;
    const int64_t rows    = is_vector ? weight->ne[0] : is_kernel ? weight->ne[3] : weight->ne[1];
    const int64_t area    = is_kernel ? weight->ne[0] * weight->ne[1] : 1;
    const int64_t columns = ggml_nelements(weight) / rows;
    ggml_tensor* const matrix = ggml_reshape_2d(ctx, ggml_is_contiguous(weight) ? weight : ggml_cont(ctx, weight), columns, rows);
    Placed placed;
    for (const AdapterPart& part : *parts) {
        ggml_tensor* delta = change(ctx, backend, part, columns, area);
        ggml_tensor* const of_outputs = find(part, MAGNITUDE);
        ggml_tensor* const magnitude  = of_outputs != nullptr ? of_outputs : find(part, INPUT_MAGNITUDE);
        if (magnitude != nullptr) {
            ggml_tensor* const own = delta->ne[1] == rows ? matrix : slice(ctx, matrix, 1, part.row, delta->ne[1]);
            delta                  = decomposed(ctx, own, delta, as_f32(ctx, backend, magnitude), of_outputs == nullptr, area);
        }
        placed.emplace_back(part.row, ggml_scale(ctx, delta, strength));
    }
    return ggml_reshape(ctx, add_placed(ctx, matrix, std::move(placed), 1), weight);
}

ggml_tensor* Adapter::add_output(ggml_context* ctx, ggml_backend_t backend, ggml_tensor* input, ggml_tensor* output_before,
                                 const WeightAdapter::ForwardParams& layer, ggml_tensor* weight, const std::string& weight_name, float strength,
                                 std::set<std::string>& used) const {
    const std::vector<AdapterPart>* const parts = parts_of(weight_name, used);
    if (parts == nullptr) {
        return output_before;
    }
    const bool is_conv = layer.op_type == WeightAdapter::ForwardParams::op_type_t::OP_CONV2D;
    Placed placed;
    for (const AdapterPart& part : *parts) {
        placed.emplace_back(part.row, ggml_scale(ctx, output(ctx, backend, part, input, weight, layer), strength));
    }
    return add_placed(ctx, output_before, std::move(placed), is_conv ? 2 : 0);
}

}  // namespace atelier
