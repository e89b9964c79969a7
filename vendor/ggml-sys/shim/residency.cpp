// Weights of a context in memory: listing, freeing, preloading, and sharing of modules between contexts.
//
// A context stays valid when its weights are freed: the engine reads them again at the next graph that needs them. So a lender can free all
// weights but those that are borrowed.

#include <algorithm>
#include <string>
#include <typeinfo>
#include <vector>

#include "context.h"
#include "error_boundary.h"
#include "ggml-cpu.h"
#include "job.h"

using atelier::run_guarded;
using atelier::Job;
using atelier::last_error;
using atelier::reject;

namespace {

// Access to private members of the engine: an explicit instantiation may name one, and passes the pointer to it to a friend function.
template <auto Member, typename Tag>
struct PrivateMember {
    friend auto private_member(Tag) { return Member; }
};

struct StorageBlocks {
    friend auto private_member(StorageBlocks);
};
struct StagingBlocks {
    friend auto private_member(StagingBlocks);
};
struct FreeStorage {
    friend auto private_member(FreeStorage);
};
struct FreeStaging {
    friend auto private_member(FreeStaging);
};
struct States {
    friend auto private_member(States);
};
struct LoadParams {
    friend auto private_member(LoadParams);
};
template struct PrivateMember<&ModelManager::params_storage_blocks_, StorageBlocks>;
template struct PrivateMember<&ModelManager::compute_staging_blocks_, StagingBlocks>;
template struct PrivateMember<&ModelManager::free_params_storage_block, FreeStorage>;
template struct PrivateMember<&ModelManager::release_compute_staging_blocks, FreeStaging>;
template struct PrivateMember<&ModelManager::tensor_states_, States>;
template struct PrivateMember<&ModelManager::load_tensors_to_params_backend, LoadParams>;

// Of a `ModelManager::TensorState`, a private type.
template <typename State>
int module_of(const State* state) {
    return state == nullptr ? ATELIER_MODULE_NONE : atelier::module_of(state->name.c_str());
}

bool contains(int module, uint32_t modules) {
    return module >= 0 && (modules & (1u << module)) != 0;
}

const char* device_of(ggml_backend_buffer_t buffer) {
    ggml_backend_dev_t device = ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buffer));
    // Pinned host memory belongs to a GPU's driver, but is RAM.
    if (device == nullptr || ggml_backend_buffer_is_host(buffer)) {
        device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    }
    return device == nullptr ? "" : ggml_backend_dev_name(device);
}

// Sums of bytes by module and device, in an array of the caller's.
class ModuleMemoryList {
public:
    ModuleMemoryList(atelier_module_memory* out, size_t capacity) : out_(out), capacity_(capacity) {}

    void add(int module, ggml_backend_buffer_t buffer) {
        if (buffer == nullptr) {
            return;
        }
        const char* device   = device_of(buffer);
        const uint64_t bytes = ggml_backend_buffer_get_size(buffer);
        for (size_t i = 0; i < std::min(count_, capacity_); ++i) {
            if (out_[i].module == module && std::string(out_[i].device) == device) {
                out_[i].bytes += bytes;
                return;
            }
        }
        if (count_ < capacity_) {
            out_[count_] = {module, device, bytes};
        }
        ++count_;
    }
    size_t count() const { return count_; }

private:
    atelier_module_memory* out_;
    size_t capacity_;
    size_t count_ = 0;
};

// True for runners of the same type, which decides how they read their weights.
template <typename Base>
bool have_same_type(const std::shared_ptr<Base>& left, const std::shared_ptr<Base>& right) {
    return left != nullptr && right != nullptr && typeid(*left) == typeid(*right);
}

}  // namespace

size_t atelier_context_module_memory(const atelier_context* context, atelier_module_memory* out, size_t capacity) {
    if (context == nullptr || out == nullptr) {
        return 0;
    }
    ModuleMemoryList list(out, capacity);
    run_guarded(nullptr, [&] {
        ModelManager& manager = *context->sd->sd->model_manager;
        for (const auto& block : manager.*private_member(StorageBlocks{})) {
            if (block != nullptr && !block->states.empty()) {
                list.add(module_of(block->states.front()), block->buffer);
            }
        }
        for (const auto& block : manager.*private_member(StagingBlocks{})) {
            if (block != nullptr && !block->staged_tensors.empty()) {
                list.add(module_of(block->staged_tensors.front().first), block->buffer);
            }
        }
        return ATELIER_OK;
    });
    return list.count();
}

const char* atelier_context_unused_tensor(const atelier_context* context, size_t index) {
    return index < context->unused_tensors.size() ? context->unused_tensors[index].c_str() : nullptr;
}

bool atelier_context_is_lost(const atelier_context* context) {
    bool is_lost = false;
    run_guarded(nullptr, [&] {
        ModelManager& manager = *context->sd->sd->model_manager;
        for (const auto& block : manager.*private_member(StorageBlocks{})) {
            is_lost = is_lost || (block != nullptr && block->buffer != nullptr && atelier_rpc_is_lost(block->buffer));
        }
        for (const auto& block : manager.*private_member(StagingBlocks{})) {
            is_lost = is_lost || (block != nullptr && block->buffer != nullptr && atelier_rpc_is_lost(block->buffer));
        }
        return ATELIER_OK;
    });
    return is_lost;
}

bool atelier_context_has_known_format(const atelier_context* context) {
    bool has_known_format = false;
    run_guarded(nullptr, [&] {
        ModelManager& manager = *context->sd->sd->model_manager;
        // Tensors have their types before they are read.
        for (const auto& state : manager.*private_member(States{})) {
            const bool is_computed_with = state != nullptr && state->tensor != nullptr && ggml_backend_is_cpu(state->compute_backend);
            has_known_format            = has_known_format || (is_computed_with && atelier::format_of(state->tensor->type) != ATELIER_FORMAT_OTHER);
        }
        return ATELIER_OK;
    });
    return has_known_format;
}

atelier_status atelier_context_release(atelier_context* context, uint32_t modules) {
    if (context == nullptr) {
        return reject("there is no context");
    }
    return run_guarded(nullptr, [=] {
        ModelManager& manager = *context->sd->sd->model_manager;
        (manager.*private_member(FreeStaging{}))(true, nullptr);
        auto& blocks = manager.*private_member(StorageBlocks{});
        for (auto it = blocks.begin(); it != blocks.end();) {
            const auto& states = (*it)->states;
            if (std::all_of(states.begin(), states.end(), [=](const auto* state) { return contains(module_of(state), modules); })) {
                (manager.*private_member(FreeStorage{}))(**it);
                it = blocks.erase(it);
            } else {
                ++it;
            }
        }
        return ATELIER_OK;
    });
}

atelier_status atelier_context_borrow(atelier_context* context, atelier_context* lender, uint32_t modules) {
    if (context == nullptr || lender == nullptr || context == lender) {
        return reject("borrowing needs two contexts");
    }
    return run_guarded(nullptr, [=] {
        StableDiffusionGGML* to   = context->sd->sd;
        StableDiffusionGGML* from = lender->sd->sd;
        const auto fail           = [](const char* reason) {
            last_error = reason;
            return ATELIER_FAILED;
        };
        if (to->version != from->version) {
            return fail("the models are of different families");
        }
        if (std::any_of(context->text_encoders.begin(), context->text_encoders.end(), [=](const auto& it) { return contains(it.module, modules); })) {
            if (context->conditioner == nullptr || lender->conditioner == nullptr ||
                !context->conditioner->has_same_type(*lender->conditioner)) {
                return fail("the text encoders are of different kinds");
            }
            // The replaced one stays alive, without weights: the context's list of tensors refers to it.
            context->replaced_modules.push_back(std::move(context->conditioner));
            context->conditioner   = lender->conditioner;
            context->text_encoders = lender->text_encoders;
            to->cond_stage_model   = context->conditioner;
        }
        if (contains(ATELIER_MODULE_VAE, modules)) {
            const bool same_previews = (to->preview_vae == nullptr) == (from->preview_vae == nullptr);
            if (!have_same_type(to->first_stage_model, from->first_stage_model) || !same_previews) {
                return fail("the VAEs are of different kinds");
            }
            context->replaced_modules.push_back(std::move(to->first_stage_model));
            to->first_stage_model = from->first_stage_model;
            if (to->preview_vae != nullptr) {
                context->replaced_modules.push_back(std::move(to->preview_vae));
                to->preview_vae = from->preview_vae;
            }
        }
        return ATELIER_OK;
    });
}

atelier_status atelier_context_preload(atelier_context* context, uint32_t modules, const atelier_callbacks* callbacks) {
    if (context == nullptr || callbacks == nullptr) {
        return reject("loading needs a context and callbacks");
    }
    Job job(*callbacks);
    return run_guarded(&job, [&] {
        job.enter_phase(ATELIER_PHASE_LOADING);
        ModelManager& manager = *context->sd->sd->model_manager;
        auto& states          = manager.*private_member(States{});
        for (int module = 0; module <= ATELIER_MODULE_PHOTOMAKER; ++module) {
            using State = std::remove_reference_t<decltype(*states.front())>;
            std::vector<State*> wanted;
            for (const auto& state : states) {
                const bool is_in_memory = state != nullptr && state->residency_mode == ModelManager::ResidencyMode::ParamBackend;
                if (is_in_memory && contains(module, modules) && module_of(state.get()) == module) {
                    wanted.push_back(state.get());
                }
            }
            if (wanted.empty()) {
                continue;
            }
            if (job.is_cancelled()) {
                return ATELIER_CANCELLED;
            }
            if (!(manager.*private_member(LoadParams{}))(wanted)) {
                last_error = "the weights could not be read";
                return job.is_cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
            }
        }
        return ATELIER_OK;
    });
}
