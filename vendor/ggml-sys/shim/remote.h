// Remote devices: functions that the patched ggml-rpc.cpp calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace atelier {

// The connection to a server broke while it was needed.
struct ConnectionLost {
    std::string server;  // address
};

// Records the lost connection in this thread's job, and throws `ConnectionLost` where an exception is caught by the shim.
void fail_rpc();

// False for ten seconds after a connection failed: polls of a device's memory do not wait for its server again.
bool may_connect(const std::string& endpoint);

// Writes weights to a file, completely or not at all.
void store_cached_weights(const std::filesystem::path& path, const uint8_t* data, size_t size);

}  // namespace atelier
