// Dry runs: the engine generates an image on devices that neither allocate nor compute, to predict its memory and
// its work.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "graph_work.h"
#include "shim.h"

struct ggml_backend;
struct ggml_backend_buffer;
struct ggml_backend_buffer_type;
struct ggml_backend_device;
struct ggml_cgraph;

namespace atelier {

// Memory that the modules of an estimator would allocate, and the work of their graphs.
//
// The estimator's backends are created by dry_run_backend: they have the properties of a real device, but their buffers are addresses without
// memory, and their graphs are counted instead of computed.
class DryRun {
public:
    DryRun()                         = default;
    DryRun(const DryRun&)            = delete;
    DryRun& operator=(const DryRun&) = delete;

    void record_allocation(ggml_backend_buffer* buffer);
    void record_free(ggml_backend_buffer* buffer);
    // A graph of the job's current module is computed.
    void record_graph(ggml_backend_device* device, const ggml_cgraph* graph);
    // Data that is no weight is copied to, or from, the device of the job's current module.
    void record_input(uint64_t bytes);
    void record_output(uint64_t bytes);

    // Begins an image. Weights that are still allocated count for it.
    void begin_image();
    std::vector<atelier_module_estimate> module_estimates() const;
    std::vector<atelier_work> work() const;

private:
    struct Allocation {
        ggml_backend_buffer* buffer;
        int module;
        bool is_lora;
        bool is_transient;  // gone before the weights are used
    };

    struct RunningModule {
        ggml_backend_device* device = nullptr;
        int phase                   = 0;
    };

    // Notes the packed weights that the processor would keep of a graph of the steps.
    void note_packed(const ggml_cgraph* graph);

    // Raises a module's peaks to what it has allocated on the device where it runs.
    void update_estimate(int module);

    std::vector<Allocation> allocations_;
    std::map<int, RunningModule> running_modules_;                      // by module
    std::map<std::pair<int, int>, atelier_module_estimate> estimates_;  // by module and phase
    std::map<std::pair<int, int>, GraphWork> work_;                     // by module and phase
    // Of the steps' weights, by address and size: a view of the first rows lies where the whole does.
    std::map<std::tuple<const void*, int64_t, int64_t>, uint64_t> packed_bytes_;
};

// A backend without memory and computation that has the properties of `device`.
ggml_backend* dry_run_backend(ggml_backend_device* device);
bool is_virtual(const ggml_backend_buffer_type* type);

}  // namespace atelier
