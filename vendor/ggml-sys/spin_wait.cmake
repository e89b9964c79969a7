# Compiles ggml-cpu.c with the change of patches/ggml-cpu.c.patch: ggml_barrier yields after a number of spins. Included after ggml's project()
# by way of engine.cmake.
#
# patches/README.md describes the form of the patch; here it has one hunk. The searched text must occur exactly once, or the build stops. The
# patched source is written to the build folder.
function(atelier_patch_spin_wait)
  get_target_property(folder ggml-cpu SOURCE_DIR)
  set(source "${folder}/ggml-cpu/ggml-cpu.c")
  file(READ "${source}" text)
  string(REPLACE "\r\n" "\n" text "${text}")

  set(patch "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/patches/ggml-cpu.c.patch")
  file(READ "${patch}" hunk)
  string(REPLACE "\r\n" "\n" hunk "${hunk}")
  string(REGEX REPLACE "^.*\n@@\n" "\n" hunk "${hunk}")
  string(REGEX REPLACE "\n$" "" hunk "${hunk}")
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
  set(changed "${CMAKE_BINARY_DIR}/atelier/ggml-cpu.c")
  file(CONFIGURE OUTPUT "${changed}" CONTENT "${text}" @ONLY)
  get_target_property(sources ggml-cpu SOURCES)
  list(TRANSFORM sources REPLACE "^(.*/)?ggml-cpu/ggml-cpu\\.c$" "${changed}")
  if(NOT changed IN_LIST sources)
    message(FATAL_ERROR "ggml-cpu is not built from ggml-cpu/ggml-cpu.c any more; see vendor/ggml-sys/spin_wait.cmake.")
  endif()
  set_target_properties(ggml-cpu PROPERTIES SOURCES "${sources}")
endfunction()

# The target exists only at the end of ggml's configuration.
cmake_language(DEFER CALL atelier_patch_spin_wait)
