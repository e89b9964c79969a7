# Included after ggml's project() by way of engine.cmake.
#
# Threads of the CPU backend that wait for each other spin without end. Where a program beside Atelier has taken one thread's core, the others
# burn the time that this one needs, and a step takes many times as long. So they step aside after a moment. The changed source lies in
# the build folder; the text that is changed must stand in it exactly once, or the build stops here.
function(atelier_patience)
  get_target_property(folder ggml-cpu SOURCE_DIR)
  set(source "${folder}/ggml-cpu/ggml-cpu.c")
  file(READ "${source}" text)
  set(find "    while (atomic_load_explicit(&tp->n_barrier_passed, memory_order_relaxed) == n_passed) {\n        ggml_thread_cpu_relax();\n    }\n")
  set(put "    for (int spins = 0; atomic_load_explicit(&tp->n_barrier_passed, memory_order_relaxed) == n_passed; spins++) {\n        if (spins < 1024) {\n            ggml_thread_cpu_relax();\n        } else {\n            sched_yield();\n        }\n    }\n")
  string(REPLACE "\r\n" "\n" text "${text}")
  string(FIND "${text}" "${find}" first)
  string(FIND "${text}" "${find}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "${source} has changed: ggml_barrier does not wait as vendor/ggml-sys/patience.cmake expects. Look at it again.")
  endif()
  string(REPLACE "${find}" "${put}" text "${text}")
  set(changed "${CMAKE_BINARY_DIR}/atelier/ggml-cpu.c")
  file(CONFIGURE OUTPUT "${changed}" CONTENT "${text}" @ONLY)
  get_target_property(sources ggml-cpu SOURCES)
  list(TRANSFORM sources REPLACE "^(.*/)?ggml-cpu/ggml-cpu\\.c$" "${changed}")
  if(NOT changed IN_LIST sources)
    message(FATAL_ERROR "ggml-cpu is not built from ggml-cpu/ggml-cpu.c any more; see vendor/ggml-sys/patience.cmake.")
  endif()
  set_target_properties(ggml-cpu PROPERTIES SOURCES "${sources}")
endfunction()

# Once the target is there.
cmake_language(DEFER CALL atelier_patience)
