// How an image changes a part of the one that it starts from: called by the patched stable-diffusion.cpp.
#pragma once

#include <vector>

#include "core/tensor.hpp"

// Steps of the schedule from which this job's image takes the last `steps`.
int atelier_schedule_steps(int steps);
// Makes a schedule of atelier_schedule_steps(steps) steps the one of this job's image: `steps` of them, from exactly its start noise on.
void atelier_cut_schedule(std::vector<float>& sigmas, int steps);
// The part of the engine's mask (shape: width, height, 1, ...) that is denoised at this sigma of a schedule: all of it without a soft mask.
sd::Tensor<float> atelier_denoise_mask(const sd::Tensor<float>& mask, float sigma, const std::vector<float>& sigmas);
