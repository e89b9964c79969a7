// Conversion of a model's file to GGUF, with other types of weights. A part of the weights is in memory at a time.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "error_boundary.h"
#include "ggml.h"
#include "gguf.h"
#include "job.h"
#include "model_io/gguf_io.h"
#include "model_loader.h"
#include "model_names.h"
#include "weight_scales.h"

// The engine's own (model_loader.cpp), in no header.
bool is_unused_tensor(const std::string& name);

using atelier::Job;
using atelier::last_error;
using atelier::reject;
using atelier::run_guarded;

namespace {

// Weights that are converted at a time, at least one of them.
constexpr size_t BATCH_BYTES = size_t(64) << 20;

using Place = std::pair<size_t, uint64_t>;

struct GgufContext {
    gguf_context* raw = gguf_init_empty();
    ~GgufContext() { gguf_free(raw); }
};

struct TensorContext {
    ggml_context* raw;
    explicit TensorContext(size_t tensors) : raw(ggml_init({tensors * ggml_tensor_overhead(), nullptr, true})) {}
    ~TensorContext() { ggml_free(raw); }
};

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool contains(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

// A part of a weight that the engine joins has the weight's own name, so that all parts get one type.
std::string without_part(const std::string& name) {
    const size_t dot = name.rfind('.');
    const bool is_part = dot != std::string::npos && dot + 1 < name.size() &&
                         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(dot) + 1, name.end(), [](char it) { return it >= '0' && it <= '9'; });
    return is_part ? name.substr(0, dot) : name;
}

// Tables of words: the engine looks rows up in them.
bool is_table(const std::string& name) {
    return contains(name, "embed_tokens.") || contains(name, "token_embd.") || contains(name, "shared.weight");
}

// Types whose rows can be looked up.
bool has_rows(ggml_type type) {
    switch (type) {
        case GGML_TYPE_F16:
        case GGML_TYPE_F32:
        case GGML_TYPE_Q4_0:
        case GGML_TYPE_Q4_1:
        case GGML_TYPE_Q5_0:
        case GGML_TYPE_Q5_1:
        case GGML_TYPE_Q8_0:
            return true;
        default:
            return false;
    }
}

class Conversion {
public:
    Conversion(const char* input, const char* prefix, ggml_type type, const char* rules) : type_(type) {
        for (const auto& [pattern, to] : parse_tensor_type_rules(rules)) {
            rules_.emplace_back(std::regex(pattern), to);
        }
        ModelLoader named;
        is_open_ = loader_.init_from_file(input) && named.init_from_file(input, prefix);
        if (!is_open_) {
            return;
        }
        atelier::adopt_names(named.get_tensor_storage_map());
        named.convert_tensors_name();
        std::map<Place, std::string> names;
        for (const auto& [name, tensor] : named.get_tensor_storage_map()) {
            // Marks of the loader lie where a weight lies.
            if (name.rfind("atelier_", 0) != 0) {
                names[{tensor.file_index, tensor.offset}] = without_part(name);
            }
        }
        for (const auto& [name, tensor] : loader_.get_tensor_storage_map()) {
            if (!is_unused_tensor(name) && !contains(name, atelier::SCALE_NAME)) {
                const auto known = names.find({tensor.file_index, tensor.offset});
                tensors_.push_back({&tensor, type_of(tensor, known == names.end() ? name : known->second)});
            }
        }
        // Read from the front of the file to its end.
        std::sort(tensors_.begin(), tensors_.end(), [](const Converted& one, const Converted& other) {
            return Place(one.from->file_index, one.from->offset) < Place(other.from->file_index, other.from->offset);
        });
    }

    bool is_open() const { return is_open_; }
    ModelLoader& loader() { return loader_; }

    // The header of the new file, and what each tensor takes after it. False with a reason where GGUF has no room for one.
    bool describe(const char* input, const atelier_text_entry* entries, size_t entry_count) {
        keep_entries(input);
        for (size_t at = 0; at < entry_count; ++at) {
            gguf_set_val_str(gguf_.raw, entries[at].key, entries[at].value);
        }
        gguf_set_val_u32(gguf_.raw, "general.quantization_version", 2);
        TensorContext context(tensors_.size() + 1);
        for (const Converted& tensor : tensors_) {
            const std::string& name = tensor.from->name;
            if (name.size() >= GGML_MAX_NAME) {
                last_error = "the name \"" + name + "\" is too long for GGUF";
                return false;
            }
            if (tensor.from->n_dims > GGML_MAX_DIMS) {
                last_error = "\"" + name + "\" has more dimensions than GGUF has";
                return false;
            }
            gguf_add_tensor(gguf_.raw, new_tensor(context.raw, tensor));
        }
        header_.resize(gguf_get_meta_size(gguf_.raw));
        gguf_get_meta_data(gguf_.raw, header_.data());
        return true;
    }

    uint64_t bytes() const {
        uint64_t bytes = header_.size();
        for (const Converted& tensor : tensors_) {
            bytes += padded(bytes_of(tensor));
        }
        return bytes;
    }

    // Writes the file. False with a reason where it cannot be read or written, or was cancelled.
    bool write(const char* output, const Job& job, const atelier_callbacks& callbacks) {
        std::ofstream file(output, std::ios::binary | std::ios::trunc);
        const uint64_t all = bytes();
        uint64_t done      = header_.size();
        write_bytes(file, header_.data(), header_.size());
        for (size_t from = 0; from < tensors_.size() && file; ) {
            size_t to = from, size = 0;
            while (to < tensors_.size() && (to == from || size + bytes_of(tensors_[to]) <= BATCH_BYTES)) {
                size += bytes_of(tensors_[to++]);
            }
            if (!write_batch(file, from, to)) {
                last_error = "the model could not be read";
                return false;
            }
            for (; from < to; ++from) {
                done += padded(bytes_of(tensors_[from]));
            }
            if (job.is_cancelled()) {
                return false;
            }
            callbacks.step(callbacks.user, static_cast<int>(done >> 20), static_cast<int>(all >> 20), 0, 0);
        }
        file.close();
        if (!file) {
            last_error = std::string("the file could not be written: ") + std::strerror(errno);
            return false;
        }
        return true;
    }

private:
    struct Converted {
        const TensorStorage* from;
        ggml_type type;
    };

    // As the engine decides it where a model is loaded, by the engine's name. What it would not keep so stays as it is: what has one
    // dimension, tables of words, what it turns as it reads it.
    ggml_type type_of(const TensorStorage& tensor, const std::string& name) {
        ggml_type to = type_;
        for (const auto& [pattern, type] : rules_) {
            if (std::regex_search(name, pattern)) {
                to = type;
                break;
            }
        }
        TensorStorage named = tensor;
        named.name          = name;
        const bool is_number = !tensor.is_i64 && ggml_get_type_traits(tensor.type)->to_float != nullptr;
        const bool is_kept   = tensor.n_dims < 2 || !is_number || ends_with(name, "text_projection") || ends_with(name, "text_projection.weight") ||
                             (is_table(name) && !has_rows(to));
        const ggml_type type = !is_kept && loader_.tensor_should_be_converted(named, to) ? to : tensor.type;
        // Kernels that were stored as matrices, so that they could be quantised, have their own shape again.
        return tensor.ne[0] % ggml_blck_size(type) == 0 ? type : GGML_TYPE_F16;
    }

    // What a GGUF says of itself goes on being said, but for what is true of that file alone.
    void keep_entries(const char* input) {
        if (!is_gguf_file(input)) {
            return;
        }
        gguf_context* own = gguf_init_from_file(input, {true, nullptr});
        if (own == nullptr) {
            return;
        }
        gguf_set_kv(gguf_.raw, own);
        for (int64_t at = 0; at < gguf_get_n_kv(own); ++at) {
            const std::string key = gguf_get_key(own, at);
            if (key.rfind("comfy.gguf.orig_shape.", 0) == 0 || key.rfind("split.", 0) == 0 || key == "general.alignment" || key == "general.file_type") {
                gguf_remove_key(gguf_.raw, key.c_str());
            }
        }
        gguf_free(own);
    }

    static ggml_tensor* new_tensor(ggml_context* context, const Converted& tensor) {
        ggml_tensor* made = ggml_new_tensor(context, tensor.type, std::max(tensor.from->n_dims, 1), tensor.from->ne);
        ggml_set_name(made, tensor.from->name.c_str());
        return made;
    }

    static size_t bytes_of(const Converted& tensor) {
        return static_cast<size_t>(tensor.from->nelements()) / ggml_blck_size(tensor.type) * ggml_type_size(tensor.type);
    }

    size_t padded(size_t bytes) const { return GGML_PAD(bytes, gguf_get_alignment(gguf_.raw)); }

    static void write_bytes(std::ofstream& file, const void* bytes, size_t size) {
        file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    }

    bool write_batch(std::ofstream& file, size_t from, size_t to) {
        TensorContext context(to - from);
        std::map<std::string, std::pair<ggml_tensor*, std::vector<char>>> made;
        std::set<std::string> names;
        for (size_t at = from; at < to; ++at) {
            ggml_tensor* tensor = new_tensor(context.raw, tensors_[at]);
            auto& [slot, bytes] = made[tensors_[at].from->name];
            slot                = tensor;
            bytes.resize(std::max(padded(bytes_of(tensors_[at])), size_t(1)));
            tensor->data = bytes.data();
            names.insert(tensors_[at].from->name);
        }
        const auto find = [&](const TensorStorage& tensor, ggml_tensor** out) {
            const auto it = made.find(tensor.name);
            *out          = it == made.end() ? nullptr : it->second.first;
            return true;
        };
        if (!loader_.load_tensors(find, false, &names)) {
            return false;
        }
        for (size_t at = from; at < to; ++at) {
            write_bytes(file, made[tensors_[at].from->name].second.data(), padded(bytes_of(tensors_[at])));
        }
        return true;
    }

    ggml_type type_;
    std::vector<std::pair<std::regex, ggml_type>> rules_;
    ModelLoader loader_;
    bool is_open_ = false;
    std::vector<Converted> tensors_;
    GgufContext gguf_;
    std::vector<char> header_;
};

}  // namespace

atelier_status atelier_convert(const char* input,
                               const char* prefix,
                               int type,
                               const char* rules,
                               int threads,
                               const atelier_text_entry* entries,
                               size_t entry_count,
                               const char* output,
                               const atelier_callbacks* callbacks,
                               uint64_t* bytes) {
    if (input == nullptr || prefix == nullptr || rules == nullptr || callbacks == nullptr || bytes == nullptr) {
        return reject("a conversion needs a file, rules and callbacks");
    }
    if (type < 0 || type > GGML_TYPE_COUNT) {
        return reject("there is no such type");
    }
    atelier_init();
    Job job(*callbacks);
    return run_guarded(&job, [&] {
        Conversion conversion(input, prefix, static_cast<ggml_type>(type), rules);
        if (!conversion.is_open()) {
            last_error = "the model could not be read";
            return ATELIER_FAILED;
        }
        if (!conversion.describe(input, entries, entry_count)) {
            return ATELIER_FAILED;
        }
        *bytes = conversion.bytes();
        if (output == nullptr) {
            return ATELIER_OK;
        }
        conversion.loader().set_n_threads(std::max(threads, 1));
        if (!conversion.write(output, job, *callbacks)) {
            return job.is_cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
        }
        return ATELIER_OK;
    });
}
