// The edge of the shim: nothing thrown gets past it, and what failed is kept as a sentence.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "job.h"
#include "remote.h"
#include "shim.h"

namespace atelier {

// Why the last call on this thread failed.
extern thread_local std::string last_error;
extern thread_local atelier_shortage last_shortage;
extern thread_local std::string last_lost;

// Runs `work`, which returns a status, as this thread's job; nothing thrown gets past it.
template <typename Work>
atelier_status guarded(Job* job, Work work) noexcept {
    last_error.clear();
    last_shortage      = {};
    last_lost.clear();
    const auto stopped = [job](atelier_status otherwise) {
        // Also after a cancel: the context holds memory that is no more.
        if (job != nullptr && job->lost()) {
            last_lost = job->lost_server();
            return ATELIER_LOST;
        }
        if (job != nullptr && job->cancelled()) {
            return ATELIER_CANCELLED;
        }
        // The engine goes on from a null pointer in many ways, most of them an assert; what began it is what a person needs to know.
        if (job != nullptr && job->shortage() != nullptr) {
            last_shortage = *job->shortage();
            return ATELIER_NO_MEMORY;
        }
        return otherwise;
    };
    try {
        JobScope scope(job);
        const atelier_status status = work();
        const bool whole = status == ATELIER_OK || status == ATELIER_CANCELLED;
        return whole && (job == nullptr || !job->lost()) ? status : stopped(status);
    } catch (const Aborted& aborted) {
        last_error = aborted.message;
        return stopped(ATELIER_ABORTED);
    } catch (const Lost& lost) {
        last_error = "the connection to " + lost.server + " was lost";
        last_lost  = lost.server;
        return ATELIER_LOST;
    } catch (const std::bad_alloc&) {
        last_error = "out of memory";
        return ATELIER_NO_MEMORY;
    } catch (const std::exception& exception) {
        last_error = exception.what();
        return stopped(ATELIER_ABORTED);
    } catch (...) {
        last_error = "an unknown exception";
        return stopped(ATELIER_ABORTED);
    }
}

// A call without what it needs.
atelier_status refuse(const char* why);

}  // namespace atelier
