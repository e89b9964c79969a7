// Counts what is allocated on each device, and notices which one has no room.
//
// Every buffer of ggml is made and freed in two functions, which build.rs lets call here. A device answers an allocation that it has no
// room for with a null pointer that says nothing, so what was wanted is written down here, where it is asked for.
#include "accounts.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>

#include "ggml-backend-impl.h"
#include "job.h"

namespace atelier {

namespace {

struct Taken {
    const char* device;
    size_t bytes;
};

// Never destroyed: buffers may be freed while the process ends.
std::mutex& mutex                                               = *new std::mutex;
std::unordered_map<ggml_backend_buffer_t, Taken>& buffers       = *new std::unordered_map<ggml_backend_buffer_t, Taken>;
std::map<std::string, uint64_t>& held                           = *new std::map<std::string, uint64_t>;
std::map<ggml_backend_buffer_type_t, ggml_backend_dev_t>& homes = *new std::map<ggml_backend_buffer_type_t, ggml_backend_dev_t>;

// The device whose memory it is: pinned memory of the computer belongs to a graphics card's driver, and is RAM all the same.
ggml_backend_dev_t home_of(ggml_backend_buffer_type_t type) {
    {
        std::lock_guard<std::mutex> lock(mutex);
        const auto known = homes.find(type);
        if (known != homes.end()) {
            return known->second;
        }
    }
    ggml_backend_dev_t device = type->device;
    const bool own            = device != nullptr && ggml_backend_dev_buffer_type(device) == type;
    if (device == nullptr || (!own && ggml_backend_buft_is_host(type))) {
        device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    }
    std::lock_guard<std::mutex> lock(mutex);
    homes[type] = device;
    return device;
}

void made(ggml_backend_buffer_type_t type, size_t size, ggml_backend_buffer_t buffer) {
    if (is_phantom(type)) {
        return;
    }
    Job* job                  = current_job();
    ggml_backend_dev_t device = home_of(type);
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
            job->no_room(name, size, free_bytes);
        }
        return;
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        buffers[buffer] = {name, buffer->size};
        held[name] += buffer->size;
    }
    if (job != nullptr) {
        job->note_memory();
    }
}

void freed(ggml_backend_buffer_t buffer) {
    std::lock_guard<std::mutex> lock(mutex);
    const auto it = buffers.find(buffer);
    if (it != buffers.end()) {
        held[it->second.device] -= it->second.bytes;
        buffers.erase(it);
    }
}

}  // namespace

void note_held(int phase, Peaks& peaks) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto& it : held) {
        uint64_t& peak = peaks[{phase, it.first.c_str()}];
        peak           = std::max(peak, it.second);
    }
}

uint64_t held_bytes(const char* device) {
    std::lock_guard<std::mutex> lock(mutex);
    const auto it = held.find(device);
    return it == held.end() ? 0 : it->second;
}

}  // namespace atelier

void atelier_buffer_made(ggml_backend_buffer_type_t type, size_t size, ggml_backend_buffer_t buffer) {
    atelier::made(type, size, buffer);
}

void atelier_buffer_freed(ggml_backend_buffer_t buffer) {
    atelier::freed(buffer);
}

uint64_t atelier_held(const char* device) {
    return device == nullptr ? 0 : atelier::held_bytes(device);
}
