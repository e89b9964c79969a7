// Counts the bytes that this process has allocated on each device, and their peaks by phase.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace atelier {

// Peaks of allocated bytes by phase and device name. Names live as long as the process.
using PeakBytes = std::map<std::pair<int, const char*>, uint64_t>;

// Peaks of this thread's last generation or upscaling.
extern thread_local PeakBytes last_peaks;

// Raises the peaks of a phase to what is allocated now.
void raise_peaks(int phase, PeakBytes& peaks);
// Bytes allocated now, and of the CPU those that are kept for compute buffers and of packed weights; 0 for an unknown device.
uint64_t allocated_bytes(const char* device);

}  // namespace atelier
