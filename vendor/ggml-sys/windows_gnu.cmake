# Building for Windows with mingw-w64 on another system (Rust's target x86_64-pc-windows-gnu). Included by engine.cmake, which is read as the
# toolchain file: because there is one, the cmake crate names neither system nor compilers.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR AMD64)

# The variant with POSIX threads: the other has no std::thread.
foreach(language C CXX)
  if(language STREQUAL "C")
    set(names x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-gcc)
  else()
    set(names x86_64-w64-mingw32-g++-posix x86_64-w64-mingw32-g++)
  endif()
  find_program(ATELIER_MINGW_${language} NAMES ${names} REQUIRED)
  set(CMAKE_${language}_COMPILER "${ATELIER_MINGW_${language}}")
endforeach()
find_program(ATELIER_MINGW_RC NAMES x86_64-w64-mingw32-windres REQUIRED)
set(CMAKE_RC_COMPILER "${ATELIER_MINGW_RC}")

# shim/vulkan.cpp loads the loader when the program runs; FindVulkan wants a file.
set(Vulkan_LIBRARY "${CMAKE_CURRENT_LIST_FILE}" CACHE FILEPATH "" FORCE)

# Called by engine_sources.cmake when all targets exist.
function(atelier_adapt_to_mingw)
  foreach(target ggml ggml-base ggml-cpu ggml-vulkan)
    if(TARGET ${target})
      # ggml names its archives as Microsoft's compiler does, `ggml.a`; rustc looks for `libggml.a`.
      set_target_properties(${target} PROPERTIES PREFIX "lib")
    endif()
  endforeach()
  # Objects with more than 65,279 sections.
  foreach(target stable-diffusion ggml-vulkan)
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE -Wa,-mbig-obj)
    endif()
  endforeach()
  target_compile_options(ggml-cpu PRIVATE "$<$<COMPILE_LANGUAGE:C>:SHELL:-include ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/mingw10.h>")
endfunction()
