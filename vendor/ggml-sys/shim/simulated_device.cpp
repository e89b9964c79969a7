// Devices of type GPU for tests and demonstrations, computed by the CPU, with a memory size of their own.
//
// For placement they behave as a GPU: buffers report that they are not in host memory, allocations are counted, and one that exceeds the
// total fails with a null buffer.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "ggml-backend-impl.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "job.h"
#include "kept_buffers.h"

namespace atelier {

namespace {

std::atomic<int> thread_count{1};

// Bytes allocated by all devices of a card.
using UsedBytes = std::atomic<size_t>;

struct SimulatedDevice {
    std::string name;
    std::string card;
    size_t total = 0;
    // Limit of one buffer.
    size_t largest = SIZE_MAX;
    // Name of a type with which it does not compute.
    std::string without;
    // Part of the processor's speed, at most 1.
    double speed = 1.0;
    std::string description;
    std::shared_ptr<UsedBytes> used;
    std::atomic<bool> is_lost{false};
    ggml_backend_buffer_type buffer_type = {};
    ggml_backend_device device           = {};

    // Adds `bytes` to `used`, unless they exceed the total.
    bool reserve(size_t bytes) {
        size_t before = used->load();
        do {
            if (before > total || bytes > total - before) {
                return false;
            }
        } while (!used->compare_exchange_weak(before, before + bytes));
        return true;
    }

    size_t free() const {
        const size_t now = used->load();
        return now < total ? total - now : 0;
    }
};

SimulatedDevice* of(ggml_backend_dev_t device) {
    return static_cast<SimulatedDevice*>(device->context);
}

// Buffers: the CPU's.

struct SimulatedBuffer {
    SimulatedDevice* owner;
    ggml_backend_buffer_t inner;
};

SimulatedBuffer* of(ggml_backend_buffer_t buffer) {
    return static_cast<SimulatedBuffer*>(buffer->context);
}

void free_buffer(ggml_backend_buffer_t buffer) {
    SimulatedBuffer* simulated = of(buffer);
    *simulated->owner->used -= buffer->size;
    ggml_backend_buffer_free(simulated->inner);
    delete simulated;
}

void* buffer_base(ggml_backend_buffer_t buffer) {
    return ggml_backend_buffer_get_base(of(buffer)->inner);
}

void memset_tensor(ggml_backend_buffer_t, ggml_tensor* tensor, uint8_t value, size_t offset, size_t size) {
    std::memset(static_cast<char*>(tensor->data) + offset, value, size);
}

void set_tensor(ggml_backend_buffer_t, ggml_tensor* tensor, const void* data, size_t offset, size_t size) {
    std::memcpy(static_cast<char*>(tensor->data) + offset, data, size);
}

void get_tensor(ggml_backend_buffer_t, const ggml_tensor* tensor, void* data, size_t offset, size_t size) {
    std::memcpy(data, static_cast<const char*>(tensor->data) + offset, size);
}

void clear_buffer(ggml_backend_buffer_t buffer, uint8_t value) {
    ggml_backend_buffer_clear(of(buffer)->inner, value);
}

// Buffer type

const char* buffer_type_name(ggml_backend_buffer_type_t type) {
    return static_cast<SimulatedDevice*>(type->context)->name.c_str();
}

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
    auto* device = static_cast<SimulatedDevice*>(type->context);
    if (size > device->largest || !device->reserve(size)) {
        return nullptr;
    }
    // Not through ggml_backend_buft_alloc_buffer: memory_tracker.cpp would count it as the CPU's too.
    ggml_backend_buffer_type_t host = ggml_backend_cpu_buffer_type();
    ggml_backend_buffer_t inner     = host->iface.alloc_buffer(host, size);
    if (inner == nullptr) {
        *device->used -= size;
        return nullptr;
    }
    wish_huge_pages(ggml_backend_buffer_get_base(inner), size);
    ggml_backend_buffer_i functions = {};
    functions.free_buffer           = free_buffer;
    functions.get_base              = buffer_base;
    functions.memset_tensor         = memset_tensor;
    functions.set_tensor            = set_tensor;
    functions.get_tensor            = get_tensor;
    functions.clear                 = clear_buffer;
    return ggml_backend_buffer_init(type, functions, new SimulatedBuffer{device, inner}, size);
}

size_t alignment(ggml_backend_buffer_type_t) {
    return ggml_backend_buft_get_alignment(ggml_backend_cpu_buffer_type());
}

size_t largest_buffer(ggml_backend_buffer_type_t type) {
    return static_cast<SimulatedDevice*>(type->context)->largest;
}

bool is_host(ggml_backend_buffer_type_t) {
    return false;
}

// Backend: the CPU's, under another name.

ggml_guid_t backend_guid() {
    static ggml_guid guid = {'a', 't', 'e', 'l', 'i', 'e', 'r', ' ', 's', 'i', 'm', 'u', 'l', 'a', 't', 'e'};
    return &guid;
}

ggml_backend_t inner_of(ggml_backend_t backend) {
    return static_cast<ggml_backend_t>(backend->context);
}

const char* backend_name(ggml_backend_t backend) {
    return of(backend->device)->name.c_str();
}

// As a Vulkan device does it, also while it is freed.
void fail_if_lost(ggml_backend_t backend) {
    if (of(backend->device)->is_lost) {
        throw std::runtime_error("vk::Queue::submit: ErrorDeviceLost");
    }
}

void free_backend(ggml_backend_t backend) {
    fail_if_lost(backend);
    ggml_backend_free(inner_of(backend));
    delete backend;
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) {
    fail_if_lost(backend);
    ggml_backend_cpu_set_n_threads(inner_of(backend), thread_count.load());
    const double speed       = of(backend->device)->speed;
    const double start       = thread_seconds();
    const ggml_status status = ggml_backend_graph_compute(inner_of(backend), graph);
    if (speed < 1.0) {
        std::this_thread::sleep_for(std::chrono::duration<double>((thread_seconds() - start) * (1.0 / speed - 1.0)));
    }
    return status;
}

// Device

const char* device_name(ggml_backend_dev_t device) {
    return of(device)->name.c_str();
}

const char* device_description(ggml_backend_dev_t device) {
    return of(device)->description.c_str();
}

void device_memory(ggml_backend_dev_t device, size_t* free, size_t* total) {
    *total = of(device)->total;
    *free  = of(device)->free();
}

enum ggml_backend_dev_type device_type(ggml_backend_dev_t) {
    return GGML_BACKEND_DEVICE_TYPE_GPU;
}

void device_properties(ggml_backend_dev_t device, ggml_backend_dev_props* properties) {
    *properties             = {};
    properties->name        = device_name(device);
    properties->description = device_description(device);
    properties->type        = device_type(device);
    properties->caps.async  = true;
    properties->device_id   = of(device)->card.empty() ? nullptr : of(device)->card.c_str();
    device_memory(device, &properties->memory_free, &properties->memory_total);
}

ggml_backend_t init_backend(ggml_backend_dev_t device, const char*) {
    ggml_backend_t inner = ggml_backend_cpu_init();
    if (inner == nullptr) {
        return nullptr;
    }
    ggml_backend_i functions = {};
    functions.get_name       = backend_name;
    functions.free           = free_backend;
    functions.graph_compute  = compute;
    return new ggml_backend{backend_guid(), functions, device, inner};
}

ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t device) {
    return &of(device)->buffer_type;
}

ggml_backend_dev_t cpu_device() {
    return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
}

bool supports_op(ggml_backend_dev_t device, const ggml_tensor* op) {
    // As ggml's Vulkan does: no tensor is larger than a buffer.
    if (ggml_nbytes(op) > of(device)->largest) {
        return false;
    }
    for (const ggml_tensor* source : op->src) {
        if (source != nullptr && (of(device)->without == ggml_type_name(source->type) || ggml_nbytes(source) > of(device)->largest)) {
            return false;
        }
    }
    return ggml_backend_dev_supports_op(cpu_device(), op);
}

bool supports_buffer_type(ggml_backend_dev_t device, ggml_backend_buffer_type_t type) {
    return type == &of(device)->buffer_type;
}

// Registry: ggml asks each device for one.

const char* registry_name(ggml_backend_reg_t) {
    return "Simulated";
}

// Never destroyed: ggml keeps pointers to devices.
std::mutex devices_mutex;
std::list<SimulatedDevice>& devices = *new std::list<SimulatedDevice>;

size_t registry_count(ggml_backend_reg_t) {
    std::lock_guard<std::mutex> lock(devices_mutex);
    return devices.size();
}

ggml_backend_dev_t registry_device(ggml_backend_reg_t, size_t index) {
    std::lock_guard<std::mutex> lock(devices_mutex);
    for (SimulatedDevice& it : devices) {
        if (index-- == 0) {
            return &it.device;
        }
    }
    return nullptr;
}

void* registry_function(ggml_backend_reg_t, const char*) {
    return nullptr;
}

ggml_backend_reg_t registry() {
    static ggml_backend_reg reg = {GGML_BACKEND_API_VERSION, {registry_name, registry_count, registry_device, registry_function}, nullptr};
    return &reg;
}

}  // namespace

double simulated_speed(ggml_backend_dev_t device) {
    return device->reg == registry() ? of(device)->speed : 0.0;
}

double thread_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#else
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

void set_simulated_threads(int n) {
    thread_count = n > 0 ? n : 1;
}

void lose_simulated_device(const char* name) {
    std::lock_guard<std::mutex> lock(devices_mutex);
    for (SimulatedDevice& it : devices) {
        it.is_lost = it.is_lost || it.name == name;
    }
}

bool simulate_device(const char* name, size_t memory_bytes, const char* card, size_t largest_buffer_bytes, const char* without, double speed) {
    if (ggml_backend_dev_by_name(name) != nullptr) {
        return false;
    }
    SimulatedDevice* it = nullptr;
    {
        std::lock_guard<std::mutex> lock(devices_mutex);
        const auto same = std::find_if(devices.begin(), devices.end(), [=](const SimulatedDevice& other) { return card[0] != '\0' && other.card == card; });
        auto used       = same == devices.end() ? std::make_shared<UsedBytes>(0) : same->used;
        it              = &devices.emplace_back();
        it->used        = std::move(used);
        it->card        = card;
    }
    it->name                      = name;
    it->total                     = memory_bytes;
    it->largest                   = largest_buffer_bytes == 0 ? SIZE_MAX : largest_buffer_bytes;
    it->without                   = without;
    it->speed                     = speed;
    it->description               = "Simulated on the CPU";
    if (speed < 1.0) {
        char text[32];
        std::snprintf(text, sizeof(text), " at %g of its speed", speed);
        it->description += text;
    }
    it->buffer_type.iface         = {buffer_type_name, alloc_buffer, alignment, largest_buffer, nullptr, is_host};
    it->buffer_type.device        = &it->device;
    it->buffer_type.context       = it;
    it->device.reg                = registry();
    it->device.context            = it;
    ggml_backend_device_i& iface  = it->device.iface;
    iface.get_name                = device_name;
    iface.get_description         = device_description;
    iface.get_memory              = device_memory;
    iface.get_type                = device_type;
    iface.get_props               = device_properties;
    iface.init_backend            = init_backend;
    iface.get_buffer_type         = device_buffer_type;
    iface.supports_op             = supports_op;
    iface.supports_buft           = supports_buffer_type;
    std::lock_guard<std::mutex> lock(device_list_mutex());
    ggml_backend_device_register(&it->device);
    return true;
}

}  // namespace atelier
