// What a loaded model holds, how it gives parts of that back, and how two models share a part.
//
// A context whose weights were freed stays: the engine reads them again at the next graph that needs them. So a model that lent its text
// encoder to another can lose all else, and only the lender's metadata stays for as long as it is borrowed from.

#include <algorithm>
#include <string>
#include <typeinfo>
#include <vector>

#include "context.h"
#include "guard.h"
#include "job.h"

using atelier::guarded;
using atelier::Job;
using atelier::last_error;
using atelier::refuse;

namespace {

// The language lets an explicit instantiation name a private member: it hands the pointer to a friend.
template <auto Member, typename Tag>
struct Reveal {
    friend auto reveal(Tag) { return Member; }
};

struct StorageBlocks {
    friend auto reveal(StorageBlocks);
};
struct StagingBlocks {
    friend auto reveal(StagingBlocks);
};
struct FreeStorage {
    friend auto reveal(FreeStorage);
};
struct FreeStaging {
    friend auto reveal(FreeStaging);
};
struct States {
    friend auto reveal(States);
};
struct LoadParams {
    friend auto reveal(LoadParams);
};
template struct Reveal<&ModelManager::params_storage_blocks_, StorageBlocks>;
template struct Reveal<&ModelManager::compute_staging_blocks_, StagingBlocks>;
template struct Reveal<&ModelManager::free_params_storage_block, FreeStorage>;
template struct Reveal<&ModelManager::release_compute_staging_blocks, FreeStaging>;
template struct Reveal<&ModelManager::tensor_states_, States>;
template struct Reveal<&ModelManager::load_tensors_to_params_backend, LoadParams>;

template <typename State>
int module_of(const State* state) {
    return state == nullptr ? ATELIER_MODULE_NONE : atelier::module_of(state->name.c_str());
}

bool is_in(int module, uint32_t modules) {
    return module >= 0 && (modules & (1u << module)) != 0;
}

const char* device_of(ggml_backend_buffer_t buffer) {
    ggml_backend_dev_t device = ggml_backend_buft_get_device(ggml_backend_buffer_get_type(buffer));
    // Memory of the host that a card can reach faster is RAM all the same.
    if (device == nullptr || ggml_backend_buffer_is_host(buffer)) {
        device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    }
    return device == nullptr ? "" : ggml_backend_dev_name(device);
}

class Holdings {
public:
    Holdings(atelier_holding* out, size_t capacity) : out_(out), capacity_(capacity) {}

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
    atelier_holding* out_;
    size_t capacity_;
    size_t count_ = 0;
};

// The runner's type decides how it reads its weights.
template <typename Base>
bool same_kind(const std::shared_ptr<Base>& left, const std::shared_ptr<Base>& right) {
    return left != nullptr && right != nullptr && typeid(*left) == typeid(*right);
}

}  // namespace

size_t atelier_context_holdings(const atelier_context* context, atelier_holding* out, size_t capacity) {
    if (context == nullptr || out == nullptr) {
        return 0;
    }
    Holdings holdings(out, capacity);
    guarded(nullptr, [&] {
        ModelManager& manager = *context->sd->sd->model_manager;
        for (const auto& block : manager.*reveal(StorageBlocks{})) {
            if (block != nullptr && !block->states.empty()) {
                holdings.add(module_of(block->states.front()), block->buffer);
            }
        }
        for (const auto& block : manager.*reveal(StagingBlocks{})) {
            if (block != nullptr && !block->staged_tensors.empty()) {
                holdings.add(module_of(block->staged_tensors.front().first), block->buffer);
            }
        }
        return ATELIER_OK;
    });
    return holdings.count();
}

atelier_status atelier_context_release(atelier_context* context, uint32_t modules) {
    if (context == nullptr) {
        return refuse("there is no context");
    }
    return guarded(nullptr, [=] {
        ModelManager& manager = *context->sd->sd->model_manager;
        (manager.*reveal(FreeStaging{}))(true, nullptr);
        auto& blocks = manager.*reveal(StorageBlocks{});
        for (auto it = blocks.begin(); it != blocks.end();) {
            const auto& states = (*it)->states;
            if (std::all_of(states.begin(), states.end(), [=](const auto* state) { return is_in(module_of(state), modules); })) {
                (manager.*reveal(FreeStorage{}))(**it);
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
        return refuse("borrowing needs two contexts");
    }
    return guarded(nullptr, [=] {
        StableDiffusionGGML* to   = context->sd->sd;
        StableDiffusionGGML* from = lender->sd->sd;
        const auto refused        = [](const char* why) {
            last_error = why;
            return ATELIER_FAILED;
        };
        if (to->version != from->version) {
            return refused("the models are of different families");
        }
        if (is_in(ATELIER_MODULE_TE, modules)) {
            if (context->conditioner == nullptr || lender->conditioner == nullptr ||
                !context->conditioner->same_kind(*lender->conditioner)) {
                return refused("the text encoders are of different kinds");
            }
            // Its own is kept, empty: the context's list of tensors points into it.
            context->replaced.push_back(std::move(context->conditioner));
            context->conditioner   = lender->conditioner;
            context->text_encoders = lender->text_encoders;
            to->cond_stage_model   = context->conditioner;
        }
        if (is_in(ATELIER_MODULE_VAE, modules)) {
            const bool both_preview = (to->preview_vae == nullptr) == (from->preview_vae == nullptr);
            if (!same_kind(to->first_stage_model, from->first_stage_model) || !both_preview) {
                return refused("the VAEs are of different kinds");
            }
            context->replaced.push_back(std::move(to->first_stage_model));
            to->first_stage_model = from->first_stage_model;
            if (to->preview_vae != nullptr) {
                context->replaced.push_back(std::move(to->preview_vae));
                to->preview_vae = from->preview_vae;
            }
        }
        return ATELIER_OK;
    });
}

atelier_status atelier_context_warm(atelier_context* context, uint32_t modules, const atelier_callbacks* callbacks) {
    if (context == nullptr || callbacks == nullptr) {
        return refuse("loading needs a context and callbacks");
    }
    Job job(*callbacks);
    return guarded(&job, [&] {
        job.enter(ATELIER_PHASE_LOADING);
        ModelManager& manager = *context->sd->sd->model_manager;
        auto& states          = manager.*reveal(States{});
        for (int module = 0; module <= ATELIER_MODULE_PHOTOMAKER; ++module) {
            using State = std::remove_reference_t<decltype(*states.front())>;
            std::vector<State*> wanted;
            for (const auto& state : states) {
                const bool in_memory = state != nullptr && state->residency_mode == ModelManager::ResidencyMode::ParamBackend;
                if (in_memory && is_in(module, modules) && module_of(state.get()) == module) {
                    wanted.push_back(state.get());
                }
            }
            if (wanted.empty()) {
                continue;
            }
            if (job.cancelled()) {
                return ATELIER_CANCELLED;
            }
            if (!(manager.*reveal(LoadParams{}))(wanted)) {
                last_error = "the weights could not be read";
                return job.cancelled() ? ATELIER_CANCELLED : ATELIER_FAILED;
            }
        }
        return ATELIER_OK;
    });
}
