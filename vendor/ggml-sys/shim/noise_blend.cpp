#include "noise_blend.h"

#include <algorithm>
#include <cmath>

#include "job.h"

namespace {

// Where the angle between two noises is no larger, a straight line is as good.
constexpr double MIN_ANGLE = 1e-4;

// Spherical interpolation, which keeps the length of the noise: a straight line would be shorter in the middle, and its picture flat.
void turn_towards(sd::Tensor<float>& noise, const sd::Tensor<float>& other, double amount) {
    double product = 0, own_square = 0, other_square = 0;
    for (int64_t i = 0; i < noise.numel(); ++i) {
        const double a = noise.data()[i];
        const double b = other.data()[i];
        product += a * b;
        own_square += a * a;
        other_square += b * b;
    }
    const double lengths  = std::sqrt(own_square) * std::sqrt(other_square);
    const double angle    = lengths > 0 ? std::acos(std::clamp(product / lengths, -1.0, 1.0)) : 0;
    const bool is_straight = std::sin(angle) < MIN_ANGLE;
    const double own      = is_straight ? 1 - amount : std::sin((1 - amount) * angle) / std::sin(angle);
    const double its      = is_straight ? amount : std::sin(amount * angle) / std::sin(angle);
    for (int64_t i = 0; i < noise.numel(); ++i) {
        noise.data()[i] = static_cast<float>(own * noise.data()[i] + its * other.data()[i]);
    }
}

}  // namespace

void atelier_blend_noise(sd::Tensor<float>& noise, const std::shared_ptr<RNG>& rng, int64_t seed) {
    const atelier::Job* job          = atelier::current_job();
    const atelier_noise_blend* blend = job == nullptr ? nullptr : job->noise_blend();
    if (blend == nullptr || !(blend->amount > 0)) {
        return;
    }
    rng->manual_seed(static_cast<uint64_t>(blend->seed));
    sd::Tensor<float> other = sd::randn_like<float>(noise, rng);
    if (blend->amount >= 1) {
        noise = std::move(other);
        return;
    }
    turn_towards(noise, other, blend->amount);
    rng->manual_seed(static_cast<uint64_t>(seed));
    sd::randn_like<float>(noise, rng);
}
