// Versions of the drivers of graphics cards: what a device computes in a second may change with them.
#include "driver_version.h"

#include <algorithm>
#include <cstring>

#include "dynamic_library.h"
#include "error_boundary.h"
#include "ggml-backend.h"
#include "shim.h"

#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

namespace {

// NVIDIA's management library (nvml.h), which comes with the driver.
std::string nvidia_driver_version() {
#ifdef _WIN32
    constexpr const char* LIBRARIES[] = {"nvml.dll"};
#else
    constexpr const char* LIBRARIES[] = {"libnvidia-ml.so.1"};
#endif
    const atelier::DynamicLibrary library(LIBRARIES);
    const auto init     = library.find<int (*)()>("nvmlInit_v2");
    const auto read     = library.find<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
    const auto shutdown = library.find<int (*)()>("nvmlShutdown");
    if (init == nullptr || read == nullptr || shutdown == nullptr || init() != 0) {
        return {};
    }
    char version[96]      = {};
    const bool is_written = read(version, sizeof(version) - 1) == 0;
    shutdown();
    return is_written ? version : "";
}

// Metal's drivers come with the system.
std::string system_version() {
#ifdef __APPLE__
    char version[64] = {};
    size_t size      = sizeof(version) - 1;
    return sysctlbyname("kern.osproductversion", version, &size, nullptr, 0) == 0 ? version : "";
#else
    return {};
#endif
}

std::string driver_version(ggml_backend_dev_t device) {
    const ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(device);
    const std::string backend         = registry == nullptr ? "" : ggml_backend_reg_name(registry);
    if (backend == "CUDA") {
        return nvidia_driver_version();
    }
    if (backend == "MTL") {
        return system_version();
    }
#ifdef ATELIER_VULKAN
    if (backend == "Vulkan") {
        return atelier::vulkan_driver_version(ggml_backend_dev_description(device));
    }
#endif
    return {};
}

}  // namespace

extern "C" atelier_status atelier_driver_version(const char* name, char* out, size_t capacity) {
    return atelier::run_guarded(nullptr, [=] {
        const ggml_backend_dev_t device = ggml_backend_dev_by_name(name);
        const std::string version       = device == nullptr ? "" : driver_version(device);
        const size_t size               = std::min(version.size(), capacity - 1);
        std::memcpy(out, version.data(), size);
        out[size] = 0;
        return ATELIER_OK;
    });
}
