# A CMake "toolchain file" that chooses no toolchain: it sets options of the engine's build, of which this repository contains no copy.
# Named by CMAKE_TOOLCHAIN_FILE in .cargo/config.toml.

# Tiled matrix products: SD1.5's UNet runs 1.6 times faster on the CPU with them.
set(GGML_LLAMAFILE ON CACHE BOOL "" FORCE)

# A packaged build runs on machines other than the one that built it.
if(DEFINED ENV{ATELIER_PORTABLE})
  set(GGML_NATIVE OFF CACHE BOOL "" FORCE)
endif()

# Patches a source of ggml that cmake compiles.
set(CMAKE_PROJECT_ggml_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/spin_wait.cmake")

# ggml-sys compiles some of the engine's sources.
set(CMAKE_PROJECT_stable-diffusion_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/engine_sources.cmake")
