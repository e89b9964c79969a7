// PhotoMaker behind the cache of text encodings.
#pragma once

class StableDiffusionGGML;

namespace atelier {

// Wraps the PhotoMaker of a context, so that the encoding of a prompt with pictures of a person is cached, and an image fails where the engine
// would leave the person out of it. To be called once. False where the engine has not read the PhotoMaker's file.
bool wrap_photomaker(StableDiffusionGGML& sd);

}  // namespace atelier
