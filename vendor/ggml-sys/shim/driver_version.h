// Versions of the drivers of graphics cards, which ggml does not tell.
#pragma once

#include <string>

namespace atelier {

// Version of the driver of the Vulkan device with this description; empty where it is not known. Only in a build with Vulkan.
std::string vulkan_driver_version(const char* description);

}  // namespace atelier
