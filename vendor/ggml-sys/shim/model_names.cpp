#include "model_names.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <utility>

#include "core/util.h"

// The engine's own (name_conversion.cpp), in no header.
std::string convert_diffusers_dit_to_original_sd3(std::string name);

namespace atelier {

namespace {

constexpr const char* DIFFUSION = "model.diffusion_model.";
constexpr const char* DIFFUSERS = "unet.";

// Tensors that say what a UNet predicts: in a file of a UNet alone the loader puts its prefix before them.
constexpr const char* PREDICTION_MARKS[] = {"v_pred", "ztsnr", "edm_vpred.sigma_max"};

constexpr const char* TEXT_ENCODERS  = "text_encoders.";
constexpr const char* LANGUAGE_MODEL = "text_encoders.llm.";

// Beginnings of the tensors of CLIP; after them `transformer.` (transformers' names) or `model.` (OpenCLIP's).
constexpr const char* CLIPS[] = {
    "cond_stage_model.1.", "cond_stage_model.", "conditioner.embedders.0.", "conditioner.embedders.1.", "text_encoders.clip_l.", "text_encoders.clip_g.",
};
// Parts of CLIP that files of old merges have without `text_model.`.
constexpr const char* PARTS[] = {"encoder.", "embeddings.", "final_layer_norm."};

// Before the name of a weight: a mark among the loader's tensors. No module asks for it.
constexpr const char* TRANSPOSED = "atelier_transposed.";
// OpenCLIP's projection, and where the engine has it.
constexpr const char* PROJECTION        = "model.text_projection";
constexpr const char* ENGINE_PROJECTION = "transformer.text_model.text_projection";

// Files of more parts are none of a model.
constexpr int MAX_SHARDS = 1000;
constexpr size_t DIGITS  = 5;

void rename_all(String2TensorStorage& tensors, const std::function<std::string(const std::string&)>& rename) {
    String2TensorStorage renamed;
    for (auto& [name, tensor] : tensors) {
        const std::string new_name = rename(name);
        tensor.name                = new_name;
        renamed[new_name]          = std::move(tensor);
    }
    tensors.swap(renamed);
}

bool any_starts(const String2TensorStorage& tensors, const std::string& start) {
    for (const auto& [name, tensor] : tensors) {
        if (starts_with(name, start)) {
            return true;
        }
    }
    return false;
}

// Kinds of language models of which ComfyUI names the weights in a file of a whole model: `text_encoders.qwen3_4b.` and the like, with what follows.
std::set<std::string> comfyui_language_models(const String2TensorStorage& tensors) {
    const std::string table = ".transformer.model.embed_tokens.weight";
    std::set<std::string> starts;
    for (const auto& [name, tensor] : tensors) {
        if (starts_with(name, TEXT_ENCODERS) && ends_with(name, table)) {
            starts.insert(name.substr(0, name.size() - table.size() + 1));
        }
    }
    return starts;
}

std::string clip_name(const std::string& name, const std::string& prefix, bool is_open_clip) {
    const std::string transformer = prefix + "transformer.";
    if (!starts_with(name, transformer)) {
        return name;
    }
    const std::string rest = name.substr(transformer.size());
    if (is_open_clip) {
        return prefix + "model." + rest;
    }
    for (const char* part : PARTS) {
        if (starts_with(rest, part)) {
            return transformer + "text_model." + rest;
        }
    }
    return name;
}

// The dimension that counts outputs: of a matrix the second, of a bias the first.
int64_t& rows_of(TensorStorage& tensor) {
    return tensor.ne[tensor.n_dims > 1 ? tensor.n_dims - 1 : 0];
}

// A modulation of two halves, scale before shift: that of the output, and of SD3's last block, which has no output for the text.
bool is_last_modulation(const String2TensorStorage& tensors, const std::string& module) {
    const std::string last_of_text = ".norm1_context.linear";
    if (!ends_with(module, last_of_text)) {
        return module == std::string(DIFFUSION) + "norm_out.linear";
    }
    const auto weight = tensors.find(module + ".weight");
    return weight != tensors.end() && weight->second.n_dims == 2 && weight->second.ne[1] == 2 * weight->second.ne[0];
}

// diffusers has scale before shift in the last modulation of Flux and SD3, and the engine shift before scale.
void exchange_halves(String2TensorStorage& tensors) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors) {
        const size_t dot = name.rfind('.');
        if (dot != std::string::npos && starts_with(name, DIFFUSION) && is_last_modulation(tensors, name.substr(0, dot))) {
            names.push_back(name);
        }
    }
    for (const std::string& name : names) {
        TensorStorage& found = tensors[name];
        if (rows_of(found) % 2 != 0) {
            continue;
        }
        TensorStorage second = found;
        rows_of(second) /= 2;
        TensorStorage first = second;
        first.offset += static_cast<uint64_t>(first.nbytes_to_read());
        second.name          = name + ".1";
        found                = first;
        tensors[second.name] = second;
    }
}

// The engine tells SD3 by its own names alone.
void name_sd3(String2TensorStorage& tensors) {
    const std::string diffusion = DIFFUSION;
    if (tensors.find(diffusion + "pos_embed.proj.weight") == tensors.end() ||
        tensors.find(diffusion + "transformer_blocks.0.attn.add_q_proj.weight") == tensors.end()) {
        return;
    }
    rename_all(tensors, [&](const std::string& name) {
        return starts_with(name, diffusion) ? diffusion + convert_diffusers_dit_to_original_sd3(name.substr(diffusion.size())) : name;
    });
}

// A part of a name, and another program's.
struct Renaming {
    const char* theirs;
    const char* ours;
};

// diffusers' names within a block of a UNet.
constexpr Renaming RESIDUAL_PARTS[] = {
    {"norm1.", "in_layers.0."},  {"conv1.", "in_layers.2."},  {"time_emb_proj.", "emb_layers.1."},
    {"norm2.", "out_layers.0."}, {"conv2.", "out_layers.3."}, {"conv_shortcut.", "skip_connection."},
};
// diffusers' names of a ControlNet outside of its blocks.
constexpr Renaming CONTROL_PARTS[] = {
    {"conv_in.", "input_blocks.0.0."},
    {"time_embedding.linear_1.", "time_embed.0."},
    {"time_embedding.linear_2.", "time_embed.2."},
    {"add_embedding.linear_1.", "label_emb.0.0."},
    {"add_embedding.linear_2.", "label_emb.0.2."},
    {"controlnet_mid_block.", "middle_block_out.0."},
    {"controlnet_cond_embedding.conv_in.", "input_hint_block.0."},
    {"controlnet_cond_embedding.conv_out.", "input_hint_block.14."},
    {"mid_block.attentions.0.", "middle_block.1."},
};
// Blocks of the UNets that diffusers' names number by level: two, then what halves the picture.
constexpr int BLOCKS_OF_LEVEL = 3;

// The number at the start of a text, and what comes after it and a dot; false where there is none.
bool take_number(std::string& text, int& number) {
    const size_t dot = text.find('.');
    if (dot == 0 || dot == std::string::npos || dot > 3 || text.find_first_not_of("0123456789") != dot) {
        return false;
    }
    number = std::atoi(text.c_str());
    text   = text.substr(dot + 1);
    return true;
}

bool take_start(std::string& text, const char* start) {
    if (!starts_with(text, start)) {
        return false;
    }
    text = text.substr(std::strlen(start));
    return true;
}

std::string residual_name(const std::string& block, const std::string& rest) {
    for (const Renaming& part : RESIDUAL_PARTS) {
        if (starts_with(rest, part.theirs)) {
            return block + part.ours + rest.substr(std::strlen(part.theirs));
        }
    }
    return block + rest;
}

// The engine's name of a tensor of a ControlNet in diffusers' names.
std::string controlnet_name(const std::string& name) {
    for (const Renaming& part : CONTROL_PARTS) {
        if (starts_with(name, part.theirs)) {
            return part.ours + name.substr(std::strlen(part.theirs));
        }
    }
    std::string rest = name;
    int level        = 0;
    int index        = 0;
    if (take_start(rest, "controlnet_cond_embedding.blocks.") && take_number(rest, index)) {
        return "input_hint_block." + std::to_string(2 * (index + 1)) + '.' + rest;
    }
    rest = name;
    if (take_start(rest, "controlnet_down_blocks.") && take_number(rest, index)) {
        return "zero_convs." + std::to_string(index) + ".0." + rest;
    }
    rest = name;
    if (take_start(rest, "mid_block.resnets.") && take_number(rest, index)) {
        return residual_name("middle_block." + std::to_string(2 * index) + '.', rest);
    }
    rest = name;
    if (!take_start(rest, "down_blocks.") || !take_number(rest, level)) {
        return name;
    }
    const auto block = [&](int within) { return "input_blocks." + std::to_string(BLOCKS_OF_LEVEL * level + within + 1) + '.'; };
    if (take_start(rest, "downsamplers.0.conv.")) {
        return block(BLOCKS_OF_LEVEL - 1) + "0.op." + rest;
    }
    if (take_start(rest, "resnets.")) {
        return take_number(rest, index) ? residual_name(block(index) + "0.", rest) : name;
    }
    return take_start(rest, "attentions.") && take_number(rest, index) ? block(index) + "1." + rest : name;
}

bool is_number(const std::string& text) {
    for (const char it : text) {
        if (std::isdigit(static_cast<unsigned char>(it)) == 0) {
            return false;
        }
    }
    return !text.empty();
}

}  // namespace

bool name_diffusion(String2TensorStorage& tensors) {
    const std::string diffusion = DIFFUSION;
    for (const char* inner : {"diffusion_model.", "transformer."}) {
        const std::string twice = diffusion + inner;
        if (any_starts(tensors, twice)) {
            rename_all(tensors, [&](const std::string& name) { return starts_with(name, twice) ? diffusion + name.substr(twice.size()) : name; });
        }
    }
    if (any_starts(tensors, diffusion + "down_blocks.")) {
        rename_all(tensors, [&](const std::string& name) { return starts_with(name, diffusion) ? DIFFUSERS + name.substr(diffusion.size()) : name; });
    }
    return any_starts(tensors, diffusion + "input_blocks.") || any_starts(tensors, std::string(DIFFUSERS) + "down_blocks.");
}

void adopt_names(String2TensorStorage& tensors) {
    name_diffusion(tensors);
    for (const char* mark : PREDICTION_MARKS) {
        const auto prefixed = tensors.find(std::string(DIFFUSION) + mark);
        if (prefixed != tensors.end()) {
            TensorStorage own = prefixed->second;
            own.name          = mark;
            tensors.erase(prefixed);
            tensors[mark] = own;
        }
    }
    exchange_halves(tensors);
    name_sd3(tensors);
    for (const std::string& start : comfyui_language_models(tensors)) {
        const std::string transformer = start + "transformer.";
        rename_all(tensors, [&](const std::string& name) {
            return starts_with(name, transformer) ? LANGUAGE_MODEL + name.substr(transformer.size()) : name;
        });
    }
    // Of all files, those of a ControlNet alone have no beginning of their own.
    if (any_starts(tensors, "controlnet_cond_embedding.")) {
        rename_all(tensors, controlnet_name);
    }
    for (const char* prefix : CLIPS) {
        const bool is_open_clip = any_starts(tensors, std::string(prefix) + "transformer.transformer.resblocks.");
        const auto rename       = [&](const std::string& name) { return clip_name(name, prefix, is_open_clip); };
        for (const auto& [name, tensor] : tensors) {
            if (rename(name) != name) {
                rename_all(tensors, rename);
                break;
            }
        }
        const auto projection = tensors.find(std::string(prefix) + PROJECTION);
        if (projection != tensors.end() && projection->second.n_dims == 2) {
            // `conditioner.embedders.` is `cond_stage_model.` to the engine (`convert_tensor_name`).
            const std::string start = std::strcmp(prefix, "conditioner.embedders.0.") == 0   ? "cond_stage_model."
                                      : std::strcmp(prefix, "conditioner.embedders.1.") == 0 ? "cond_stage_model.1."
                                                                                             : prefix;
            TensorStorage mark                        = projection->second;
            mark.name                                 = TRANSPOSED + start + ENGINE_PROJECTION;
            tensors[mark.name]                        = mark;
        }
    }
    // The engine's own converter gives OpenCLIP's projection the engine's name, and does not turn it. No other program writes this name.
    const auto converted = tensors.find(std::string("cond_stage_model.1.") + ENGINE_PROJECTION);
    if (converted != tensors.end() && converted->second.n_dims == 2) {
        TensorStorage mark = converted->second;
        mark.name          = TRANSPOSED + mark.name;
        tensors[mark.name] = mark;
    }
    // A file of the VAE alone, in the names of a whole model.
    const std::string vae = "vae.first_stage_model.";
    if (any_starts(tensors, vae)) {
        rename_all(tensors, [&](const std::string& name) { return starts_with(name, vae) ? "vae." + name.substr(vae.size()) : name; });
    }
}

bool has_vae_encoder(const String2TensorStorage& tensors) {
    return any_starts(tensors, "first_stage_model.encoder.");
}

void join_parts(String2TensorStorage& tensors) {
    for (auto& [name, tensor] : tensors) {
        for (int index = 1;; ++index) {
            const auto part = tensors.find(name + '.' + std::to_string(index));
            if (part == tensors.end() || part->second.type != tensor.type || part->second.n_dims != tensor.n_dims) {
                break;
            }
            rows_of(tensor) += rows_of(part->second);
        }
    }
}

Parts parts_of(const String2TensorStorage& tensors) {
    Parts all;
    for (const auto& [name, tensor] : tensors) {
        std::vector<TensorStorage> parts = {tensor};
        for (int index = 1;; ++index) {
            const auto part = tensors.find(name + '.' + std::to_string(index));
            if (part == tensors.end() || part->second.type != tensor.type || part->second.n_dims != tensor.n_dims) {
                break;
            }
            TensorStorage own = part->second;
            rows_of(parts.front()) -= rows_of(own);
            parts.push_back(own);
        }
        if (parts.size() > 1 && rows_of(parts.front()) > 0) {
            all.emplace(name, std::move(parts));
        }
    }
    return all;
}

bool is_mark(const std::string& name) {
    return starts_with(name, TRANSPOSED);
}

std::set<std::string> transposed_weights(const String2TensorStorage& tensors) {
    std::set<std::string> names;
    for (const auto& [name, tensor] : tensors) {
        if (starts_with(name, TRANSPOSED)) {
            names.insert(name.substr(std::strlen(TRANSPOSED)));
        }
    }
    return names;
}

void transpose(char* values, int64_t columns, int64_t rows, ggml_type type) {
    if (ggml_is_quantized(type)) {
        if (ggml_quantize_requires_imatrix(type)) {
            throw std::runtime_error(std::string("a text projection cannot be of the type ") + ggml_type_name(type));
        }
        std::vector<float> numbers(static_cast<size_t>(columns * rows));
        ggml_get_type_traits(type)->to_float(values, numbers.data(), columns * rows);
        transpose(reinterpret_cast<char*>(numbers.data()), columns, rows, GGML_TYPE_F32);
        ggml_quantize_chunk(type, numbers.data(), values, 0, columns, rows, nullptr);
        return;
    }
    const size_t number_bytes = ggml_type_size(type);
    const std::vector<char> before(values, values + static_cast<size_t>(columns * rows) * number_bytes);
    for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < columns; ++column) {
            std::memcpy(values + static_cast<size_t>(column * rows + row) * number_bytes,
                        before.data() + static_cast<size_t>(row * columns + column) * number_bytes, number_bytes);
        }
    }
}

std::vector<std::string> shards_of(const std::string& path) {
    // `...-00001-of-00003.ending`
    const size_t dot   = path.rfind('.');
    const size_t parts = std::string("-of-").size();
    if (dot == std::string::npos || dot < 2 * DIGITS + parts + 1) {
        return {};
    }
    const size_t count_at = dot - DIGITS;
    const size_t index_at = count_at - parts - DIGITS;
    const std::string count_text = path.substr(count_at, DIGITS);
    if (path.substr(count_at - parts, parts) != "-of-" || path[index_at - 1] != '-' || !is_number(count_text) ||
        !is_number(path.substr(index_at, DIGITS))) {
        return {};
    }
    const int count = std::atoi(count_text.c_str());
    if (count < 2 || count > MAX_SHARDS) {
        return {};
    }
    std::vector<std::string> shards;
    for (int index = 1; index <= count; ++index) {
        char number[DIGITS + 1];
        std::snprintf(number, sizeof(number), "%05d", index % 100000);
        shards.push_back(path.substr(0, index_at) + number + path.substr(index_at + DIGITS));
    }
    return shards;
}

}  // namespace atelier
