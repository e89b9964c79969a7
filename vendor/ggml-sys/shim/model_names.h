// Names and files of models that the engine's loader does not know: those of a UNet without its encoders, of old merges, of models in several files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model.h"

namespace atelier {

// Gives a diffusion module the prefix by which the engine knows its names. True where it is a UNet, also where its encoders are not read yet.
bool name_diffusion(String2TensorStorage& tensors);

// Gives tensors of text encoders, of a VAE and of a ControlNet the engine's names, where a file has them with another beginning or in diffusers' names.
void adopt_names(String2TensorStorage& tensors);

// True where there is an encoder of a VAE, by the engine's names.
bool has_vae_encoder(const String2TensorStorage& tensors);

// Joins weights that the engine has in one where a file has them in several, `x.weight`, `x.weight.1` and so on, by the engine's names: the first
// one gets the size of all.
void join_parts(String2TensorStorage& tensors);

// The parts of joined weights, the first one with its own size again, by the name of the whole.
using Parts = std::map<std::string, std::vector<TensorStorage>>;
Parts parts_of(const String2TensorStorage& tensors);

// True for a name that is none of a file's, but a mark of this loader.
bool is_mark(const std::string& name);

// Weights that a file has with rows and columns exchanged, by the engine's names: OpenCLIP multiplies by its projection from the right.
std::set<std::string> transposed_weights(const String2TensorStorage& tensors);

// Exchanges rows and columns of a matrix of this type.
void transpose(char* values, int64_t columns, int64_t rows, ggml_type type);

// The files of a model that is kept in several, in their order, where this is the path of one of them: `a-00001-of-00003.safetensors`. Else none.
std::vector<std::string> shards_of(const std::string& path);

}  // namespace atelier
