// Textual inversions: vectors that take the place of words of a prompt.
#pragma once

#include "conditioning/conditioner.hpp"
#include "shim.h"

namespace atelier {

// Gives CLIP text encoders the vectors of these embeddings in the place of earlier ones. False where the conditioner takes none, or where a
// vector has not the width of its encoder.
bool set_embeddings(Conditioner& conditioner, const atelier_embedding* embeddings, size_t count);

}  // namespace atelier
