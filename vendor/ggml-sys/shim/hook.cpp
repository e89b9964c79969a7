// Lets a running graph be stopped, and says how far it is.
//
// A CPU backend asks after every node by itself. Any other device gets its graphs in chunks, with a look at the cancel flag between them.
#include <atomic>
#include <map>
#include <mutex>

#include "ggml-backend-impl.h"
#include "ggml-impl.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "job.h"

namespace atelier {

namespace {

using InitBackend  = ggml_backend_t (*)(ggml_backend_dev_t, const char*);
using GraphCompute = ggml_status (*)(ggml_backend_t, ggml_cgraph*);

std::mutex hook_mutex;
std::map<ggml_backend_dev_t, InitBackend> original_init;
// One device's backends share their functions.
std::map<ggml_backend_dev_t, GraphCompute> original_compute;

std::atomic<int> fixed_nodes{0};
std::atomic<bool> force_chunks{false};

// Long enough that starting a chunk does not matter, short enough that stopping feels immediate.
constexpr int64_t CHUNK_US_LOW  = 15 * 1000;
constexpr int64_t CHUNK_US_HIGH = 60 * 1000;
// Each chunk for another machine carries the whole graph behind it.
constexpr int64_t REMOTE_FACTOR = 4;
constexpr int CHUNK_NODES_FIRST = 32;
constexpr int CHUNK_NODES_LEAST = 4;

GraphCompute compute_of(ggml_backend_t backend) {
    std::lock_guard<std::mutex> lock(hook_mutex);
    return original_compute[backend->device];
}

// Called by the CPU backend after each node, on the thread that asked for the graph.
bool after_node(void*) {
    Job* job = current_job();
    if (job == nullptr) {
        return false;
    }
    job->computed(1);
    return job->cancelled();
}

ggml_status compute_in_chunks(ggml_backend_t backend, ggml_cgraph* graph) {
    const GraphCompute compute = compute_of(backend);
    Job* job                   = current_job();
    if (job == nullptr) {
        return compute(backend, graph);
    }
    job->graph_begins(graph->n_nodes);
    thread_local int nodes_learned = CHUNK_NODES_FIRST;
    const int fixed                = fixed_nodes.load(std::memory_order_relaxed);
    const int64_t factor           = is_remote(backend->device) ? REMOTE_FACTOR : 1;
    for (int begin = 0; begin < graph->n_nodes;) {
        if (job->cancelled()) {
            return GGML_STATUS_ABORTED;
        }
        const int nodes         = fixed > 0 ? fixed : nodes_learned;
        const int end           = begin + nodes < graph->n_nodes ? begin + nodes : graph->n_nodes;
        ggml_cgraph chunk       = ggml_graph_view(graph, begin, end);
        const int64_t start_us  = ggml_time_us();
        const ggml_status state = compute(backend, &chunk);
        if (state != GGML_STATUS_SUCCESS) {
            return state;
        }
        ggml_backend_synchronize(backend);
        const int64_t took_us = ggml_time_us() - start_us;
        if (took_us < CHUNK_US_LOW * factor && end - begin == nodes_learned) {
            nodes_learned *= 2;
        } else if (took_us > CHUNK_US_HIGH * factor && nodes_learned > CHUNK_NODES_LEAST) {
            nodes_learned /= 2;
        }
        job->computed(end - begin);
        begin = end;
    }
    return GGML_STATUS_SUCCESS;
}

ggml_status compute_with_own_check(ggml_backend_t backend, ggml_cgraph* graph) {
    Job* job = current_job();
    if (job != nullptr) {
        job->graph_begins(graph->n_nodes);
        if (job->cancelled()) {
            return GGML_STATUS_ABORTED;
        }
    }
    return compute_of(backend)(backend, graph);
}

ggml_backend_t init_hooked(ggml_backend_dev_t device, const char* params) {
    const Job* job = current_job();
    if (job != nullptr && job->ledger() != nullptr) {
        return phantom_backend(device);
    }
    InitBackend init = nullptr;
    {
        std::lock_guard<std::mutex> lock(hook_mutex);
        init = original_init[device];
    }
    ggml_backend_t backend = init(device, params);
    if (backend == nullptr) {
        return nullptr;
    }
    const bool own_check = ggml_backend_is_cpu(backend) && !force_chunks.load(std::memory_order_relaxed);
    {
        std::lock_guard<std::mutex> lock(hook_mutex);
        original_compute[backend->device] = backend->iface.graph_compute;
    }
    if (own_check) {
        ggml_backend_cpu_set_abort_callback(backend, after_node, nullptr);
        backend->iface.graph_compute = compute_with_own_check;
    } else {
        backend->iface.graph_compute = compute_in_chunks;
    }
    return backend;
}

}  // namespace

std::mutex& device_list() {
    static std::mutex& mutex = *new std::mutex;
    return mutex;
}

void hook_devices() {
    std::scoped_lock lock(device_list(), hook_mutex);
    for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
        ggml_backend_dev_t device = ggml_backend_dev_get(i);
        if (device->iface.init_backend != init_hooked) {
            original_init[device]      = device->iface.init_backend;
            device->iface.init_backend = init_hooked;
        }
    }
}

}  // namespace atelier

void atelier_set_hook(int nodes, bool force) {
    atelier::fixed_nodes  = nodes;
    atelier::force_chunks = force;
}
