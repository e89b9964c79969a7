// Devices that hold nothing: they stand for real ones while it is found out what a picture would take.
//
// The engine itself opens the model, builds its graphs and asks for buffers, so what is counted is what it would really ask for: sizes,
// alignment and what a device can compute are those of the device that is stood for. Nothing behind an address is ever touched: buffers say
// that they are not the host's, and what is read from them is zeros.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>

#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "ggml.h"
#include "job.h"
#include "accounts.h"

namespace atelier {

namespace {

// Memory that no estimate is refused.
constexpr size_t ENDLESS = size_t(1) << 50;
// Above every address of a process, so that a mistake is a fault and never somebody's bytes.
constexpr uintptr_t FIRST_ADDRESS = uintptr_t(1) << 60;
constexpr size_t PAGE             = 4096;

struct Phantom {
    ggml_backend_dev_t real                   = nullptr;
    ggml_backend_buffer_type_t real_type      = nullptr;
    ggml_backend_buffer_type_t real_host_type = nullptr;
    ggml_backend_buffer_type type             = {};
    ggml_backend_buffer_type host_type        = {};
    ggml_backend_device device                = {};
};

Phantom* of(ggml_backend_dev_t device) {
    return static_cast<Phantom*>(device->context);
}

// Buffers

struct Nothing {
    uintptr_t address;
    // Where it is freed after the context is gone, nobody counts any more.
    std::shared_ptr<Ledger> ledger;
};

Nothing* of(ggml_backend_buffer_t buffer) {
    return static_cast<Nothing*>(buffer->context);
}

void free_buffer(ggml_backend_buffer_t buffer) {
    Nothing* nothing = of(buffer);
    if (nothing->ledger != nullptr) {
        nothing->ledger->freed(buffer);
    }
    delete nothing;
}

void* buffer_base(ggml_backend_buffer_t buffer) {
    return reinterpret_cast<void*>(of(buffer)->address);
}

void memset_tensor(ggml_backend_buffer_t, ggml_tensor*, uint8_t, size_t, size_t) {}

void set_tensor(ggml_backend_buffer_t, ggml_tensor*, const void*, size_t, size_t) {}

void get_tensor(ggml_backend_buffer_t, const ggml_tensor*, void* data, size_t, size_t size) {
    // What lies in a phantom is copied to one: nothing to nothing.
    if (reinterpret_cast<uintptr_t>(data) < FIRST_ADDRESS) {
        std::memset(data, 0, size);
    }
}

bool copy_tensor(ggml_backend_buffer_t, const ggml_tensor*, ggml_tensor*) {
    return true;
}

void clear_buffer(ggml_backend_buffer_t, uint8_t) {}

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
    static std::atomic<uintptr_t> next{FIRST_ADDRESS};
    ggml_backend_buffer_i functions = {};
    functions.free_buffer           = free_buffer;
    functions.get_base              = buffer_base;
    functions.memset_tensor         = memset_tensor;
    functions.set_tensor            = set_tensor;
    functions.get_tensor            = get_tensor;
    functions.cpy_tensor            = copy_tensor;
    functions.clear                 = clear_buffer;
    Job* job                        = current_job();
    const uintptr_t address         = next.fetch_add((size / PAGE + 1) * PAGE);
    auto* nothing                   = new Nothing{address, job != nullptr ? job->ledger() : nullptr};
    ggml_backend_buffer_t buffer    = ggml_backend_buffer_init(type, functions, nothing, size);
    if (nothing->ledger != nullptr) {
        nothing->ledger->made(buffer);
    }
    return buffer;
}

// Buffer types: the real one's measures.

ggml_backend_buffer_type_t real_of(ggml_backend_buffer_type_t type) {
    auto* phantom = static_cast<Phantom*>(type->context);
    return type == &phantom->host_type ? phantom->real_host_type : phantom->real_type;
}

const char* buffer_type_name(ggml_backend_buffer_type_t type) {
    return ggml_backend_buft_name(real_of(type));
}

size_t alignment(ggml_backend_buffer_type_t type) {
    return ggml_backend_buft_get_alignment(real_of(type));
}

size_t max_size(ggml_backend_buffer_type_t type) {
    return ggml_backend_buft_get_max_size(real_of(type));
}

size_t alloc_size(ggml_backend_buffer_type_t type, const ggml_tensor* tensor) {
    return ggml_backend_buft_get_alloc_size(real_of(type), tensor);
}

bool is_host(ggml_backend_buffer_type_t) {
    return false;
}

// Backend

ggml_guid_t backend_guid() {
    static ggml_guid guid = {'a', 't', 'e', 'l', 'i', 'e', 'r', ' ', 'p', 'h', 'a', 'n', 't', 'o', 'm', 's'};
    return &guid;
}

const char* backend_name(ggml_backend_t backend) {
    return ggml_backend_dev_name(backend->device);
}

void free_backend(ggml_backend_t backend) {
    delete backend;
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph*) {
    Job* job = current_job();
    if (job == nullptr || job->ledger() == nullptr || job->cancelled()) {
        return GGML_STATUS_ABORTED;
    }
    job->ledger()->computes(backend->device);
    return GGML_STATUS_SUCCESS;
}

// Device

const char* device_name(ggml_backend_dev_t device) {
    return ggml_backend_dev_name(of(device)->real);
}

const char* device_description(ggml_backend_dev_t device) {
    return ggml_backend_dev_description(of(device)->real);
}

void device_memory(ggml_backend_dev_t, size_t* free, size_t* total) {
    *free = *total = ENDLESS;
}

enum ggml_backend_dev_type device_type(ggml_backend_dev_t device) {
    return ggml_backend_dev_type(of(device)->real);
}

void device_properties(ggml_backend_dev_t device, ggml_backend_dev_props* properties) {
    *properties             = {};
    properties->name        = device_name(device);
    properties->description = device_description(device);
    properties->type        = device_type(device);
    device_memory(device, &properties->memory_free, &properties->memory_total);
}

ggml_backend_buffer_type_t device_buffer_type(ggml_backend_dev_t device) {
    return &of(device)->type;
}

ggml_backend_buffer_type_t device_host_buffer_type(ggml_backend_dev_t device) {
    return of(device)->real_host_type == nullptr ? nullptr : &of(device)->host_type;
}

bool supports_op(ggml_backend_dev_t device, const ggml_tensor* op) {
    // Another machine is not asked: it may be at work.
    return is_remote(of(device)->real) || ggml_backend_dev_supports_op(of(device)->real, op);
}

bool supports_buffer_type(ggml_backend_dev_t device, ggml_backend_buffer_type_t type) {
    return type == &of(device)->type;
}

// It offers no functions of its own: the processor's would be called on what is none of its backends.

const char* origin_name(ggml_backend_reg_t) {
    return "Phantom";
}

size_t origin_count(ggml_backend_reg_t) {
    return 0;
}

ggml_backend_dev_t origin_device(ggml_backend_reg_t, size_t) {
    return nullptr;
}

void* origin_function(ggml_backend_reg_t, const char*) {
    return nullptr;
}

ggml_backend_reg_t origin() {
    static ggml_backend_reg reg = {GGML_BACKEND_API_VERSION, {origin_name, origin_count, origin_device, origin_function}, nullptr};
    return &reg;
}

Phantom* phantom_of(ggml_backend_dev_t device) {
    // They live as long as the process, as devices do.
    static std::mutex& mutex            = *new std::mutex;
    static std::list<Phantom>& phantoms = *new std::list<Phantom>;
    std::lock_guard<std::mutex> lock(mutex);
    const auto known = std::find_if(phantoms.begin(), phantoms.end(), [=](const Phantom& it) { return it.real == device; });
    if (known != phantoms.end()) {
        return &*known;
    }
    Phantom& it = phantoms.emplace_back();
    it.real     = device;
    // A server is not asked for the measures of its buffers: the processor's are near.
    ggml_backend_dev_t measured = is_remote(device) ? ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) : device;
    it.real_type                = ggml_backend_dev_buffer_type(measured);
    it.real_host_type           = ggml_backend_dev_host_buffer_type(measured);
    it.type                     = {{buffer_type_name, alloc_buffer, alignment, max_size, alloc_size, is_host}, &it.device, &it};
    it.host_type                = it.type;
    // The memory of this type is the computer's.
    it.host_type.device         = nullptr;
    it.device.reg               = origin();
    it.device.context           = &it;
    ggml_backend_device_i& face = it.device.iface;
    face.get_name               = device_name;
    face.get_description        = device_description;
    face.get_memory             = device_memory;
    face.get_type               = device_type;
    face.get_props              = device_properties;
    face.get_buffer_type        = device_buffer_type;
    face.get_host_buffer_type   = device_host_buffer_type;
    face.supports_op            = supports_op;
    face.supports_buft          = supports_buffer_type;
    return &it;
}

}  // namespace

bool is_phantom(const ggml_backend_buffer_type* type) {
    return type->iface.alloc_buffer == alloc_buffer;
}

ggml_backend_t phantom_backend(ggml_backend_dev_t device) {
    ggml_backend_i functions = {};
    functions.get_name       = backend_name;
    functions.free           = free_backend;
    functions.graph_compute  = compute;
    return new ggml_backend{backend_guid(), functions, &phantom_of(device)->device, nullptr};
}

void Ledger::made(ggml_backend_buffer_t buffer) {
    const Job* job = current_job();
    held_.push_back({buffer, job->module(), job->is_lora()});
}

void Ledger::freed(ggml_backend_buffer_t buffer) {
    const auto it = std::find_if(held_.begin(), held_.end(), [=](const Held& held) { return held.buffer == buffer; });
    if (it != held_.end()) {
        // What was made since the graph ran is beside it now.
        book(it->module);
        held_.erase(it);
    }
}

void Ledger::computes(ggml_backend_dev_t device) {
    const Job* job   = current_job();
    Running& running = running_[job->module()];
    running.device   = device;
    running.phase    = job->phase();
    ++running.graphs;
    book(job->module());
}

void Ledger::book(int module) {
    const auto running = running_.find(module);
    // A context that is freed runs nothing.
    if (current_job() == nullptr || running == running_.end()) {
        return;
    }
    uint64_t weights = 0;
    uint64_t loras   = 0;
    uint64_t work    = 0;
    for (const Held& it : held_) {
        if (it.module == module && it.buffer->buft->device == running->second.device) {
            const bool is_weights = ggml_backend_buffer_get_usage(it.buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
            (is_weights ? (it.lora ? loras : weights) : work) += it.buffer->size;
        }
    }
    // The engine may have come to the next phase before it lets go.
    const int phase    = running->second.phase;
    atelier_need& need = needs_[{module, phase}];
    need.module        = module;
    need.phase         = phase;
    need.graphs        = running->second.graphs;
    need.weight_bytes  = std::max(need.weight_bytes, weights);
    need.lora_bytes    = std::max(need.lora_bytes, loras);
    need.compute_bytes = std::max(need.compute_bytes, work);
    need.peak_bytes    = std::max(need.peak_bytes, weights + work);
}

void Ledger::begin() {
    needs_.clear();
    running_.clear();
}

std::vector<atelier_need> Ledger::needs() const {
    std::vector<atelier_need> list;
    for (const auto& it : needs_) {
        list.push_back(it.second);
    }
    return list;
}

}  // namespace atelier

bool atelier_buffer_is_phantom(const ggml_backend_buffer* buffer) {
    return buffer != nullptr && atelier::is_phantom(buffer->buft);
}
