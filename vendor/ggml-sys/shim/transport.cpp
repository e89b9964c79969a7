// Sockets of ggml's RPC, in place of its own transport.cpp.
//
// Rust opens both ends and does the handshake (crates/engine/src/remote); here bytes are transferred. A socket stays broken after the first
// error. A client's request and its answer are one exchange with one deadline. A job that is cancelled leaves its exchange within a moment: an
// answer that nobody waits for any more is skipped by the next exchange, and a request that is sent in part breaks the connection.
#include "transport.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <vector>

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
#include <poll.h>
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
bool is_readable(Socket socket) {
    WSAPOLLFD entry = {socket, POLLRDNORM, 0};
    return WSAPoll(&entry, 1, 0) > 0;
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
bool is_readable(Socket socket) {
    pollfd entry = {socket, POLLIN, 0};
    return poll(&entry, 1, 0) > 0;
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
// Outside of a job, where a server only says what it has.
constexpr int64_t QUESTION_TIMEOUT_US = 15 * 1000 * 1000;
// A client may pause between two requests for any time, but not within one.
constexpr int64_t REQUEST_TIMEOUT_US = 30 * 1000 * 1000;
// The slowest transfer that is waited for adds a second to these limits for so many bytes.
constexpr uint64_t MIN_BYTES_PER_SECOND = 64 * 1024;
// From a cancel to the end of the exchange in flight.
constexpr int64_t CANCEL_GRACE_US = 30 * 1000;
// For an answer that is of use only if it comes at once.
constexpr int64_t PATIENCE_US = 100 * 1000;

// What a server said of its memory is believed for so long after the connection was closed.
constexpr int64_t MEMORY_LIFETIME_US = 3 * 1000 * 1000;

std::atomic<atelier_dialer> dialer{nullptr};
std::atomic<int64_t> response_timeout_us{RESPONSE_TIMEOUT_US};
thread_local std::string lost_server;

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

int64_t response_limit_us() {
    const int64_t limit_us = response_timeout_us.load();
    return atelier::current_job() == nullptr ? std::min(limit_us, QUESTION_TIMEOUT_US) : limit_us;
}

int64_t deadline_us(int64_t limit_us, uint64_t bytes) {
    return ggml_time_us() + limit_us + static_cast<int64_t>(bytes / MIN_BYTES_PER_SECOND) * 1000 * 1000;
}

enum class Outcome { COMPLETE, ABANDONED, FAILED };

}  // namespace

struct socket_t::impl {
    // An answer that is still to come and that nobody waits for: its length, then so many bytes.
    struct UnreadAnswer {
        uint64_t size = 0;
        size_t done   = 0;
        uint64_t announced_size = 0;
    };

    struct Waiting {
        int64_t deadline_us;
        // The transfer may stop between two bytes, as long as what is missing is remembered.
        bool may_be_abandoned;
        // Then it is abandoned after this time; 0: only by a cancel.
        int64_t patience_us;
    };

    impl(Socket socket, std::string endpoint, bool is_stock) : socket(socket), endpoint(std::move(endpoint)), is_stock(is_stock) {}
    ~impl() { close_socket(socket); }

    void fail() {
        if (!is_broken.exchange(true)) {
            stop_socket(socket);
        }
        lost_server = endpoint;
    }

    // Transfers bytes from `done` to `size` with `step`, which sends or receives a part.
    template <typename Step>
    Outcome transfer(size_t& done, size_t size, const Waiting& waiting, Step step) {
        if (is_broken.load()) {
            fail();
            return Outcome::FAILED;
        }
        const atelier::Job* job = endpoint.empty() ? nullptr : atelier::current_job();
        while (done < size) {
            if (waiting.may_be_abandoned && job != nullptr && job->is_cancelled_for(CANCEL_GRACE_US) && !is_readable(socket)) {
                lost_server = endpoint;
                return Outcome::ABANDONED;
            }
            const auto count = step(done, std::min(size - done, MAX_PART_BYTES));
            if (count > 0) {
                done += static_cast<size_t>(count);
            } else if (count == 0 || !is_retryable()) {
                fail();
                return Outcome::FAILED;
            }
            if (done == size) {
                break;
            }
            const int64_t now_us     = ggml_time_us();
            const bool is_cancelled  = job != nullptr && job->is_cancelled_for(CANCEL_GRACE_US);
            const bool is_impatient  = waiting.patience_us > 0 && now_us > waiting.patience_us;
            if (waiting.may_be_abandoned && (is_cancelled || is_impatient)) {
                lost_server = endpoint;
                return Outcome::ABANDONED;
            }
            if (is_cancelled || now_us > waiting.deadline_us) {
                fail();
                return Outcome::FAILED;
            }
        }
        return Outcome::COMPLETE;
    }

    Outcome send_bytes(const void* data, size_t size, const Waiting& waiting) {
        size_t done = 0;
        return transfer(done, size, waiting, [&](size_t from, size_t part) {
            const auto count = send(socket, static_cast<const char*>(data) + from, part, SEND_FLAGS);
            // One that will say nothing more reads nothing more either.
            return count < 0 && is_retryable() && has_hung_up() ? 0 : count;
        });
    }

    bool has_hung_up() const {
        char next = 0;
        return is_readable(socket) && recv(socket, &next, 1, MSG_PEEK) == 0;
    }

    Outcome receive_bytes(void* data, size_t& done, size_t size, const Waiting& waiting) {
        return transfer(done, size, waiting, [&](size_t from, size_t part) { return recv(socket, static_cast<char*>(data) + from, part, 0); });
    }

    // Receives what is left of an answer, into `output` or to nowhere.
    Outcome receive_answer(UnreadAnswer& answer, void* output, const Waiting& waiting) {
        constexpr size_t LENGTH_BYTES = sizeof(answer.announced_size);
        if (answer.done < LENGTH_BYTES) {
            const Outcome outcome = receive_bytes(&answer.announced_size, answer.done, LENGTH_BYTES, waiting);
            if (outcome != Outcome::COMPLETE) {
                return outcome;
            }
        }
        if (answer.announced_size != answer.size) {
            fail();  // the position in the stream is unknown
            return Outcome::FAILED;
        }
        std::vector<char> skipped(output == nullptr ? std::min<uint64_t>(answer.size, MAX_PART_BYTES) : 0);
        size_t done           = answer.done - LENGTH_BYTES;
        const Outcome outcome = transfer(done, answer.size, waiting, [&](size_t from, size_t part) {
            char* to = output == nullptr ? skipped.data() : static_cast<char*>(output) + from;
            return recv(socket, to, part, 0);
        });
        answer.done = done + LENGTH_BYTES;
        return outcome;
    }

    Outcome skip_unread_answers(int64_t patience_us) {
        while (!unread.empty()) {
            const Outcome outcome = receive_answer(unread.front(), nullptr, {unread_deadline_us, true, patience_us});
            if (outcome != Outcome::COMPLETE) {
                return outcome;
            }
            unread.pop_front();
        }
        return Outcome::COMPLETE;
    }

    Outcome send_request(uint8_t command, const void* input, uint64_t size, const Waiting& waiting) {
        uint8_t head[1 + sizeof(size)];
        head[0] = command;
        std::memcpy(head + 1, &size, sizeof(size));
        const Outcome outcome = send_bytes(head, sizeof(head), waiting);
        return outcome == Outcome::COMPLETE ? send_bytes(input, size, waiting) : outcome;
    }

    void leave_unread(const UnreadAnswer& answer, int64_t until_us) {
        unread.push_back(answer);
        unread_deadline_us = std::max(unread_deadline_us, until_us);
    }

    // Sends the requests whose answers nobody waits for.
    bool send_deferred() {
        std::deque<std::vector<uint8_t>> requests;
        {
            std::lock_guard<std::mutex> lock(deferred_mutex);
            requests.swap(deferred);
        }
        for (const auto& request : requests) {
            const int64_t until_us = deadline_us(response_limit_us(), 0);
            if (send_request(request.front(), request.data() + 1, request.size() - 1, {until_us, false, 0}) != Outcome::COMPLETE) {
                return false;
            }
            leave_unread({}, until_us);
        }
        return true;
    }

    const Socket socket;
    // The server's address; empty on the server.
    const std::string endpoint;
    const bool is_stock;
    std::timed_mutex mutex;
    std::atomic<bool> is_broken{false};
    // Of the server: end of the message that is being transferred; 0 between messages.
    int64_t message_deadline_us = 0;
    // Protected by `mutex`.
    std::deque<UnreadAnswer> unread;
    int64_t unread_deadline_us = 0;

    std::mutex deferred_mutex;
    std::deque<std::vector<uint8_t>> deferred;
};

socket_t::socket_t(std::unique_ptr<impl> p) : pimpl(std::move(p)) {}
socket_t::~socket_t() = default;

void socket_t::begin_message(uint64_t bytes) {
    pimpl->message_deadline_us = deadline_us(REQUEST_TIMEOUT_US, bytes);
}

void socket_t::end_message() {
    pimpl->message_deadline_us = 0;
}

bool socket_t::send_data(const void* data, size_t size) {
    begin_message(size);
    return pimpl->send_bytes(data, size, {pimpl->message_deadline_us, false, 0}) == Outcome::COMPLETE;
}

bool socket_t::recv_data(void* data, size_t size) {
    const int64_t until_us = pimpl->message_deadline_us == 0 ? INT64_MAX : pimpl->message_deadline_us;
    size_t done            = 0;
    return pimpl->receive_bytes(data, done, size, {until_us, false, 0}) == Outcome::COMPLETE;
}

bool socket_t::request(uint8_t command, const void* input, size_t size) {
    const auto lock = atelier::lock_unless_cancelled(pimpl->mutex);
    if (!lock.owns_lock()) {
        lost_server = pimpl->endpoint;
        return false;
    }
    const impl::Waiting waiting = {deadline_us(response_limit_us(), size), false, 0};
    return pimpl->send_deferred() && pimpl->send_request(command, input, size, waiting) == Outcome::COMPLETE;
}

bool socket_t::exchange(uint8_t command, const void* input, size_t size, void* output, size_t output_size) {
    const auto lock         = atelier::lock_unless_cancelled(pimpl->mutex);
    const atelier::Job* job = atelier::current_job();
    // A cancelled job asks no more of a server that owes it an answer.
    const bool is_late      = job != nullptr && job->is_cancelled_for(CANCEL_GRACE_US);
    if (!lock.owns_lock() || (is_late && !pimpl->unread.empty() && !is_readable(pimpl->socket))) {
        lost_server = pimpl->endpoint;
        return false;
    }
    const impl::Waiting waiting = {deadline_us(response_limit_us(), static_cast<uint64_t>(size) + output_size), false, 0};
    if (!pimpl->send_deferred() || pimpl->send_request(command, input, size, waiting) != Outcome::COMPLETE) {
        return false;
    }
    impl::UnreadAnswer answer = {output_size};
    if (pimpl->skip_unread_answers(0) == Outcome::COMPLETE) {
        const Outcome outcome = pimpl->receive_answer(answer, output, {waiting.deadline_us, true, 0});
        if (outcome != Outcome::ABANDONED) {
            return outcome == Outcome::COMPLETE;
        }
    }
    pimpl->leave_unread(answer, waiting.deadline_us);
    return false;
}

bool socket_t::exchange_at_once(uint8_t command, const void* input, size_t size, void* output, size_t output_size) {
    const int64_t patience_us = ggml_time_us() + PATIENCE_US;
    std::unique_lock<std::timed_mutex> lock(pimpl->mutex, std::chrono::microseconds(PATIENCE_US));
    // A server that owes an answer computes, or is silent: it is not waited for.
    if (!lock.owns_lock() || is_broken() || (!pimpl->unread.empty() && !is_readable(pimpl->socket))) {
        return false;
    }
    if (!pimpl->send_deferred() || pimpl->skip_unread_answers(patience_us) != Outcome::COMPLETE) {
        return false;
    }
    const int64_t until_us = deadline_us(response_limit_us(), output_size);
    if (pimpl->send_request(command, input, size, {until_us, false, 0}) != Outcome::COMPLETE) {
        return false;
    }
    impl::UnreadAnswer answer = {output_size};
    const Outcome outcome     = pimpl->receive_answer(answer, output, {until_us, true, patience_us});
    if (outcome == Outcome::ABANDONED) {
        pimpl->leave_unread(answer, until_us);
    }
    return outcome == Outcome::COMPLETE;
}

void socket_t::request_without_answer(uint8_t command, const void* input, size_t size) {
    if (is_broken()) {
        return;
    }
    {
        std::vector<uint8_t> request = {command};
        const auto* bytes            = static_cast<const uint8_t*>(input);
        request.insert(request.end(), bytes, bytes + size);
        std::lock_guard<std::mutex> lock(pimpl->deferred_mutex);
        pimpl->deferred.push_back(std::move(request));
    }
    // Where another thread exchanges, it sends them before its next request.
    std::unique_lock<std::timed_mutex> lock(pimpl->mutex, std::try_to_lock);
    if (lock.owns_lock()) {
        pimpl->send_deferred();
    }
}

bool socket_t::is_broken() const {
    return pimpl->is_broken.load();
}

bool socket_t::is_alive() {
    std::unique_lock<std::timed_mutex> lock(pimpl->mutex, std::try_to_lock);
    if (!lock.owns_lock() || is_broken()) {
        return !is_broken();
    }
    char next = 0;
    // Between exchanges nothing may come but answers that nobody waits for.
    if (is_readable(pimpl->socket) && (recv(pimpl->socket, &next, 1, MSG_PEEK) <= 0 || pimpl->unread.empty())) {
        pimpl->fail();
    }
    return !is_broken();
}

void socket_t::mark_broken() {
    pimpl->fail();
}

bool socket_t::is_stock() const {
    return pimpl->is_stock;
}

socket_ptr socket_t::from_socket(int64_t socket, const std::string& endpoint, bool is_stock) {
    keep_alive(static_cast<Socket>(socket));
    return socket_ptr(new socket_t(std::make_unique<impl>(static_cast<Socket>(socket), endpoint, is_stock)));
}

socket_ptr socket_t::connect(const char* host, int port) {
    const std::string endpoint = std::string(host) + ':' + std::to_string(port);
    const atelier_dialer dial  = dialer.load();
    bool is_stock              = false;
    const int64_t socket       = dial == nullptr ? -1 : dial(endpoint.c_str(), &is_stock);
    if (socket < 0) {
        lost_server = endpoint;
        return nullptr;
    }
    return from_socket(socket, endpoint, is_stock);
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

void fail_rpc(socket_t& socket) {
    socket.mark_broken();
    fail_rpc();
}

std::shared_ptr<Connection> connection_to(const std::string& endpoint) {
    static std::mutex& mutex = *new std::mutex;
    static auto& connections = *new std::map<std::string, std::shared_ptr<Connection>>;
    std::lock_guard<std::mutex> lock(mutex);
    auto& connection = connections[endpoint];
    if (connection == nullptr) {
        connection = std::make_shared<Connection>();
    }
    return connection;
}

void Connection::store_memory(uint32_t device, size_t free, size_t total) {
    std::lock_guard<std::mutex> lock(memory_mutex_);
    memory_[device] = {free, total, ggml_time_us()};
}

void Connection::forget_memory() {
    std::lock_guard<std::mutex> lock(memory_mutex_);
    memory_.clear();
}

void Connection::load_memory(uint32_t device, bool is_open, size_t* free, size_t* total) {
    std::lock_guard<std::mutex> lock(memory_mutex_);
    const Memory memory = memory_[device];
    const bool is_known = memory.at_us > 0 && (is_open || ggml_time_us() - memory.at_us < MEMORY_LIFETIME_US);
    *free               = is_known ? memory.free : 0;
    *total              = is_known ? memory.total : 0;
}

bool is_cancelled() {
    const Job* job = current_job();
    return job != nullptr && job->is_cancelled();
}

}  // namespace atelier

bool atelier_is_cancelled(void) {
    return atelier::is_cancelled();
}

void atelier_rpc_set_dialer(atelier_dialer dial) {
    dialer = dial;
}

void atelier_rpc_set_timeout(uint64_t milliseconds) {
    response_timeout_us = milliseconds == 0 ? RESPONSE_TIMEOUT_US : static_cast<int64_t>(milliseconds) * 1000;
}
