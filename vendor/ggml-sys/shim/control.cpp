#include "control.h"

#include <cstdlib>

#include "error_boundary.h"
#include "job.h"
#include "shim.h"

// Those of sd-cli (--canny).
constexpr float HIGH_THRESHOLD = 0.08f;
constexpr float LOW_THRESHOLD  = 0.08f;
constexpr float WEAK           = 0.8f;
constexpr float STRONG         = 1.0f;

bool atelier_has_control(int step, size_t steps) {
    const atelier::Job* job             = atelier::current_job();
    const atelier_control_steps* range  = job == nullptr ? nullptr : job->control_steps();
    if (range == nullptr || steps == 0) {
        return true;
    }
    const float begins_after = static_cast<float>(std::abs(step) - 1) / static_cast<float>(steps);
    return begins_after >= range->start && begins_after < range->end;
}

void atelier_begin_second_pass() {
    if (atelier::Job* job = atelier::current_job()) {
        job->begin_second_pass();
    }
}

sd::Tensor<float> atelier_resized_control(const sd::Tensor<float>& picture, int width, int height) {
    if (picture.empty()) {
        return picture;
    }
    return sd::ops::interpolate(picture, {width, height, picture.shape()[2], picture.shape()[3]}, sd::ops::InterpolateMode::Bilinear);
}

atelier_status atelier_draw_outlines(sd_image_t image) {
    if (image.data == nullptr || image.channel != 3 || image.width == 0 || image.height == 0) {
        return atelier::reject("outlines need a picture");
    }
    return atelier::run_guarded(nullptr, [=] {
        return preprocess_canny(image, HIGH_THRESHOLD, LOW_THRESHOLD, WEAK, STRONG, false) ? ATELIER_OK : ATELIER_FAILED;
    });
}
