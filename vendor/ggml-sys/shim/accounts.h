// What Atelier holds of each device, and what an estimate would hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "shim.h"

struct ggml_backend;
struct ggml_backend_buffer;
struct ggml_backend_buffer_type;
struct ggml_backend_device;

namespace atelier {

// The most bytes of each device, by phase and by the device's name, which lives as long as the process.
using Peaks = std::map<std::pair<int, const char*>, uint64_t>;

// What the last picture or enlarging of this thread took.
extern thread_local Peaks last_peaks;

// Raises a phase's peaks to what is held now.
void note_held(int phase, Peaks& peaks);
// Bytes held now; 0 for a device that nothing was ever allocated on.
uint64_t held_bytes(const char* device);

// The books of a context that holds nothing: what its modules would allocate.
//
// The context's backends are phantoms. They answer as the devices that they stand for, but their buffers are addresses without memory
// behind them, and their graphs are looked at instead of computed.
class Ledger {
public:
    Ledger()                         = default;
    Ledger(const Ledger&)            = delete;
    Ledger& operator=(const Ledger&) = delete;

    void made(ggml_backend_buffer* buffer);
    void freed(ggml_backend_buffer* buffer);
    // A graph of the job's module runs.
    void computes(ggml_backend_device* device);

    // A run begins; weights that stayed count as its own.
    void begin();
    std::vector<atelier_need> needs() const;

private:
    struct Held {
        ggml_backend_buffer* buffer;
        int module;
        bool lora;
    };

    struct Running {
        ggml_backend_device* device = nullptr;
        int phase                   = 0;
        int graphs                  = 0;
    };

    // Books what a module holds where it runs.
    void book(int module);

    std::vector<Held> held_;
    std::map<int, Running> running_;                     // by module
    std::map<std::pair<int, int>, atelier_need> needs_;  // by module and phase
};

// A backend in the place of the device's own.
ggml_backend* phantom_backend(ggml_backend_device* device);
bool is_phantom(const ggml_backend_buffer_type* type);

}  // namespace atelier
