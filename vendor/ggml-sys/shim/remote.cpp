// Client and server of ggml's RPC, and the server's cache of weights.
#include "remote.h"

#include <fstream>
#include <random>
#include <system_error>
#include <vector>

#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml-rpc.h"
#include "job.h"
#include "shim.h"
#include "transport.h"

// Added to ggml-rpc.cpp by its patch: serves one client until it disconnects.
void atelier_rpc_serve_client(const std::vector<ggml_backend_t>& backends, const char* cache_dir, socket_ptr sock);

namespace atelier {

void store_cached_weights(const std::filesystem::path& path, const uint8_t* data, size_t size) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
        return;
    }
    std::filesystem::path part = path;
    part += "." + std::to_string(std::random_device{}()) + ".part";
    std::ofstream file(part, std::ios::binary);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    file.close();
    if (file) {
        std::filesystem::rename(part, path, error);
    }
    if (!file || error) {
        std::filesystem::remove(part, error);
    }
}

bool add_server(const char* endpoint) {
    ggml_backend_reg_t reg = ggml_backend_rpc_add_server(endpoint);
    if (reg == nullptr) {
        return false;
    }
    {
        std::lock_guard<std::mutex> lock(device_list_mutex());
        ggml_backend_register(reg);
    }
    // Connects to the server, whose answer ggml stores: without it, a device has no buffer type, and the engine's assert fails.
    for (size_t i = 0; i < ggml_backend_reg_dev_count(reg); ++i) {
        ggml_backend_dev_buffer_type(ggml_backend_reg_dev_get(reg, i));
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

}  // namespace

bool serve_client(int64_t socket, const char* const* devices, size_t count, int threads, const char* cache_dir) {
    const socket_ptr client = socket_t::from_socket(socket, "");
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
    atelier_rpc_serve_client(backends.all, cache_dir, client);
    return true;
}

}  // namespace atelier

const char* atelier_rpc_version(void) {
    static const std::string version = std::to_string(RPC_PROTO_MAJOR_VERSION) + '.' + std::to_string(RPC_PROTO_MINOR_VERSION) + '.' +
                                       std::to_string(RPC_PROTO_PATCH_VERSION) + '/' + std::to_string(GGML_MAX_NAME);
    return version.c_str();
}
