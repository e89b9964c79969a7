// Start noise between those of two seeds: called by the patched stable-diffusion.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "core/rng.hpp"
#include "core/tensor.hpp"

// Turns `noise`, which `rng` drew from `seed`, towards the noise of this job's other seed. The generator goes on as if it had drawn that of the
// nearer end alone: what ancestral samplers draw after it belongs to `seed`, and to the other one where it is reached.
void atelier_blend_noise(sd::Tensor<float>& noise, const std::shared_ptr<RNG>& rng, int64_t seed);
