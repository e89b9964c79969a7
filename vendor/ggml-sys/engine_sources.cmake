# Exceptions pass through the engine's functions, among them those declared extern "C": asserts are thrown (shim/job.cpp) and caught by the shim.
# MSVC's default, which the flags given by diffusion-rs-sys replace by nothing, would run no destructors; /EHsc would assume that extern "C"
# functions throw nothing. Other compilers' C++ has exceptions; their C frames need tables to be passed. As in build/main.rs.
if(MSVC)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:/EHs>")
else()
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fexceptions>")
endif()

# The files that this build was made with: build/main.rs compares them with the present ones, because cargo does not build the engine anew where
# they change.
file(GLOB atelier_inputs "${CMAKE_CURRENT_LIST_DIR}/*.cmake" "${CMAKE_CURRENT_LIST_DIR}/patches/ggml-cpu.c.patch")
file(COPY ${atelier_inputs} DESTINATION "${CMAKE_BINARY_DIR}/atelier/inputs")

# Leaves sources out of the engine's libraries that ggml-sys compiles, all patched ones and the tokenizers, so that none is compiled twice; on
# Linux the vocabularies too (build/vocab.rs). Included after the engine's project() by way of engine.cmake.
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
  atelier_leave_out(stable-diffusion src/core/ggml_extend_backend.cpp src/core/ggml_graph_cut.cpp src/core/util.cpp
                    src/extensions/photomaker_extension.cpp src/model_io/gguf_io.cpp src/model_loader.cpp src/model_manager.cpp
                    src/stable-diffusion.cpp src/upscaler.cpp
                    src/tokenizers/bpe_tokenizer.cpp src/tokenizers/clip_tokenizer.cpp src/tokenizers/gemma_tokenizer.cpp
                    src/tokenizers/gpt_oss_tokenizer.cpp src/tokenizers/mistral_tokenizer.cpp src/tokenizers/qwen2_tokenizer.cpp
                    src/tokenizers/t5_unigram_tokenizer.cpp src/tokenizers/tokenize_util.cpp src/tokenizers/tokenizer.cpp)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    atelier_leave_out(stable-diffusion src/tokenizers/vocab/vocab.cpp)
  endif()
  atelier_leave_out(ggml-base ggml-backend.cpp)
endfunction()

# The targets exist only at the end of the engine's configuration.
cmake_language(DEFER CALL atelier_leave_out_of_engine)
if(COMMAND atelier_adapt_to_mingw)
  cmake_language(DEFER CALL atelier_adapt_to_mingw)
endif()
