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

// See lent_bytes.
thread_local uint64_t lent_bytes_of_thread = UINT64_MAX;

}  // namespace

uint64_t lent_bytes() {
    return lent_bytes_of_thread;
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
    // Another server may listen there by now; it has described itself a moment ago.
    connection_to(endpoint)->forget_memory();
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

// What this thread lends, while it serves.
struct LendingScope {
    LendingScope(const atelier_weights_cache* cache, uint64_t memory_bytes) {
        weights_cache        = cache;
        lent_bytes_of_thread = memory_bytes;
    }
    ~LendingScope() {
        weights_cache        = nullptr;
        lent_bytes_of_thread = UINT64_MAX;
    }
};

}  // namespace

bool serve_client(int64_t socket, const char* const* devices, size_t count, int threads, uint64_t memory_bytes,
                  const atelier_weights_cache* cache) {
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
    const LendingScope scope(cache, memory_bytes);
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
