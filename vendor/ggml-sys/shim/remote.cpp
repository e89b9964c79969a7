// Client and server of ggml's RPC, and the server's checks of what a borrower sends.
#include "remote.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-rpc.h"
#include "ggml.h"
#include "job.h"
#include "shim.h"
#include "transport.h"

// Added to ggml-rpc.cpp by its patch: serves one client until it disconnects.
void atelier_rpc_serve_client(const std::vector<ggml_backend_t>& backends, socket_ptr sock);

namespace atelier {

namespace {

std::atomic<atelier_hasher> hasher{nullptr};
// Of the borrower that this thread serves; null without a cache.
thread_local const atelier_weights_cache* weights_cache = nullptr;

// Sources that an operation reads without looking whether they are there. 0 for those that have none, or take a function's address.
int sources_of(ggml_op op) {
    switch (op) {
        case GGML_OP_NONE:
        case GGML_OP_ARANGE:
            return 0;
        case GGML_OP_ADD:
        case GGML_OP_ADD1:
        case GGML_OP_ACC:
        case GGML_OP_SUB:
        case GGML_OP_MUL:
        case GGML_OP_DIV:
        case GGML_OP_COUNT_EQUAL:
        case GGML_OP_CONCAT:
        case GGML_OP_SILU_BACK:
        case GGML_OP_RMS_NORM_BACK:
        case GGML_OP_MUL_MAT:
        case GGML_OP_OUT_PROD:
        case GGML_OP_SET:
        case GGML_OP_CPY:
        case GGML_OP_GET_ROWS:
        case GGML_OP_GET_ROWS_BACK:
        case GGML_OP_SET_ROWS:
        case GGML_OP_SOFT_MAX_BACK:
        case GGML_OP_ROPE:
        case GGML_OP_ROPE_BACK:
        case GGML_OP_CONV_TRANSPOSE_1D:
        case GGML_OP_IM2COL:
        case GGML_OP_IM2COL_BACK:
        case GGML_OP_IM2COL_3D:
        case GGML_OP_CONV_2D:
        case GGML_OP_CONV_3D:
        case GGML_OP_CONV_2D_DW:
        case GGML_OP_CONV_TRANSPOSE_2D:
        case GGML_OP_POOL_2D_BACK:
        case GGML_OP_SSM_CONV:
        case GGML_OP_SOLVE_TRI:
        case GGML_OP_CROSS_ENTROPY_LOSS:
            return 2;
        case GGML_OP_ADD_ID:
        case GGML_OP_MUL_MAT_ID:
        case GGML_OP_FLASH_ATTN_EXT:
        case GGML_OP_ADD_REL_POS:
        case GGML_OP_CROSS_ENTROPY_LOSS_BACK:
        case GGML_OP_OPT_STEP_SGD:
            return 3;
        case GGML_OP_FLASH_ATTN_BACK:
            return 4;
        case GGML_OP_GATED_LINEAR_ATTN:
        case GGML_OP_OPT_STEP_ADAMW:
            return 5;
        case GGML_OP_RWKV_WKV6:
        case GGML_OP_GATED_DELTA_NET:
            return 6;
        case GGML_OP_SSM_SCAN:
        case GGML_OP_RWKV_WKV7:
            return 7;
        default:
            return 1;
    }
}

bool has_memory(const ggml_tensor* tensor) {
    return tensor->buffer != nullptr || ggml_nelements(tensor) == 0;
}

}  // namespace

bool is_within_buffer(const ggml_tensor* tensor) {
    const uint64_t begin = reinterpret_cast<uint64_t>(ggml_backend_buffer_get_base(tensor->buffer));
    const uint64_t size  = ggml_backend_buffer_get_size(tensor->buffer);
    const uint64_t data  = reinterpret_cast<uint64_t>(tensor->data);
    if (data < begin || data - begin > size) {
        return false;
    }
    // Of unsigned 32-bit shapes and strides: a product does not overflow, the sum is bounded at each step.
    const uint64_t block = ggml_blck_size(tensor->type);
    const uint64_t left  = size - (data - begin);
    uint64_t bytes       = ggml_type_size(tensor->type);
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (tensor->ne[i] < 0) {
            return false;
        }
        if (tensor->ne[i] == 0) {
            return true;
        }
        const uint64_t steps = i == 0 && block > 1 ? static_cast<uint64_t>(tensor->ne[0] + block - 1) / block - 1 : static_cast<uint64_t>(tensor->ne[i] - 1);
        // The rows of a quantised tensor are contiguous, whatever its first stride says.
        const uint64_t stride = i == 0 && block > 1 ? ggml_type_size(tensor->type) : static_cast<uint64_t>(tensor->nb[i]);
        if (steps > (uint64_t(1) << 32) || stride > (uint64_t(1) << 31) * 2 || steps * stride > left) {
            return false;
        }
        bytes += steps * stride;
        if (bytes > left) {
            return false;
        }
    }
    return true;
}

bool is_computable(const ggml_tensor* node) {
    switch (node->op) {
        case GGML_OP_MAP_CUSTOM1:
        case GGML_OP_MAP_CUSTOM2:
        case GGML_OP_MAP_CUSTOM3:
        case GGML_OP_CUSTOM:
            return false;  // their parameters are addresses of functions
        case GGML_OP_UNARY:
            if (static_cast<uint32_t>(node->op_params[0]) >= GGML_UNARY_OP_COUNT) {
                return false;
            }
            break;
        case GGML_OP_GLU:
            if (static_cast<uint32_t>(node->op_params[0]) >= GGML_GLU_OP_COUNT) {
                return false;
            }
            break;
        default:
            break;
    }
    for (int i = 0; i < GGML_MAX_SRC; ++i) {
        if (node->src[i] == nullptr ? i < sources_of(node->op) : !has_memory(node->src[i])) {
            return false;
        }
    }
    return has_memory(node);
}

bool sha256(const void* data, size_t size, uint8_t* hash) {
    const atelier_hasher hash_bytes = hasher.load();
    if (hash_bytes != nullptr) {
        hash_bytes(static_cast<const uint8_t*>(data), size, hash);
    }
    return hash_bytes != nullptr;
}

bool has_weights_cache() {
    return weights_cache != nullptr;
}

void store_cached_weights(const uint8_t* data, size_t size) {
    if (weights_cache != nullptr) {
        weights_cache->store(weights_cache->user, data, size);
    }
}

bool load_cached_weights(const uint8_t* hash, size_t size, std::vector<uint8_t>& data) {
    if (weights_cache == nullptr || !weights_cache->contains(weights_cache->user, hash, size)) {
        return false;
    }
    data.resize(size);
    return weights_cache->load(weights_cache->user, hash, data.data(), size);
}

bool connect_server(const char* endpoint) {
    ggml_backend_reg_t reg = ggml_backend_rpc_add_server(endpoint);
    // The server's answer, which ggml stores: without it a device has no buffer type, and the engine's assert fails.
    for (size_t i = 0; reg != nullptr && i < ggml_backend_reg_dev_count(reg); ++i) {
        if (ggml_backend_dev_buffer_type(ggml_backend_reg_dev_get(reg, i)) == nullptr) {
            return false;
        }
    }
    return reg != nullptr;
}

bool add_server(const char* endpoint) {
    if (!connect_server(endpoint)) {
        return false;
    }
    ggml_backend_reg_t reg = ggml_backend_rpc_add_server(endpoint);
    {
        std::lock_guard<std::mutex> lock(device_list_mutex());
        ggml_backend_register(reg);
    }
    hook_devices();
    return true;
}

bool is_remote(ggml_backend_dev_t device) {
    return ggml_backend_dev_backend_reg(device) == ggml_backend_rpc_reg();
}

namespace {

struct Backends {
    std::vector<ggml_backend_t> all;

    ~Backends() {
        for (ggml_backend_t backend : all) {
            ggml_backend_free(backend);
        }
    }
};

struct WeightsCacheScope {
    explicit WeightsCacheScope(const atelier_weights_cache* cache) { weights_cache = cache; }
    ~WeightsCacheScope() { weights_cache = nullptr; }
};

}  // namespace

bool serve_client(int64_t socket, const char* const* devices, size_t count, int threads, const atelier_weights_cache* cache) {
    const socket_ptr client = socket_t::from_socket(socket, "", false);
    set_simulated_threads(threads);
    Backends backends;
    for (size_t i = 0; i < count; ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_by_name(devices[i]);
        ggml_backend_t backend    = device == nullptr ? nullptr : ggml_backend_dev_init(device, nullptr);
        if (backend == nullptr) {
            return false;
        }
        backends.all.push_back(backend);
        if (ggml_backend_is_cpu(backend)) {
            ggml_backend_cpu_set_n_threads(backend, threads > 0 ? threads : 1);
        }
    }
    const WeightsCacheScope scope(cache);
    atelier_rpc_serve_client(backends.all, client);
    return true;
}

}  // namespace atelier

const char* atelier_rpc_version(void) {
    static const std::string version = std::to_string(RPC_PROTO_MAJOR_VERSION) + '.' + std::to_string(RPC_PROTO_MINOR_VERSION) + '.' +
                                       std::to_string(RPC_PROTO_PATCH_VERSION) + '/' + std::to_string(GGML_MAX_NAME);
    return version.c_str();
}

void atelier_rpc_set_hasher(atelier_hasher hash) {
    atelier::hasher = hash;
}
