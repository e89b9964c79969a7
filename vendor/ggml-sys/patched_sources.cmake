# Compiles ggml-cpu.c with the changes of patches/ggml-cpu.c.patch. Included after ggml's project() by way of engine.cmake.
#
# patches/README.md describes the form of the patch. Each searched text must occur exactly once, or the build stops. The patched source is
# written to the build folder.
function(atelier_apply_patch source patch changed)
  file(READ "${source}" text)
  string(REPLACE "\r\n" "\n" text "${text}")
  file(READ "${patch}" rest)
  string(REPLACE "\r\n" "\n" rest "${rest}")

  set(count 0)
  string(FIND "${rest}" "\n@@\n" start)
  while(NOT start EQUAL -1)
    math(EXPR start "${start} + 3")
    string(SUBSTRING "${rest}" ${start} -1 rest)
    # Up to an empty line, a comment or the next hunk.
    string(REGEX MATCH "^(\n[ +-][^\n]*)+" hunk "${rest}")
    string(REGEX REPLACE "\n[+][^\n]*" "" find "${hunk}")
    string(REGEX REPLACE "\n[ -]" "\n" find "${find}\n")
    string(REGEX REPLACE "\n-[^\n]*" "" put "${hunk}")
    string(REGEX REPLACE "\n[ +]" "\n" put "${put}\n")

    string(FIND "${text}" "${find}" first)
    string(FIND "${text}" "${find}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
      message(FATAL_ERROR "${source} has changed: it should contain this text once:${find}${patch} says why it matters.")
    endif()
    string(REPLACE "${find}" "${put}" text "${text}")
    math(EXPR count "${count} + 1")
    string(FIND "${rest}" "\n@@\n" start)
  endwhile()
  if(count EQUAL 0)
    message(FATAL_ERROR "${patch} has no hunk.")
  endif()
  file(CONFIGURE OUTPUT "${changed}" CONTENT "${text}" @ONLY)
endfunction()

function(atelier_patch_ggml_cpu)
  get_target_property(folder ggml-cpu SOURCE_DIR)
  set(changed "${CMAKE_BINARY_DIR}/atelier/ggml-cpu.c")
  atelier_apply_patch("${folder}/ggml-cpu/ggml-cpu.c" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/patches/ggml-cpu.c.patch" "${changed}")
  get_target_property(sources ggml-cpu SOURCES)
  list(TRANSFORM sources REPLACE "^(.*/)?ggml-cpu/ggml-cpu\\.c$" "${changed}")
  if(NOT changed IN_LIST sources)
    message(FATAL_ERROR "ggml-cpu is not built from ggml-cpu/ggml-cpu.c any more; see vendor/ggml-sys/patched_sources.cmake.")
  endif()
  set_target_properties(ggml-cpu PROPERTIES SOURCES "${sources}")
endfunction()

# The target exists only at the end of ggml's configuration.
cmake_language(DEFER CALL atelier_patch_ggml_cpu)
