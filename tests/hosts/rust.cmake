# The Rust wrapper, built by rustc alone: Debian's, which is the oldest that it supports.
find_program(TAILOR_RUSTC rustc PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TAILOR_RUSTDOC rustdoc PATHS /usr/bin NO_DEFAULT_PATH)
set(rust_tests rust_test rust_graph_test rust_block_test rust_loops_test rust_custom_test rust_device_test
  rust_onnx_test)
if(NOT TAILOR_RUSTC OR NOT TAILOR_RUSTDOC)
  foreach(name ${rust_tests} rust_docs_test rust_compile_onnx rust_custom_operator)
    tailor_missing_host(${name} rustc)
  endforeach()
  return()
endif()
set(crate ${PROJECT_SOURCE_DIR}/bindings/rust/src)
set(flags --edition 2021 -O -D warnings -L native=${libraries} -C linker=${CMAKE_C_COMPILER})
set(runtime_sources ${crate}/lib.rs ${crate}/custom.rs ${crate}/device.rs ${crate}/load.rs ${crate}/runtime.rs
  ${crate}/sys.rs)

# tailor_crate(<rlib> FLAGS <rustc flags...> DEPENDS <...>): the crate, with or without its features.
function(tailor_crate rlib)
  cmake_parse_arguments(arg "" "" "FLAGS;DEPENDS" ${ARGN})
  add_custom_command(OUTPUT ${rlib}
    COMMAND ${TAILOR_RUSTC} ${flags} ${arg_FLAGS} --crate-type rlib --crate-name tailor ${crate}/lib.rs -o ${rlib}
    DEPENDS ${runtime_sources} ${arg_DEPENDS} VERBATIM)
endfunction()
file(GLOB graph_sources CONFIGURE_DEPENDS ${crate}/graph/*.rs)
tailor_crate(libtailor.rlib DEPENDS tailor_runtime)
tailor_crate(libtailor_graph.rlib FLAGS --cfg "feature=\"compiler\""
  DEPENDS ${crate}/graph.rs ${graph_sources} tailor tailor_runtime)
set(all_features --cfg "feature=\"compiler\"" --cfg "feature=\"onnx\"")
tailor_crate(libtailor_onnx.rlib FLAGS ${all_features}
  DEPENDS ${crate}/graph.rs ${graph_sources} ${crate}/onnx.rs ${crate}/onnx/sys.rs tailor_onnx tailor tailor_runtime)

foreach(name ${rust_tests})
  set(rlib libtailor_graph.rlib)
  if(name STREQUAL rust_test)
    set(rlib libtailor.rlib)
  elseif(name STREQUAL rust_onnx_test)
    set(rlib libtailor_onnx.rlib)
  endif()
  add_custom_command(OUTPUT ${name}
    COMMAND ${TAILOR_RUSTC} ${flags} --test ${CMAKE_CURRENT_SOURCE_DIR}/${name}.rs --extern tailor=${rlib} -o ${name}
    DEPENDS ${name}.rs ${rlib})
  tailor_host_test(${name} COMMAND ${CMAKE_CURRENT_BINARY_DIR}/${name})
endforeach()
# On the GPU that the emulator plays.
set_property(TEST rust_device_test APPEND PROPERTY ENVIRONMENT TAILOR_CUDA_DRIVER=$<TARGET_FILE:tailor_fake_cuda>)
tailor_reads_models(rust_onnx_test)
# The examples in the documentation compile.
tailor_host_test(rust_docs_test COMMAND ${TAILOR_RUSTDOC} --test --edition 2021 --crate-name tailor
  ${all_features} --extern tailor=${CMAKE_CURRENT_BINARY_DIR}/libtailor_onnx.rlib
  -L native=${libraries} -C linker=${CMAKE_C_COMPILER} ${crate}/lib.rs)
# tailor_rust_example(<name> <rlib>): the program rust_<name>.
function(tailor_rust_example name rlib)
  set(example ${PROJECT_SOURCE_DIR}/bindings/rust/examples/${name}.rs)
  add_custom_command(OUTPUT rust_${name}
    COMMAND ${TAILOR_RUSTC} ${flags} ${example} --extern tailor=${rlib} -o rust_${name}
    DEPENDS ${example} ${rlib})
endfunction()
tailor_rust_example(compile_onnx libtailor_onnx.rlib)
tailor_onnx_example(rust_compile_onnx "^\\[2, 4\\] \\[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0\\]\n$")
tailor_rust_example(custom_operator libtailor_graph.rlib)
tailor_host_test(rust_custom_operator COMMAND ${CMAKE_CURRENT_BINARY_DIR}/rust_custom_operator)
set_tests_properties(rust_custom_operator PROPERTIES PASS_REGULAR_EXPRESSION
  "^\\[5.0, 15.0, -10.0, -15.0, 15.0\\], clamped at \\[1, 3\\]\n\\[10.0, 15.0\\], clamped at \\[1\\]\n$")
add_custom_target(rust_host ALL DEPENDS ${rust_tests} rust_compile_onnx rust_custom_operator)
