#include "kept_buffers.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>

#include "ggml-backend-impl.h"
#include "job.h"
#include "shim.h"

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <sys/mman.h>
#endif

namespace atelier {

namespace {

constexpr size_t HUGE_PAGE_BYTES = size_t(2) << 20;

}  // namespace

void wish_huge_pages(void* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    // Whole ones: what lies beside the memory may be another's.
    const uintptr_t start = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t first = (start + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    const uintptr_t end   = (start + bytes) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    if (first < end) {
        madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
    }
#else
    (void)memory;
    (void)bytes;
#endif
}

namespace {

// Smaller buffers are the heap's.
constexpr size_t MIN_BYTES = size_t(1) << 20;
// A multiple of every system's pages. Buffers begin and end at one.
constexpr size_t UNIT_BYTES = size_t(64) << 10;
// What is kept at most. A mapping that would exceed it goes back as soon as it is free.
constexpr size_t MAX_KEPT_BYTES = size_t(1) << 30;
// Smaller weights, such as a LoRA's, leave what is kept in place.
constexpr size_t MIN_WEIGHT_BYTES = size_t(1) << 20;

using Clock = std::chrono::steady_clock;

// System memory. Null where there is none.

char* map_memory(size_t bytes) {
#ifdef _WIN32
    return static_cast<char*>(VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
#else
    const auto map = [](size_t size) {
        void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return start == MAP_FAILED ? nullptr : static_cast<char*>(start);
    };
    if (bytes < HUGE_PAGE_BYTES) {
        return map(bytes);
    }
    char* mapped = map(bytes + HUGE_PAGE_BYTES);
    if (mapped == nullptr) {
        return map(bytes);
    }
    // From a huge page's beginning on; what is too much goes back.
    const size_t before = (HUGE_PAGE_BYTES - reinterpret_cast<uintptr_t>(mapped) % HUGE_PAGE_BYTES) % HUGE_PAGE_BYTES;
    if (before > 0) {
        munmap(mapped, before);
    }
    char* start = mapped + before;
    munmap(start + bytes, HUGE_PAGE_BYTES - before);
    wish_huge_pages(start, bytes);
    return start;
#endif
}

void unmap_memory(char* start, size_t bytes) {
#ifdef _WIN32
    (void)bytes;
    VirtualFree(start, 0, MEM_RELEASE);
#else
    munmap(start, bytes);
#endif
}

// Gives the end of a mapping back.
void trim_memory(char* end, size_t bytes) {
#ifdef _WIN32
    VirtualFree(end, bytes, MEM_DECOMMIT);
#else
    munmap(end, bytes);
#endif
}

struct Mapping {
    char* start;
    size_t bytes;
    std::map<size_t, size_t> used;  // bytes of each buffer by where it begins
    Clock::time_point unused_since;

    size_t used_bytes() const {
        size_t sum = 0;
        for (const auto& it : used) {
            sum += it.second;
        }
        return sum;
    }

    // Calls `visit(offset, bytes)` for each part that is in no buffer.
    template <typename Visit>
    void for_each_gap(Visit visit) const {
        size_t end = 0;
        for (const auto& it : used) {
            if (it.first > end) {
                visit(end, it.first - end);
            }
            end = it.first + it.second;
        }
        if (bytes > end) {
            visit(end, bytes - end);
        }
    }
};

// Invariant: no more is mapped than buffers took at one time since the last release, if the parts between two buffers are left out.
class KeptMemory {
public:
    // `bytes` of memory, uninitialised; null where the system has none.
    char* take(size_t bytes) {
        bytes = rounded(bytes);
        std::lock_guard<std::mutex> lock(mutex_);
        most_used_ = std::max(most_used_, used_bytes() + bytes);
        Mapping* best      = nullptr;
        size_t best_offset = 0;
        size_t best_bytes  = SIZE_MAX;
        for (Mapping& mapping : mappings_) {
            mapping.for_each_gap([&](size_t offset, size_t gap) {
                if (gap >= bytes && gap < best_bytes) {
                    best        = &mapping;
                    best_offset = offset;
                    best_bytes  = gap;
                }
            });
        }
        if (best == nullptr) {
            shrink_to(most_used_ - bytes);
            char* start = map_memory(bytes);
            if (start == nullptr) {
                shrink_to(0);
                start = map_memory(bytes);
            }
            if (start == nullptr) {
                return nullptr;
            }
            mappings_.push_back({start, bytes, {}, {}});
            best = &mappings_.back();
        }
        best->used[best_offset] = bytes;
        return best->start + best_offset;
    }

    void give_back(char* memory) {
        std::lock_guard<std::mutex> lock(mutex_);
        const auto it = std::find_if(mappings_.begin(), mappings_.end(),
                                     [=](const Mapping& mapping) { return memory >= mapping.start && memory < mapping.start + mapping.bytes; });
        if (it == mappings_.end()) {
            return;
        }
        it->used.erase(static_cast<size_t>(memory - it->start));
        if (it->used.empty()) {
            it->unused_since = Clock::now();
            // The longest unused is the first.
            mappings_.splice(mappings_.end(), mappings_, it);
        }
        if (mapped_bytes() - used_bytes() > MAX_KEPT_BYTES) {
            shrink_to(used_bytes() + MAX_KEPT_BYTES);
        }
    }

    // Gives back what nobody has used for so long. Returns the bytes.
    uint64_t release(std::chrono::milliseconds unused_for) {
        const Clock::time_point now = Clock::now();
        std::lock_guard<std::mutex> lock(mutex_);
        const size_t before = mapped_bytes();
        if (unused_for.count() <= 0) {
            shrink_to(0);
        } else {
            free_if([=](const Mapping& mapping) { return now - mapping.unused_since >= unused_for; });
        }
        const size_t after = mapped_bytes();
        if (after < before || unused_for.count() <= 0) {
            most_used_ = used_bytes();
        }
        return before - after;
    }

    uint64_t kept_bytes() {
        std::lock_guard<std::mutex> lock(mutex_);
        return mapped_bytes() - used_bytes();
    }

    void fill_kept(uint8_t value) {
        std::lock_guard<std::mutex> lock(mutex_);
        for (const Mapping& mapping : mappings_) {
            mapping.for_each_gap([&](size_t offset, size_t bytes) { std::memset(mapping.start + offset, value, bytes); });
        }
    }

private:
    static size_t rounded(size_t bytes) { return (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES; }

    size_t mapped_bytes() const {
        size_t sum = 0;
        for (const Mapping& mapping : mappings_) {
            sum += mapping.bytes;
        }
        return sum;
    }

    size_t used_bytes() const {
        size_t sum = 0;
        for (const Mapping& mapping : mappings_) {
            sum += mapping.used_bytes();
        }
        return sum;
    }

    template <typename Condition>
    void free_if(Condition condition) {
        for (auto it = mappings_.begin(); it != mappings_.end();) {
            if (it->used.empty() && condition(*it)) {
                unmap_memory(it->start, it->bytes);
                it = mappings_.erase(it);
            } else {
                ++it;
            }
        }
    }

    // Gives back until `bytes` are mapped, as far as buffers allow: mappings that nobody uses, then what lies behind the last buffer of others.
    void shrink_to(size_t bytes) {
        size_t mapped = mapped_bytes();
        free_if([&](const Mapping& mapping) {
            const bool goes = mapped > bytes;
            mapped -= goes ? mapping.bytes : 0;
            return goes;
        });
        for (Mapping& mapping : mappings_) {
            if (mapped <= bytes || mapping.used.empty()) {
                continue;
            }
            const size_t end  = mapping.used.rbegin()->first + mapping.used.rbegin()->second;
            const size_t most = std::min(mapping.bytes - end, rounded(mapped - bytes));
            if (most > 0) {
                trim_memory(mapping.start + mapping.bytes - most, most);
                mapping.bytes -= most;
                mapped -= most;
            }
        }
    }

    std::mutex mutex_;
    std::list<Mapping> mappings_;
    // Bytes that buffers took at one time.
    size_t most_used_ = 0;
};

// Never destroyed: buffers may be freed while the process ends.
KeptMemory& memory = *new KeptMemory;

// Buffers: the CPU's, in memory of ours.

void free_buffer(ggml_backend_buffer_t buffer) {
    memory.give_back(static_cast<char*>(buffer->context));
}

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
    if (size < MIN_BYTES) {
        ggml_backend_buffer_type_t host = ggml_backend_cpu_buffer_type();
        return host->iface.alloc_buffer(host, size);
    }
    char* start = memory.take(size);
    if (start == nullptr) {
        return nullptr;
    }
    ggml_backend_buffer_t buffer = ggml_backend_cpu_buffer_from_ptr(start, size);
    buffer->buft                 = type;
    buffer->iface.free_buffer    = free_buffer;
    return buffer;
}

const char* type_name(ggml_backend_buffer_type_t) {
    return "CPU";
}

size_t alignment(ggml_backend_buffer_type_t) {
    return ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
}

bool is_host(ggml_backend_buffer_type_t) {
    return true;
}

bool is_enabled() {
    static const bool enabled = [] {
        const char* value = std::getenv("ATELIER_KEEP_BUFFERS");
        return value == nullptr || std::strcmp(value, "0") != 0;
    }();
    return enabled;
}

}  // namespace

ggml_backend_buffer_type_t compute_buffer_type(ggml_backend_t backend) {
    // As the CPU's own, which belongs to no device either.
    static ggml_backend_buffer_type kept = {{type_name, alloc_buffer, alignment, nullptr, nullptr, is_host}, nullptr, nullptr};
    ggml_backend_buffer_type_t type      = ggml_backend_get_default_buffer_type(backend);
    return type == ggml_backend_cpu_buffer_type() && is_enabled() ? &kept : type;
}

}  // namespace atelier

uint64_t atelier_kept_bytes(void) {
    return atelier::memory.kept_bytes();
}

uint64_t atelier_release_kept_buffers(uint64_t unused_ms) {
    return atelier::memory.release(std::chrono::milliseconds(unused_ms));
}

void atelier_fill_kept_buffers(uint8_t value) {
    atelier::memory.fill_kept(value);
}

void atelier_buffer_usage_set(ggml_backend_buffer_t buffer) {
    if (buffer->usage != GGML_BACKEND_BUFFER_USAGE_WEIGHTS || buffer->size < atelier::MIN_WEIGHT_BYTES || !ggml_backend_buffer_is_host(buffer)) {
        return;
    }
    atelier::memory.release(std::chrono::milliseconds(0));
    // A mapped file is not freed with its buffer, and a buffer of several has no memory of its own.
    if (buffer->iface.free_buffer != nullptr && buffer->iface.get_base != nullptr) {
        atelier::wish_huge_pages(ggml_backend_buffer_get_base(buffer), buffer->size);
    }
}
