# Leaves sources out of the engine's library that ggml-sys compiles: patched ones, and on Linux the vocabularies (build/vocab.rs). Included
# after the engine's project() by way of engine.cmake.
function(atelier_leave_out target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS ARGN)
    set(count 0)
    foreach(candidate IN LISTS sources)
      if(candidate MATCHES "(^|/)${source}$")
        list(REMOVE_ITEM sources "${candidate}")
        math(EXPR count "${count} + 1")
      endif()
    endforeach()
    if(NOT count EQUAL 1)
      message(FATAL_ERROR "${target} is not built from ${source} any more; see vendor/ggml-sys/engine_sources.cmake.")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
endfunction()

function(atelier_leave_out_of_engine)
  atelier_leave_out(stable-diffusion src/core/ggml_graph_cut.cpp src/core/util.cpp src/model_loader.cpp src/model_manager.cpp)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    atelier_leave_out(stable-diffusion src/tokenizers/vocab/vocab.cpp)
  endif()
endfunction()

# The target exists only at the end of the engine's configuration.
cmake_language(DEFER CALL atelier_leave_out_of_engine)
