// Copies the weights of a graph's next segment to the device while this one is computed, and counts what is copied.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ggml-backend.h"
#include "ggml.h"
#include "shim.h"

struct RunnerWeightManager;

namespace atelier {

// Weights that were copied to the device of their module.
struct Copies {
    uint64_t bytes     = 0;
    uint64_t count     = 0;  // of buffers
    int64_t waited_us  = 0;  // in which nothing was computed
    int64_t hidden_us  = 0;  // beside computing
};

// Of one job; thread-safe.
class CopyProfile {
public:
    void add(int module, uint64_t bytes, int64_t time_us, bool is_hidden);
    void add_wait(int module, int64_t time_us);
    std::map<int, Copies> by_module() const;

private:
    mutable std::mutex mutex_;
    std::map<int, Copies> copies_;
};

// True where weights can be copied to the device while it computes.
bool copies_beside_computing(ggml_backend_t backend);

// One copy beside one computation, on a thread of its own while the scope lives.
class Prefetch {
public:
    // No weights, or no manager: nothing is copied.
    Prefetch(std::shared_ptr<RunnerWeightManager> manager, std::vector<ggml_tensor*> weights);
    ~Prefetch();
    Prefetch(const Prefetch&)            = delete;
    Prefetch& operator=(const Prefetch&) = delete;

    // Waits for it. The weights that are held now; the caller lets go of them (release_compute_backend_params) once they are used. None where
    // copying failed: then they are copied when they are needed, which says why.
    std::vector<ggml_tensor*> finish();

private:
    void run();

    std::shared_ptr<RunnerWeightManager> manager_;
    std::vector<ggml_tensor*> weights_;
    CopyProfile* profile_ = nullptr;
    bool is_held_         = false;
    std::thread thread_;
};

}  // namespace atelier

extern "C" {
// Called by the patched weight manager where it has copied weights to a device.
void atelier_note_copied(const char* first_weight, uint64_t bytes, int64_t time_us);
// True on a thread that copies beside a computation.
bool atelier_is_prefetching(void);
}
