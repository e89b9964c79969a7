// A library of the system, loaded at run time: the program starts without it too.
#pragma once

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace atelier {

class DynamicLibrary {
public:
    // Loads the first of these names that there is.
    template <typename Names>
    explicit DynamicLibrary(const Names& names) {
        for (const char* name : names) {
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

    // The function of this name; nullptr where there is none.
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

}  // namespace atelier
