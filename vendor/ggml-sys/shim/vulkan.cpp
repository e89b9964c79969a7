// Vulkan without its loader at link time: the three functions that ggml calls by name (all others it asks the first for), looked up when
// the first is needed. A program that is linked to the loader itself does not even start where there is none.
//
// The signatures are Vulkan's own, with handles as the machine words that they are on every system of 64 bits, so that this file needs
// none of its headers.
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

// What the loader is called, and where it is where the system does not look by itself.
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

    bool is_there() const { return library_ != nullptr; }

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
    // Never closed: drivers have threads of their own.
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

// What ggml asks first. It has to answer, and "no" makes ggml go on without Vulkan.
int32_t no_version(uint32_t* version) {
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
        return reinterpret_cast<Function>(no_version);
    }
    return found;
}

// These two are called only with what the loader has made.

void vkCmdCopyBuffer(void* commands, void* from, void* to, uint32_t count, const void* regions) {
    static const auto real = loader().find<void (*)(void*, void*, void*, uint32_t, const void*)>("vkCmdCopyBuffer");
    real(commands, from, to, count, regions);
}

void vkGetPhysicalDeviceFeatures2(void* device, void* features) {
    static const auto real = loader().find<void (*)(void*, void*)>("vkGetPhysicalDeviceFeatures2");
    real(device, features);
}

bool atelier_vulkan_loader(void) {
    return loader().is_there();
}

}  // extern "C"
