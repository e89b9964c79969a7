// Loads the Vulkan loader at run time: defines the three functions that ggml links (it gets all others from the first of them). A program
// that is linked to the loader does not start on a machine without it.
//
// The signatures are Vulkan's, with handles as 64-bit words, so that no Vulkan header is needed.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "driver_version.h"
#include "dynamic_library.h"
#include "shim.h"

namespace {

static_assert(sizeof(void*) == 8, "Vulkan's buffers are 64 bits wide");

using Function = void (*)();

// Names of the loader, with folders that the system does not search by itself.
#if defined(_WIN32)
constexpr const char* LOADERS[] = {"vulkan-1.dll"};
#elif defined(__APPLE__)
constexpr const char* LOADERS[] = {"libvulkan.1.dylib", "/usr/local/lib/libvulkan.1.dylib", "/opt/homebrew/lib/libvulkan.1.dylib"};
#else
constexpr const char* LOADERS[] = {"libvulkan.so.1"};
#endif

const atelier::DynamicLibrary& loader() {
    static const atelier::DynamicLibrary it(LOADERS);
    return it;
}

// vkEnumerateInstanceVersion without a loader: on its error, ggml continues without Vulkan.
int32_t report_no_vulkan(uint32_t* version) {
    constexpr int32_t INITIALIZATION_FAILED = -3;
    *version                                = 0;
    return INITIALIZATION_FAILED;
}

// VkInstanceCreateInfo, of an application without a name, layers and extensions.
struct InstanceInfo {
    int32_t type                  = 1;
    const void* next              = nullptr;
    uint32_t flags                = 0;
    const void* application       = nullptr;
    uint32_t layer_count          = 0;
    const char* const* layers     = nullptr;
    uint32_t extension_count      = 0;
    const char* const* extensions = nullptr;
};

// Beginning of VkPhysicalDeviceProperties, which has 824 bytes.
struct DeviceProperties {
    uint32_t api_version    = 0;
    uint32_t driver_version = 0;
    uint32_t vendor         = 0;
    uint32_t device         = 0;
    int32_t type            = 0;
    char name[256]          = {};
    uint64_t rest[100]      = {};
};
static_assert(sizeof(DeviceProperties) >= 824, "Vulkan writes so many bytes");

}  // namespace

// An instance of our own: ggml shows nobody its own.
std::string atelier::vulkan_driver_version(const char* description) {
    using Create    = int32_t (*)(const InstanceInfo*, const void*, void**);
    const auto find = loader().find<Function (*)(void*, const char*)>("vkGetInstanceProcAddr");
    if (find == nullptr) {
        return {};
    }
    const auto create = reinterpret_cast<Create>(find(nullptr, "vkCreateInstance"));
    const InstanceInfo info;
    void* instance = nullptr;
    if (create == nullptr || create(&info, nullptr, &instance) != 0) {
        return {};
    }
    const auto enumerate = reinterpret_cast<int32_t (*)(void*, uint32_t*, void**)>(find(instance, "vkEnumeratePhysicalDevices"));
    const auto read      = reinterpret_cast<void (*)(void*, DeviceProperties*)>(find(instance, "vkGetPhysicalDeviceProperties"));
    const auto destroy   = reinterpret_cast<void (*)(void*, const void*)>(find(instance, "vkDestroyInstance"));
    std::string version;
    uint32_t count = 0;
    if (enumerate != nullptr && read != nullptr && enumerate(instance, &count, nullptr) == 0) {
        std::vector<void*> devices(count);
        // Fewer may be written than were counted, not more.
        enumerate(instance, &count, devices.data());
        for (uint32_t index = 0; index < count && version.empty(); index++) {
            DeviceProperties properties;
            read(devices[index], &properties);
            properties.name[sizeof(properties.name) - 1] = 0;
            if (std::strcmp(properties.name, description) == 0) {
                // Each maker packs it in another way, so it is only compared.
                version = std::to_string(properties.driver_version);
            }
        }
    }
    if (destroy != nullptr) {
        destroy(instance, nullptr);
    }
    return version;
}

extern "C" {

Function vkGetInstanceProcAddr(void* instance, const char* name) {
    static const auto real = loader().find<Function (*)(void*, const char*)>("vkGetInstanceProcAddr");
    const Function found   = real == nullptr ? nullptr : real(instance, name);
    if (found == nullptr && std::strcmp(name, "vkEnumerateInstanceVersion") == 0) {
        return reinterpret_cast<Function>(report_no_vulkan);
    }
    return found;
}

// Called only with handles of the loader, which is therefore loaded.

void vkCmdCopyBuffer(void* commands, void* from, void* to, uint32_t count, const void* regions) {
    static const auto real = loader().find<void (*)(void*, void*, void*, uint32_t, const void*)>("vkCmdCopyBuffer");
    real(commands, from, to, count, regions);
}

void vkGetPhysicalDeviceFeatures2(void* device, void* features) {
    static const auto real = loader().find<void (*)(void*, void*)>("vkGetPhysicalDeviceFeatures2");
    real(device, features);
}

bool atelier_has_vulkan_loader(void) {
    return loader().is_loaded();
}

}  // extern "C"
