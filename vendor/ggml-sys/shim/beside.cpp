#include "beside.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

#include "context.h"
#include "job.h"

namespace atelier {

void Beside::add(GGMLRunner* runner, std::function<void()> work) {
    // What has no runner makes zeros, on this thread.
    ggml_backend_t backend = runner == nullptr ? nullptr : RunnerAccess::backend_of(runner);
    Job* job               = current_job();
    if (backend == nullptr || job == nullptr || job->dry_run() != nullptr) {
        backend = by_device_.empty() ? backend : by_device_.front().first;
    }
    const auto found = std::find_if(by_device_.begin(), by_device_.end(), [=](const auto& it) { return it.first == backend; });
    if (found == by_device_.end()) {
        by_device_.push_back({backend, {}});
        by_device_.back().second.push_back(std::move(work));
    } else {
        found->second.push_back(std::move(work));
    }
}

void Beside::run() {
    Job* job = current_job();
    std::vector<std::exception_ptr> errors(by_device_.size());
    const auto compute = [&](size_t device) {
        try {
            for (const auto& work : by_device_[device].second) {
                work();
            }
        } catch (...) {
            errors[device] = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(by_device_.size());
    for (size_t device = 1; device < by_device_.size(); ++device) {
        try {
            threads.emplace_back([&, device] {
                // What is thrown here is caught above.
                atelier_job_attach_thread(job);
                compute(device);
            });
        } catch (const std::system_error&) {
            // The system gives no further thread.
            compute(device);
        }
    }
    if (!by_device_.empty()) {
        compute(0);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    by_device_.clear();
    for (const std::exception_ptr& error : errors) {
        if (error != nullptr) {
            std::rethrow_exception(error);
        }
    }
}

}  // namespace atelier
