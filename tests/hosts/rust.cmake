# The Rust wrapper, built by rustc alone: Debian's, which is the oldest that it supports.
find_program(TAILOR_RUSTC rustc PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TAILOR_RUSTDOC rustdoc PATHS /usr/bin NO_DEFAULT_PATH)
set(rust_tests rust_test rust_graph_test rust_block_test rust_loops_test rust_device_test)
if(NOT TAILOR_RUSTC OR NOT TAILOR_RUSTDOC)
  foreach(name ${rust_tests} rust_docs_test)
    tailor_missing_host(${name} rustc)
  endforeach()
  return()
endif()
set(crate ${PROJECT_SOURCE_DIR}/bindings/rust/src)
set(flags --edition 2021 -O -D warnings -L native=${libraries} -C linker=${CMAKE_C_COMPILER})

# tailor_crate(<rlib> FLAGS <rustc flags...> DEPENDS <...>): the crate, with or without its feature `compiler`.
function(tailor_crate rlib)
  cmake_parse_arguments(arg "" "" "FLAGS;DEPENDS" ${ARGN})
  add_custom_command(OUTPUT ${rlib}
    COMMAND ${TAILOR_RUSTC} ${flags} ${arg_FLAGS} --crate-type rlib --crate-name tailor ${crate}/lib.rs -o ${rlib}
    DEPENDS ${crate}/lib.rs ${crate}/device.rs ${crate}/load.rs ${crate}/sys.rs ${arg_DEPENDS} VERBATIM)
endfunction()
file(GLOB graph_sources CONFIGURE_DEPENDS ${crate}/graph/*.rs)
tailor_crate(libtailor.rlib DEPENDS tailor_runtime)
tailor_crate(libtailor_graph.rlib FLAGS --cfg "feature=\"compiler\""
  DEPENDS ${crate}/graph.rs ${graph_sources} tailor tailor_runtime)

foreach(name ${rust_tests})
  set(rlib libtailor_graph.rlib)
  if(name STREQUAL rust_test)
    set(rlib libtailor.rlib)
  endif()
  add_custom_command(OUTPUT ${name}
    COMMAND ${TAILOR_RUSTC} ${flags} --test ${CMAKE_CURRENT_SOURCE_DIR}/${name}.rs --extern tailor=${rlib} -o ${name}
    DEPENDS ${name}.rs ${rlib})
  tailor_host_test(${name} COMMAND ${CMAKE_CURRENT_BINARY_DIR}/${name})
endforeach()
# On the GPU that the emulator plays.
set_property(TEST rust_device_test APPEND PROPERTY ENVIRONMENT TAILOR_CUDA_DRIVER=$<TARGET_FILE:tailor_fake_cuda>)
# The examples in the documentation compile.
tailor_host_test(rust_docs_test COMMAND ${TAILOR_RUSTDOC} --test --edition 2021 --crate-name tailor
  --cfg "feature=\"compiler\"" --extern tailor=${CMAKE_CURRENT_BINARY_DIR}/libtailor_graph.rlib
  -L native=${libraries} -C linker=${CMAKE_C_COMPILER} ${crate}/lib.rs)
add_custom_target(rust_host ALL DEPENDS ${rust_tests})
