// Work of graphs: floating point operations and bytes by kind, number type and size of nodes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "ggml.h"
#include "shim.h"

struct ggml_cgraph;

namespace atelier {

// Work of the graphs that were added.
class GraphWork {
public:
    void add_graph(const ggml_cgraph* graph);
    void add_input(uint64_t bytes) { input_bytes_ += bytes; }
    void add_output(uint64_t bytes) { output_bytes_ += bytes; }

    uint64_t graphs() const { return graphs_; }
    uint64_t input_bytes() const { return input_bytes_; }
    uint64_t output_bytes() const { return output_bytes_; }
    // Each class of nodes once; `module` and `phase` are not set.
    std::vector<atelier_work> classes() const;

private:
    struct Amount {
        uint64_t nodes      = 0;
        uint64_t operations = 0;
        uint64_t bytes      = 0;
    };

    void add_node(const ggml_tensor* node);

    uint64_t graphs_       = 0;
    uint64_t input_bytes_  = 0;
    uint64_t output_bytes_ = 0;
    std::map<std::array<int, 3>, Amount> amounts_;  // by atelier_work_kind, ggml_type and atelier_node_size
};

}  // namespace atelier
