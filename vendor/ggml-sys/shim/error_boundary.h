// Boundary of the C interface: no exception leaves it, and the reason of a failure is stored for the thread.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "job.h"
#include "remote.h"
#include "shim.h"

namespace atelier {

// Reason of this thread's last failure.
extern thread_local std::string last_error;
extern thread_local atelier_shortage last_shortage;
extern thread_local std::string last_lost_server;
extern thread_local std::string last_lost_device;

// Runs `work`, which returns a status, as this thread's job, and turns exceptions into a status.
template <typename Work>
atelier_status run_guarded(Job* job, Work work) noexcept {
    last_error.clear();
    last_shortage      = {};
    last_lost_server.clear();
    last_lost_device.clear();
    const auto status_of_failure = [job](atelier_status otherwise) {
        // Before a cancel: the context refers to memory of the server.
        if (job != nullptr && job->is_connection_lost()) {
            last_lost_server = job->lost_server();
            return ATELIER_CONNECTION_LOST;
        }
        if (job != nullptr && job->is_cancelled()) {
            return ATELIER_CANCELLED;
        }
        // A failed allocation often ends in an assert later; the allocation is the reason.
        if (job != nullptr && job->shortage() != nullptr) {
            last_shortage = *job->shortage();
            return ATELIER_NO_MEMORY;
        }
        return otherwise;
    };
    try {
        JobScope scope(job);
        const atelier_status status = work();
        const bool is_expected = status == ATELIER_OK || status == ATELIER_CANCELLED;
        return is_expected && (job == nullptr || !job->is_connection_lost()) ? status : status_of_failure(status);
    } catch (const EngineAbort& aborted) {
        last_error = aborted.message;
        return status_of_failure(ATELIER_ABORTED);
    } catch (const ConnectionLost& lost) {
        last_error = "the connection to " + lost.server + " was lost";
        last_lost_server  = lost.server;
        return ATELIER_CONNECTION_LOST;
    } catch (const DeviceLost& lost) {
        last_error       = "the device " + lost.device + " was lost";
        last_lost_device = lost.device;
        return ATELIER_DEVICE_LOST;
    } catch (const std::bad_alloc&) {
        last_error = "out of memory";
        return status_of_failure(ATELIER_NO_MEMORY);
    } catch (const std::exception& exception) {
        last_error = exception.what();
        return status_of_failure(ATELIER_ABORTED);
    } catch (...) {
        last_error = "an unknown exception";
        return status_of_failure(ATELIER_ABORTED);
    }
}

// Returns ATELIER_INVALID_ARGUMENT and stores `reason`.
atelier_status reject(const char* reason);

}  // namespace atelier
