// ggml allocates and frees every buffer in two functions, which patches/ggml-backend.cpp.patch lets call this file. A device without room
// answers with a null pointer and no reason, so the wanted size is recorded here.
#include "memory_tracker.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

#include "dry_run.h"
#include "ggml-backend-impl.h"
#include "job.h"
#include "packed_weights.h"

namespace atelier {

namespace {

struct Allocation {
    const char* device;
    size_t bytes;
};

// Never destroyed: buffers may be freed while the process ends.
std::mutex& mutex                                                        = *new std::mutex;
std::unordered_map<ggml_backend_buffer_t, Allocation>& allocations       = *new std::unordered_map<ggml_backend_buffer_t, Allocation>;
std::map<std::string, uint64_t>& bytes_by_device                         = *new std::map<std::string, uint64_t>;
std::map<ggml_backend_buffer_type_t, ggml_backend_dev_t>& device_by_type = *new std::map<ggml_backend_buffer_type_t, ggml_backend_dev_t>;

// The device whose memory buffers of this type use. Pinned host memory belongs to a GPU's driver, but is RAM.
ggml_backend_dev_t device_of(ggml_backend_buffer_type_t type) {
    {
        std::lock_guard<std::mutex> lock(mutex);
        const auto it = device_by_type.find(type);
        if (it != device_by_type.end()) {
            return it->second;
        }
    }
    ggml_backend_dev_t device = type->device;
    const bool is_default     = device != nullptr && ggml_backend_dev_buffer_type(device) == type;
    if (device == nullptr || (!is_default && ggml_backend_buft_is_host(type))) {
        device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    }
    std::lock_guard<std::mutex> lock(mutex);
    device_by_type[type] = device;
    return device;
}

// `buffer` is null where the allocation failed.
void record_allocation(ggml_backend_buffer_type_t type, size_t size, ggml_backend_buffer_t buffer) {
    if (is_virtual(type)) {
        return;
    }
    Job* job                  = current_job();
    ggml_backend_dev_t device = device_of(type);
    if (device == nullptr) {
        return;
    }
    const char* name = ggml_backend_dev_name(device);
    if (buffer == nullptr) {
        if (job != nullptr) {
            size_t free_bytes  = 0;
            size_t total_bytes = 0;
            if (ggml_backend_dev_type(device) != GGML_BACKEND_DEVICE_TYPE_CPU) {
                ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
            }
            job->record_shortage(name, size, free_bytes);
        }
        return;
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        allocations[buffer] = {name, buffer->size};
        bytes_by_device[name] += buffer->size;
    }
    if (job != nullptr) {
        job->record_peaks();
    }
}

void record_free(ggml_backend_buffer_t buffer) {
    std::lock_guard<std::mutex> lock(mutex);
    const auto it = allocations.find(buffer);
    if (it != allocations.end()) {
        bytes_by_device[it->second.device] -= it->second.bytes;
        allocations.erase(it);
    }
}

bool is_cpu(const std::string& device) {
    ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    return cpu != nullptr && ggml_backend_dev_name(cpu) == device;
}

}  // namespace

void raise_peaks(int phase, PeakBytes& peaks) {
    const uint64_t packed = packed_total();
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto& it : bytes_by_device) {
        uint64_t& peak = peaks[{phase, it.first.c_str()}];
        peak           = std::max(peak, it.second + (packed > 0 && is_cpu(it.first) ? packed : 0));
    }
}

uint64_t allocated_bytes(const char* device) {
    const uint64_t kept = is_cpu(device) ? atelier_kept_bytes() + packed_total() : 0;
    std::lock_guard<std::mutex> lock(mutex);
    const auto it = bytes_by_device.find(device);
    return kept + (it == bytes_by_device.end() ? 0 : it->second);
}

}  // namespace atelier

void atelier_buffer_allocated(ggml_backend_buffer_type_t type, size_t size, ggml_backend_buffer_t buffer) {
    atelier::record_allocation(type, size, buffer);
}

void atelier_buffer_freed(ggml_backend_buffer_t buffer) {
    atelier_forget_packed(buffer);
    atelier::record_free(buffer);
}

uint64_t atelier_allocated_bytes(const char* device) {
    return device == nullptr ? 0 : atelier::allocated_bytes(device);
}
