# A CMake "toolchain file" that chooses no toolchain: it sets options of the engine's build, of which this repository contains no copy.
# Named by CMAKE_TOOLCHAIN_FILE in .cargo/config.toml.

# Tiled matrix products: SD1.5's UNet runs 1.6 times faster on the CPU with them.
set(GGML_LLAMAFILE ON CACHE BOOL "" FORCE)

# A packaged build runs on machines other than the one that built it. Its floor is AVX2 with what all processors that have it have as well (Intel
# from 2013, AMD from 2015). ggml itself switches these off when it is cross-compiled. Only ggml-cpu is compiled with them: the rest of the
# engine, the shim and Rust stay at plain x86-64, so that the program can start anywhere and say what is missing.
# ARM needs nothing: NEON belongs to every 64-bit one.
if(DEFINED ENV{ATELIER_PORTABLE})
  set(GGML_NATIVE OFF CACHE BOOL "" FORCE)
  foreach(feature SSE42 AVX AVX2 FMA F16C BMI2)
    set(GGML_${feature} ON CACHE BOOL "" FORCE)
  endforeach()
  foreach(feature AVX_VNNI AVX512 AVX512_VBMI AVX512_VNNI AVX512_BF16 AMX_TILE AMX_INT8 AMX_BF16)
    set(GGML_${feature} OFF CACHE BOOL "" FORCE)
  endforeach()
endif()

if("$ENV{TARGET}" MATCHES "windows-gnu" AND NOT CMAKE_HOST_SYSTEM_NAME STREQUAL "Windows")
  include("${CMAKE_CURRENT_LIST_DIR}/windows_gnu.cmake")
endif()

# Patches a source of ggml that cmake compiles.
set(CMAKE_PROJECT_ggml_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/patched_sources.cmake")

# ggml-sys compiles some of the engine's sources.
set(CMAKE_PROJECT_stable-diffusion_INCLUDE "${CMAKE_CURRENT_LIST_DIR}/engine_sources.cmake")
