// The steps in which a ControlNet acts, and the outlines that guide it. Called by the patched stable-diffusion.cpp.
#pragma once

#include <cstddef>

// True where the ControlNet acts in this step of so many: the engine's number, from 1; negative where the sampler evaluates once more within it.
bool atelier_has_control(int step, size_t steps);
