// Cancels running graphs and reports their progress.
//
// The CPU backend calls its abort callback after every node. Other devices compute their graphs in chunks, with a check between them.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "job.h"

namespace atelier {

namespace {

using GraphCompute = ggml_status (*)(ggml_backend_t, ggml_cgraph*);

// A device and its own functions.
struct HookedDevice {
    ggml_backend_device_i functions = {};
    // The backends of a device share their functions.
    GraphCompute compute = nullptr;
    // The first use of a device fills its state, which a second thread must not see half filled (ggml_vk_get_device). Recursive: a device may
    // be asked for its buffers while it is initialised.
    std::recursive_mutex first_use;
};

std::mutex hook_mutex;
std::map<ggml_backend_dev_t, HookedDevice> hooked_devices;

HookedDevice& hooked(ggml_backend_dev_t device) {
    std::lock_guard<std::mutex> lock(hook_mutex);
    return hooked_devices[device];
}

std::atomic<int> fixed_nodes{0};
std::atomic<bool> force_chunks{false};

// Target duration of a chunk: long against its overhead, short enough that a cancel is immediate.
constexpr int64_t CHUNK_US_LOW  = 15 * 1000;
constexpr int64_t CHUNK_US_HIGH = 60 * 1000;
// Chunks for a remote device last longer: each transfers the graph.
constexpr int64_t REMOTE_FACTOR = 4;
constexpr int CHUNK_NODES_FIRST = 32;
constexpr int CHUNK_NODES_MIN = 4;

GraphCompute original_compute_of(ggml_backend_t backend) {
    std::lock_guard<std::mutex> lock(hook_mutex);
    return hooked_devices[backend->device].compute;
}

// Abort callback of the CPU backend, called after each node on the thread that computes the graph.
bool on_node_computed(void*) {
    Job* job = current_job();
    if (job == nullptr) {
        return false;
    }
    job->add_computed_nodes(1);
    return job->is_cancelled();
}

// Devices that were lost. ggml keeps them for the process, and none of them can be used again.
std::set<ggml_backend_dev_t> lost_devices;

// Throws `DeviceLost` for an exception that says so; returns for others.
void check_lost(ggml_backend_dev_t device, const std::exception& exception) {
    // vk::DeviceLostError of Vulkan's C++ headers.
    if (std::strstr(exception.what(), "DeviceLost") == nullptr) {
        return;
    }
    {
        std::lock_guard<std::mutex> lock(hook_mutex);
        lost_devices.insert(device);
    }
    throw DeviceLost{ggml_backend_dev_name(device)};
}

ggml_status compute_chunk(ggml_backend_t backend, ggml_cgraph* graph) {
    try {
        const ggml_status status = original_compute_of(backend)(backend, graph);
        if (status == GGML_STATUS_SUCCESS) {
            ggml_backend_synchronize(backend);
        }
        return status;
    } catch (const std::exception& exception) {
        check_lost(backend->device, exception);
        throw;
    }
}

ggml_status compute_in_chunks(ggml_backend_t backend, ggml_cgraph* graph) {
    check_is_computed(backend->device, graph);
    Job* job                   = current_job();
    if (job == nullptr) {
        return original_compute_of(backend)(backend, graph);
    }
    job->begin_graph(graph->n_nodes);
    thread_local int adaptive_nodes = CHUNK_NODES_FIRST;
    const int fixed                = fixed_nodes.load(std::memory_order_relaxed);
    const int64_t factor           = is_remote(backend->device) ? REMOTE_FACTOR : 1;
    for (int begin = 0; begin < graph->n_nodes;) {
        if (job->is_cancelled()) {
            return GGML_STATUS_ABORTED;
        }
        const int nodes         = fixed > 0 ? fixed : adaptive_nodes;
        const int end           = begin + nodes < graph->n_nodes ? begin + nodes : graph->n_nodes;
        ggml_cgraph chunk       = ggml_graph_view(graph, begin, end);
        const int64_t start_us  = ggml_time_us();
        const ggml_status state = compute_chunk(backend, &chunk);
        if (state != GGML_STATUS_SUCCESS) {
            return state;
        }
        const int64_t took_us = ggml_time_us() - start_us;
        if (took_us < CHUNK_US_LOW * factor && end - begin == adaptive_nodes) {
            adaptive_nodes *= 2;
        } else if (took_us > CHUNK_US_HIGH * factor && adaptive_nodes > CHUNK_NODES_MIN) {
            adaptive_nodes /= 2;
        }
        job->add_computed_nodes(end - begin);
        begin = end;
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status compute_with_abort_callback(ggml_backend_t backend, ggml_cgraph* graph) {
    check_is_computed(backend->device, graph);
    Job* job = current_job();
    if (job != nullptr) {
        job->begin_graph(graph->n_nodes);
        if (job->is_cancelled()) {
            return GGML_STATUS_ABORTED;
        }
    }
    return original_compute_of(backend)(backend, graph);
}

ggml_backend_t init_hooked(ggml_backend_dev_t device, const char* params) {
    const Job* job = current_job();
    if (job != nullptr && job->dry_run() != nullptr) {
        return dry_run_backend(device);
    }
    HookedDevice& it       = hooked(device);
    ggml_backend_t backend = nullptr;
    {
        {
            std::lock_guard<std::mutex> lock(hook_mutex);
            if (lost_devices.count(device) != 0 && can_throw()) {
                throw DeviceLost{ggml_backend_dev_name(device)};
            }
        }
        std::lock_guard<std::recursive_mutex> lock(it.first_use);
        backend = it.functions.init_backend(device, params);
    }
    if (backend == nullptr) {
        return nullptr;
    }
    const bool has_abort_callback = ggml_backend_is_cpu(backend) && !force_chunks.load(std::memory_order_relaxed);
    {
        std::lock_guard<std::mutex> lock(hook_mutex);
        it.compute = backend->iface.graph_compute;
    }
    if (has_abort_callback) {
        ggml_backend_cpu_set_abort_callback(backend, on_node_computed, nullptr);
        backend->iface.graph_compute = compute_with_abort_callback;
    } else {
        backend->iface.graph_compute = compute_in_chunks;
    }
    return backend;
}

ggml_backend_buffer_type_t buffer_type_hooked(ggml_backend_dev_t device) {
    HookedDevice& it = hooked(device);
    std::lock_guard<std::recursive_mutex> lock(it.first_use);
    return it.functions.get_buffer_type(device);
}

ggml_backend_buffer_type_t host_buffer_type_hooked(ggml_backend_dev_t device) {
    HookedDevice& it = hooked(device);
    std::lock_guard<std::recursive_mutex> lock(it.first_use);
    return it.functions.get_host_buffer_type(device);
}

}  // namespace

void check_is_computed(ggml_backend_dev_t device, const ggml_cgraph* graph) {
    if (is_remote(device) || !can_throw()) {
        return;
    }
    const size_t largest = ggml_backend_buft_get_max_size(ggml_backend_dev_buffer_type(device));
    for (int i = 0; i < graph->n_nodes; ++i) {
        const ggml_tensor* node = graph->nodes[i];
        const bool is_skipped   = ggml_op_is_empty(node->op) || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0;
        if (is_skipped || ggml_backend_dev_supports_op(device, node)) {
            continue;
        }
        const std::string name = ggml_backend_dev_name(device);
        const auto check_size  = [&](const ggml_tensor* tensor) {
            if (tensor != nullptr && ggml_nbytes(tensor) > largest) {
                if (Job* job = current_job()) {
                    size_t free_bytes = 0, total_bytes = 0;
                    ggml_backend_dev_memory(device, &free_bytes, &total_bytes);
                    job->record_shortage(ggml_backend_dev_name(device), ggml_nbytes(tensor), free_bytes);
                }
                throw EngineAbort{name + " takes no tensor of " + std::to_string(ggml_nbytes(tensor)) + " bytes (" + ggml_get_name(tensor) + ")"};
            }
        };
        check_size(node);
        std::for_each(std::begin(node->src), std::end(node->src), check_size);
        const ggml_tensor* source = node->src[0] != nullptr ? node->src[0] : node;
        throw EngineAbort{name + " does not compute " + ggml_op_desc(node) + " with " + ggml_type_name(source->type) + " (" +
                          ggml_get_name(source) + ")"};
    }
}

std::mutex& device_list_mutex() {
    static std::mutex& mutex = *new std::mutex;
    return mutex;
}

void hook_devices() {
    std::scoped_lock lock(device_list_mutex(), hook_mutex);
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (device->iface.init_backend != init_hooked) {
            hooked_devices[device].functions = device->iface;
            device->iface.init_backend       = init_hooked;
            // A server is asked for its buffers' sizes once, when it is added.
            if (!is_remote(device)) {
                device->iface.get_buffer_type = buffer_type_hooked;
                if (device->iface.get_host_buffer_type != nullptr) {
                    device->iface.get_host_buffer_type = host_buffer_type_hooked;
                }
            }
        }
    }
}

}  // namespace atelier

void atelier_set_compute_hook(int nodes, bool force) {
    atelier::fixed_nodes  = nodes;
    atelier::force_chunks = force;
}
