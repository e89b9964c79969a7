// Asserts and exceptions on the threads that compute a graph on the processor (see patches/ggml-cpu.c.patch).
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "job.h"

namespace {

// Thrown on threads that wait for one that failed.
struct LeaveComputation {};

std::mutex& failures_mutex() {
    static std::mutex& mutex = *new std::mutex;
    return mutex;
}

// Why a thread failed.
struct ThreadFailure {
    std::string message;
    bool lacks_memory = false;
};

// The first failure of each pool of threads. Never destroyed: threads may still run when the program ends.
std::map<const void*, ThreadFailure>& failures() {
    static auto& map = *new std::map<const void*, ThreadFailure>;
    return map;
}

void record(const void* threadpool, const char* message, bool lacks_memory = false) noexcept {
    try {
        std::lock_guard<std::mutex> lock(failures_mutex());
        failures().emplace(threadpool, ThreadFailure{message, lacks_memory});
    } catch (...) {
        // A graph without a reason lacks memory too: see atelier_rethrow_computation.
    }
}

}  // namespace

bool atelier_compute_on_thread(void (*compute)(void*), void* thread, const void* threadpool) {
    try {
        atelier::ThrowScope scope;
        compute(thread);
        return true;
    } catch (const LeaveComputation&) {
        return false;
    } catch (const atelier::EngineAbort& aborted) {
        record(threadpool, aborted.message.c_str());
    } catch (const std::bad_alloc& exception) {
        record(threadpool, exception.what(), true);
    } catch (const std::exception& exception) {
        record(threadpool, exception.what());
    } catch (...) {
        record(threadpool, "an unknown exception");
    }
    return false;
}

void atelier_leave_computation(void) {
    throw LeaveComputation{};
}

void atelier_rethrow_computation(const void* threadpool) {
    // Where there was no memory to note a reason.
    ThreadFailure failure{"", true};
    {
        std::lock_guard<std::mutex> lock(failures_mutex());
        const auto it = failures().find(threadpool);
        if (it != failures().end()) {
            failure = std::move(it->second);
            failures().erase(it);
        }
    }
    if (atelier::can_throw()) {
        if (failure.lacks_memory) {
            throw std::bad_alloc();
        }
        throw atelier::EngineAbort{std::move(failure.message)};
    }
}
