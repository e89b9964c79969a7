// Devices of dry runs.
//
// The engine opens the model, builds its graphs and allocates buffers as usual, so the counted sizes are the real ones: buffer sizes,
// alignment and supported operations are those of the device that is replaced. No virtual address is ever dereferenced: buffers report that
// they are not in host memory, and reading them returns zeros.
#include "dry_run.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <numeric>

#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "ggml.h"
#include "job.h"
#include "packed_weights.h"

namespace atelier {

namespace {

// Reported memory of the devices: no allocation of an estimate fails.
constexpr size_t UNLIMITED_BYTES = size_t(1) << 50;
// Above the address space of processes: an access by mistake faults.
constexpr uintptr_t FIRST_VIRTUAL_ADDRESS = uintptr_t(1) << 60;
constexpr size_t PAGE_BYTES             = 4096;

struct DryRunDevice {
    ggml_backend_dev_t real                   = nullptr;
    ggml_backend_buffer_type_t real_type      = nullptr;
    ggml_backend_buffer_type_t real_host_type = nullptr;
    ggml_backend_buffer_type type             = {};
    ggml_backend_buffer_type host_type        = {};
    ggml_backend_device device                = {};
};

DryRunDevice* of(ggml_backend_dev_t device) {
    return static_cast<DryRunDevice*>(device->context);
}

// Buffers

struct VirtualBuffer {
    uintptr_t address;
    // Shared: a buffer may be freed after its context.
    std::shared_ptr<DryRun> dry_run;
};

VirtualBuffer* of(ggml_backend_buffer_t buffer) {
    return static_cast<VirtualBuffer*>(buffer->context);
}

void free_buffer(ggml_backend_buffer_t buffer) {
    VirtualBuffer* virtual_buffer = of(buffer);
    if (virtual_buffer->dry_run != nullptr) {
        virtual_buffer->dry_run->record_free(buffer);
    }
    delete virtual_buffer;
}

void* buffer_base(ggml_backend_buffer_t buffer) {
    return reinterpret_cast<void*>(of(buffer)->address);
}

void memset_tensor(ggml_backend_buffer_t, ggml_tensor*, uint8_t, size_t, size_t) {}

DryRun* recorder(ggml_backend_buffer_t buffer) {
    const bool is_weights = ggml_backend_buffer_get_usage(buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
    // Buffers are freed, but not filled, outside of a job.
    return is_weights || current_job() == nullptr ? nullptr : of(buffer)->dry_run.get();
}

void set_tensor(ggml_backend_buffer_t buffer, ggml_tensor*, const void*, size_t, size_t size) {
    if (DryRun* dry_run = recorder(buffer)) {
        dry_run->record_input(size);
    }
}

void get_tensor(ggml_backend_buffer_t buffer, const ggml_tensor*, void* data, size_t, size_t size) {
    if (DryRun* dry_run = recorder(buffer)) {
        dry_run->record_output(size);
    }
    // `data` is itself virtual where one virtual tensor is copied to another.
    if (reinterpret_cast<uintptr_t>(data) < FIRST_VIRTUAL_ADDRESS) {
        std::memset(data, 0, size);
    }
}

bool copy_tensor(ggml_backend_buffer_t, const ggml_tensor*, ggml_tensor*) {
    return true;
}

void clear_buffer(ggml_backend_buffer_t, uint8_t) {}

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
    static std::atomic<uintptr_t> next{FIRST_VIRTUAL_ADDRESS};
    ggml_backend_buffer_i functions = {};
    functions.free_buffer           = free_buffer;
    functions.get_base              = buffer_base;
    functions.memset_tensor         = memset_tensor;
    functions.set_tensor            = set_tensor;
    functions.get_tensor            = get_tensor;
    functions.cpy_tensor            = copy_tensor;
    functions.clear                 = clear_buffer;
    Job* job                        = current_job();
    const uintptr_t address         = next.fetch_add((size / PAGE_BYTES + 1) * PAGE_BYTES);
    auto* virtual_buffer            = new VirtualBuffer{address, job != nullptr ? job->dry_run() : nullptr};
    ggml_backend_buffer_t buffer    = ggml_backend_buffer_init(type, functions, virtual_buffer, size);
    if (virtual_buffer->dry_run != nullptr) {
        virtual_buffer->dry_run->record_allocation(buffer);
    }
    return buffer;
}

// Buffer types: sizes and alignment of the real one.

ggml_backend_buffer_type_t real_of(ggml_backend_buffer_type_t type) {
    auto* device = static_cast<DryRunDevice*>(type->context);
    return type == &device->host_type ? device->real_host_type : device->real_type;
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
    static ggml_guid guid = {'a', 't', 'e', 'l', 'i', 'e', 'r', ' ', 'd', 'r', 'y', '-', 'r', 'u', 'n', 's'};
    return &guid;
}

const char* backend_name(ggml_backend_t backend) {
    return ggml_backend_dev_name(backend->device);
}

void free_backend(ggml_backend_t backend) {
    delete backend;
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph* graph) {
    Job* job = current_job();
    if (job == nullptr || job->dry_run() == nullptr || job->is_cancelled()) {
        return GGML_STATUS_ABORTED;
    }
    check_is_computed(of(backend->device)->real, graph);
    job->dry_run()->record_graph(backend->device, graph);
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
    *free = *total = UNLIMITED_BYTES;
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
    // No request to a remote device: it may be computing.
    return is_remote(of(device)->real) || ggml_backend_dev_supports_op(of(device)->real, op);
}

bool supports_buffer_type(ggml_backend_dev_t device, ggml_backend_buffer_type_t type) {
    return type == &of(device)->type;
}

// The registry offers no functions: those of the CPU's would be called with backends that are not the CPU's.

const char* registry_name(ggml_backend_reg_t) {
    return "Dry run";
}

size_t registry_count(ggml_backend_reg_t) {
    return 0;
}

ggml_backend_dev_t registry_device(ggml_backend_reg_t, size_t) {
    return nullptr;
}

void* registry_function(ggml_backend_reg_t, const char*) {
    return nullptr;
}

ggml_backend_reg_t registry() {
    static ggml_backend_reg reg = {GGML_BACKEND_API_VERSION, {registry_name, registry_count, registry_device, registry_function}, nullptr};
    return &reg;
}

DryRunDevice* dry_run_device_of(ggml_backend_dev_t device) {
    // Never destroyed, as all devices of ggml.
    static std::mutex& mutex            = *new std::mutex;
    static std::list<DryRunDevice>& devices = *new std::list<DryRunDevice>;
    std::lock_guard<std::mutex> lock(mutex);
    const auto it = std::find_if(devices.begin(), devices.end(), [=](const DryRunDevice& other) { return other.real == device; });
    if (it != devices.end()) {
        return &*it;
    }
    DryRunDevice& added = devices.emplace_back();
    added.real          = device;
    // No request to a server for the sizes of its buffers: the CPU's are close.
    ggml_backend_dev_t measured = is_remote(device) ? ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) : device;
    added.real_type                = ggml_backend_dev_buffer_type(measured);
    added.real_host_type           = ggml_backend_dev_host_buffer_type(measured);
    added.type                     = {{buffer_type_name, alloc_buffer, alignment, max_size, alloc_size, is_host}, &added.device, &added};
    added.host_type                = added.type;
    // Host memory belongs to no device.
    added.host_type.device         = nullptr;
    added.device.reg               = registry();
    added.device.context           = &added;
    ggml_backend_device_i& iface = added.device.iface;
    iface.get_name               = device_name;
    iface.get_description        = device_description;
    iface.get_memory             = device_memory;
    iface.get_type               = device_type;
    iface.get_props              = device_properties;
    iface.get_buffer_type        = device_buffer_type;
    iface.get_host_buffer_type   = device_host_buffer_type;
    iface.supports_op            = supports_op;
    iface.supports_buft          = supports_buffer_type;
    return &added;
}

}  // namespace

bool is_virtual(const ggml_backend_buffer_type* type) {
    return type->iface.alloc_buffer == alloc_buffer;
}

ggml_backend_t dry_run_backend(ggml_backend_dev_t device) {
    ggml_backend_i functions = {};
    functions.get_name       = backend_name;
    functions.free           = free_backend;
    functions.graph_compute  = compute;
    return new ggml_backend{backend_guid(), functions, &dry_run_device_of(device)->device, nullptr};
}

void DryRun::record_allocation(ggml_backend_buffer_t buffer) {
    const Job* job = current_job();
    allocations_.push_back({buffer, job->module(), job->is_lora(), job->is_merging()});
}

void DryRun::record_free(ggml_backend_buffer_t buffer) {
    const auto it = std::find_if(allocations_.begin(), allocations_.end(), [=](const Allocation& it) { return it.buffer == buffer; });
    if (it != allocations_.end()) {
        // Buffers that were allocated since the last graph count too.
        update_estimate(it->module);
        allocations_.erase(it);
    }
}

void DryRun::record_graph(ggml_backend_dev_t device, const ggml_cgraph* graph) {
    const Job* job         = current_job();
    RunningModule& running = running_modules_[job->module()];
    running.device         = device;
    running.phase          = job->phase();
    if (!job->is_merging()) {
        work_[{job->module(), job->phase()}].add_graph(graph);
    }
    if (!job->is_merging() && job->phase() == ATELIER_PHASE_DENOISING && ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU) {
        note_packed(graph);
    }
    update_estimate(job->module());
}

void DryRun::note_packed(const ggml_cgraph* graph) {
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor* weights = graph->nodes[i]->src[0];
        if (weights == nullptr || (graph->nodes[i]->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) {
            continue;
        }
        const ggml_tensor* whole = weights->view_src == nullptr ? weights : weights->view_src;
        const bool is_weight     = whole->op == GGML_OP_NONE && module_of(ggml_get_name(whole)) == ATELIER_MODULE_DIFFUSION;
        if (is_weight) {
            // Few tokens are multiplied without packing.
            uint64_t& bytes = packed_bytes_[{weights->data, weights->ne[0], weights->ne[1]}];
            bytes           = std::max(bytes, packed_bytes(graph->nodes[i]));
        }
    }
}

void DryRun::record_input(uint64_t bytes) {
    const Job* job = current_job();
    if (job->is_merging()) {
        return;
    }
    work_[{job->module(), job->phase()}].add_input(bytes);
}

void DryRun::record_output(uint64_t bytes) {
    const Job* job = current_job();
    if (job->is_merging()) {
        return;
    }
    work_[{job->module(), job->phase()}].add_output(bytes);
}

void DryRun::update_estimate(int module) {
    const auto running = running_modules_.find(module);
    // A context is freed outside of a job.
    if (current_job() == nullptr || running == running_modules_.end()) {
        return;
    }
    uint64_t weights = 0;
    uint64_t loras   = 0;
    uint64_t work    = 0;
    for (const Allocation& it : allocations_) {
        if (it.module == module && it.buffer->buft->device == running->second.device) {
            const bool is_weights = !it.is_transient && ggml_backend_buffer_get_usage(it.buffer) == GGML_BACKEND_BUFFER_USAGE_WEIGHTS;
            (is_weights ? (it.is_lora ? loras : weights) : work) += it.buffer->size;
        }
    }
    // Of its last graph: the engine may free buffers in the next phase.
    const int phase    = running->second.phase;
    atelier_module_estimate& estimate = estimates_[{module, phase}];
    estimate.module        = module;
    estimate.phase         = phase;
    estimate.weight_bytes  = std::max(estimate.weight_bytes, weights);
    estimate.lora_bytes    = std::max(estimate.lora_bytes, loras);
    estimate.compute_bytes = std::max(estimate.compute_bytes, work);
    estimate.peak_bytes    = std::max(estimate.peak_bytes, weights + work);
}

void DryRun::begin_image() {
    estimates_.clear();
    running_modules_.clear();
    work_.clear();
    packed_bytes_.clear();
}

std::vector<atelier_module_estimate> DryRun::module_estimates() const {
    std::vector<atelier_module_estimate> list;
    for (const auto& [key, estimate] : estimates_) {
        list.push_back(estimate);
        const auto work = work_.find(key);
        if (work != work_.end()) {
            list.back().graphs       = static_cast<int>(work->second.graphs());
            list.back().input_bytes  = work->second.input_bytes();
            list.back().output_bytes = work->second.output_bytes();
        }
        if (key == std::make_pair<int, int>(ATELIER_MODULE_DIFFUSION, ATELIER_PHASE_DENOISING)) {
            const auto add            = [](uint64_t sum, const auto& it) { return sum + it.second; };
            list.back().packed_bytes = std::accumulate(packed_bytes_.begin(), packed_bytes_.end(), uint64_t(0), add);
        }
    }
    return list;
}

std::vector<atelier_work> DryRun::work() const {
    std::vector<atelier_work> list;
    for (const auto& [key, work] : work_) {
        for (atelier_work it : work.classes()) {
            it.module = key.first;
            it.phase  = key.second;
            list.push_back(it);
        }
    }
    return list;
}

}  // namespace atelier

bool atelier_buffer_is_virtual(const ggml_backend_buffer* buffer) {
    return buffer != nullptr && atelier::is_virtual(buffer->buft);
}
