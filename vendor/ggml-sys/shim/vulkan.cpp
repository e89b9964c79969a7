// Loads the Vulkan loader at run time: defines the three functions that ggml links (it gets all others from the first of them). A program
// that is linked to the loader does not start on a machine without it.
//
// The signatures are Vulkan's, with handles as 64-bit words, so that no Vulkan header is needed.
#include <cstdint>
#include <cstring>

#include "shim.h"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

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

class Loader {
public:
    Loader() {
        for (const char* name : LOADERS) {
#ifdef _WIN32
            library_ = LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
#else
            library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
#endif
            if (library_ != nullptr) {
                return;
            }
        }
    }

    bool is_loaded() const { return library_ != nullptr; }

    template <typename Type>
    Type find(const char* name) const {
        if (library_ == nullptr) {
            return nullptr;
        }
#ifdef _WIN32
        return reinterpret_cast<Type>(GetProcAddress(library_, name));
#else
        return reinterpret_cast<Type>(dlsym(library_, name));
#endif
    }

private:
    // Never closed: drivers run threads.
#ifdef _WIN32
    HMODULE library_ = nullptr;
#else
    void* library_ = nullptr;
#endif
};

const Loader& loader() {
    static const Loader it;
    return it;
}

// vkEnumerateInstanceVersion without a loader: on its error, ggml continues without Vulkan.
int32_t report_no_vulkan(uint32_t* version) {
    constexpr int32_t INITIALIZATION_FAILED = -3;
    *version                                = 0;
    return INITIALIZATION_FAILED;
}

}  // namespace

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
