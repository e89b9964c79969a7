// Tensors of a model's files that no module of it asks for.
#pragma once

#include <string>
#include <vector>

class StableDiffusionGGML;

namespace atelier {

// In the engine's names, sorted. Without those of modules that are not built at all, such as a VAE beside a tiny autoencoder.
std::vector<std::string> unused_tensors(const StableDiffusionGGML& sd);

}  // namespace atelier
