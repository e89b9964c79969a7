// Sockets of ggml's RPC, in place of its own transport.cpp.
//
// Rust opens both ends and does the handshake (crates/engine/src/remote); here bytes are transferred. A socket stays broken after the first
// error, a client has a time-out for answers, and a mutex gives the socket to one request at a time.
#include "transport.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>
#endif

#include "ggml.h"
#include "job.h"
#include "remote.h"
#include "shim.h"

namespace {

#ifdef _WIN32
using Socket = SOCKET;
bool is_retryable() {
    const int error = WSAGetLastError();
    return error == WSAETIMEDOUT || error == WSAEWOULDBLOCK || error == WSAEINTR;
}
void close_socket(Socket socket) {
    closesocket(socket);
}
void stop_socket(Socket socket) {
    shutdown(socket, SD_BOTH);
}
constexpr int SEND_FLAGS = 0;
#else
using Socket = int;
bool is_retryable() {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}
void close_socket(Socket socket) {
    close(socket);
}
void stop_socket(Socket socket) {
    shutdown(socket, SHUT_RDWR);
}
#ifdef MSG_NOSIGNAL
constexpr int SEND_FLAGS = MSG_NOSIGNAL;
#else
constexpr int SEND_FLAGS = 0;
#endif
#endif

constexpr size_t MAX_PART_BYTES = 1u << 20;
// A server sends nothing while it computes a chunk of a graph: up to a minute on a slow machine.
constexpr int64_t RESPONSE_TIMEOUT_US = 180 * 1000 * 1000;
// After a cancel: the answer is only needed to use the connection again.
constexpr int64_t CANCELLED_TIMEOUT_US = 10 * 1000 * 1000;
constexpr int64_t RECONNECT_DELAY_US   = 10 * 1000 * 1000;

std::atomic<atelier_dialer> dialer{nullptr};
std::atomic<int64_t> response_timeout_us{RESPONSE_TIMEOUT_US};
thread_local std::string lost_server;

std::mutex failed_mutex;
std::map<std::string, int64_t> failed_at_us;

void set_option(Socket socket, int level, int option, int value) {
    setsockopt(socket, level, option, reinterpret_cast<const char*>(&value), sizeof(value));
}

// Detects a machine that was switched off: the system probes after 15 seconds of silence.
void keep_alive(Socket socket) {
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
#if defined(TCP_KEEPIDLE) && defined(TCP_KEEPINTVL) && defined(TCP_KEEPCNT)
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
#endif
#ifdef SO_NOSIGPIPE
    set_option(socket, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
}

}  // namespace

struct socket_t::impl {
    struct Memory {
        size_t free  = 0;
        size_t total = 0;
    };

    impl(Socket socket, std::string endpoint) : socket(socket), endpoint(std::move(endpoint)) {}
    ~impl() { close_socket(socket); }

    // `since_us`: time of the last transferred byte.
    bool has_timed_out(int64_t since_us) const {
        if (endpoint.empty()) {
            return false;  // a client may pause for any time; keep-alive detects its death
        }
        const atelier::Job* job = atelier::current_job();
        const int64_t limit     = job != nullptr && job->is_cancelled() ? std::min(CANCELLED_TIMEOUT_US, response_timeout_us.load()) : response_timeout_us.load();
        return ggml_time_us() - since_us > limit;
    }

    bool fail() {
        if (!is_broken.exchange(true)) {
            stop_socket(socket);
        }
        lost_server = endpoint;
        return false;
    }

    // Transfers `size` bytes with `step`, which sends or receives a part.
    template <typename Step>
    bool transfer(size_t size, Step step) {
        if (is_broken.load()) {
            return fail();
        }
        int64_t since_us = ggml_time_us();
        for (size_t done = 0; done < size;) {
            const auto count = step(done, std::min(size - done, MAX_PART_BYTES));
            if (count > 0) {
                done += static_cast<size_t>(count);
                since_us = ggml_time_us();
            } else if (count == 0 || !is_retryable() || has_timed_out(since_us)) {
                return fail();
            }
        }
        return true;
    }

    const Socket socket;
    // The server's address; empty on the server.
    const std::string endpoint;
    std::recursive_timed_mutex mutex;
    std::atomic<bool> is_broken{false};
    std::mutex memory_mutex;
    std::map<uint32_t, Memory> memory;
};

socket_t::socket_t(std::unique_ptr<impl> p) : pimpl(std::move(p)) {}
socket_t::~socket_t() = default;

bool socket_t::send_data(const void* data, size_t size) {
    return pimpl->transfer(size, [&](size_t done, size_t part) {
        return send(pimpl->socket, static_cast<const char*>(data) + done, part, SEND_FLAGS);
    });
}

bool socket_t::recv_data(void* data, size_t size) {
    return pimpl->transfer(size, [&](size_t done, size_t part) { return recv(pimpl->socket, static_cast<char*>(data) + done, part, 0); });
}

bool socket_t::is_broken() const {
    return pimpl->is_broken.load();
}

void socket_t::mark_broken() {
    pimpl->fail();
}

std::recursive_timed_mutex& socket_t::mutex() {
    return pimpl->mutex;
}

void socket_t::store_memory(uint32_t device, size_t free, size_t total) {
    std::lock_guard<std::mutex> lock(pimpl->memory_mutex);
    pimpl->memory[device] = {free, total};
}

void socket_t::load_memory(uint32_t device, size_t* free, size_t* total) {
    std::lock_guard<std::mutex> lock(pimpl->memory_mutex);
    const impl::Memory memory = pimpl->memory[device];
    *free                     = memory.free;
    *total                    = memory.total;
}

socket_ptr socket_t::from_socket(int64_t socket, const std::string& endpoint) {
    keep_alive(static_cast<Socket>(socket));
    return socket_ptr(new socket_t(std::make_unique<impl>(static_cast<Socket>(socket), endpoint)));
}

socket_ptr socket_t::connect(const char* host, int port) {
    const std::string endpoint = std::string(host) + ':' + std::to_string(port);
    const atelier_dialer dial  = dialer.load();
    const int64_t socket       = dial == nullptr ? -1 : dial(endpoint.c_str());
    std::lock_guard<std::mutex> lock(failed_mutex);
    if (socket < 0) {
        failed_at_us[endpoint] = ggml_time_us();
        lost_server            = endpoint;
        return nullptr;
    }
    failed_at_us.erase(endpoint);
    return from_socket(socket, endpoint);
}

// Without RDMA there are no capabilities to negotiate.
void socket_t::get_caps(uint8_t* local_caps) {
    std::fill_n(local_caps, RPC_CONN_CAPS_SIZE, uint8_t{0});
}

void socket_t::update_caps(const uint8_t*) {}

// Rust listens: ggml's own loop, which calls these, is never started.
socket_ptr socket_t::accept() {
    return nullptr;
}

socket_ptr socket_t::create_server(const char*, int) {
    return nullptr;
}

bool rpc_transport_init() {
    return true;  // Rust's standard library calls WSAStartup
}

void rpc_transport_shutdown() {}

namespace atelier {

void fail_rpc() {
    if (Job* job = current_job()) {
        job->record_lost_connection(lost_server);
    }
    if (can_throw()) {
        throw ConnectionLost{lost_server};
    }
}

bool may_connect(const std::string& endpoint) {
    std::lock_guard<std::mutex> lock(failed_mutex);
    const auto it = failed_at_us.find(endpoint);
    return it == failed_at_us.end() || ggml_time_us() - it->second > RECONNECT_DELAY_US;
}

}  // namespace atelier

void atelier_rpc_set_dialer(atelier_dialer dial) {
    dialer = dial;
}

void atelier_rpc_set_timeout(uint64_t milliseconds) {
    response_timeout_us = milliseconds == 0 ? RESPONSE_TIMEOUT_US : static_cast<int64_t>(milliseconds) * 1000;
}
