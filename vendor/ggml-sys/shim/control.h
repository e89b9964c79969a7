// The steps in which a ControlNet acts, the outlines that guide it, and its picture in a second pass over latents. Called by the patched
// stable-diffusion.cpp.
#pragma once

#include <cstddef>

#include "core/tensor.hpp"

// True where the ControlNet acts in this step of so many: the engine's number, from 1; negative where the sampler evaluates once more within it.
bool atelier_has_control(int step, size_t steps);
// The engine begins to sample upscaled latents: what follows belongs to no branch.
void atelier_begin_second_pass();
// The control picture in this size in pixels; empty where there is none.
sd::Tensor<float> atelier_resized_control(const sd::Tensor<float>& picture, int width, int height);
