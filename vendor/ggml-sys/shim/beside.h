// Text encoders that run beside each other, where their devices differ.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "ggml-backend.h"

struct GGMLRunner;

namespace atelier {

class Beside {
public:
    // Adds work of a runner, which may be null. What is of one device is done in the order in which it was added.
    void add(GGMLRunner* runner, std::function<void()> work);
    // Does all of it, on a thread for each device. What one of them throws is thrown when all are done.
    void run();

private:
    std::vector<std::pair<ggml_backend_t, std::vector<std::function<void()>>>> by_device_;
};

}  // namespace atelier
