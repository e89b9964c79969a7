// Remote devices: functions that the patched ggml-rpc.cpp calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct ggml_backend_buffer;
struct socket_t;

namespace atelier {

// The connection to a server broke while it was needed.
struct ConnectionLost {
    std::string server;  // address
};

// Records the lost connection in this thread's job, and throws `ConnectionLost` where an exception is caught by the shim.
void fail_rpc();
// The same for a server whose answers cannot be true, or whose connection cannot be used any more.
void fail_rpc(socket_t& socket);

// True in a job that was cancelled.
bool is_cancelled();

// Locks a timed mutex; the result owns nothing where this thread's job is cancelled meanwhile.
template <typename Mutex>
std::unique_lock<Mutex> lock_unless_cancelled(Mutex& mutex) {
    std::unique_lock<Mutex> lock(mutex, std::try_to_lock);
    while (!lock.owns_lock() && !is_cancelled()) {
        lock.try_lock_for(std::chrono::milliseconds(25));
    }
    return lock;
}

// The connection to one server. Others connect meanwhile.
class Connection {
public:
    std::timed_mutex mutex;
    // Protected by `mutex`.
    std::weak_ptr<socket_t> socket;

    void store_memory(uint32_t device, size_t free, size_t total);
    // What was said of the memory is not true any more.
    void forget_memory();
    // The server's last answer; 0 where there is none, or where it is old and the connection not open.
    void load_memory(uint32_t device, bool is_open, size_t* free, size_t* total);

private:
    struct Memory {
        size_t free   = 0;
        size_t total  = 0;
        int64_t at_us = 0;
    };
    std::mutex memory_mutex_;
    std::map<uint32_t, Memory> memory_;
};
std::shared_ptr<Connection> connection_to(const std::string& endpoint);

// Devices of one server; a larger number is no answer of a machine's.
constexpr uint32_t MAX_SERVER_DEVICES = 64;
// A graph in the form of ggml's RPC; each of its tensors takes twice as much again to rebuild.
constexpr uint64_t MAX_GRAPH_BYTES = 32 << 20;
// Buffers of one borrower.
constexpr size_t MAX_BUFFERS = 1 << 16;
// What a message holds beside the bytes of a tensor.
constexpr uint64_t MESSAGE_OVERHEAD_BYTES = 4096;

// Bytes that this thread lends to its borrower in total; the largest number without a limit.
uint64_t lent_bytes();

// A lender's cache of weights by their SHA-256, which Rust keeps.
constexpr size_t SHA256_BYTES = 32;
bool sha256(const void* data, size_t size, uint8_t* hash);
bool has_weights_cache();
void store_cached_weights(const uint8_t* data, size_t size);
bool load_cached_weights(const uint8_t* hash, size_t size, std::vector<uint8_t>& data);

}  // namespace atelier

// In the patched ggml-rpc.cpp: true for a buffer of a server whose connection broke, so that its memory is gone.
bool atelier_rpc_is_lost(ggml_backend_buffer* buffer);
