# The Rust crates, built by rustc alone, and as packages by cargo: Debian's, the oldest that they support.
find_program(TAILOR_RUSTC rustc PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TAILOR_RUSTDOC rustdoc PATHS /usr/bin NO_DEFAULT_PATH)
find_program(TAILOR_CARGO cargo PATHS /usr/bin NO_DEFAULT_PATH)
set(rust_tests rust_test rust_run_test rust_host_test rust_graph_test rust_block_test rust_loops_test rust_custom_test rust_device_test
  rust_onnx_test rust_mistakes_test rust_compile_fail_test)
set(rust_examples rust_compile_onnx rust_custom_operator rust_thread_pool rust_encoder)
# The declarations of tailor-sys are those of the C headers.
add_test(NAME rust_sys_test COMMAND ${TAILOR_PYTHON} ${PROJECT_SOURCE_DIR}/bindings/rust/tailor-sys/generate.py --check)
if(NOT TAILOR_RUSTC OR NOT TAILOR_RUSTDOC OR NOT TAILOR_CARGO)
  foreach(name ${rust_tests} rust_docs_test rust_package_test ${rust_examples})
    tailor_missing_host(${name} "rustc or cargo")
  endforeach()
  return()
endif()
set(rust ${PROJECT_SOURCE_DIR}/bindings/rust)
set(flags --edition 2021 -O -D warnings -L native=${libraries} -C linker=${CMAKE_C_COMPILER})

# tailor_crate(<suffix> FEATURES <...> DEPENDS <...>): the crates with these features, libtailor<suffix>.rlib in a folder.
function(tailor_crate suffix)
  cmake_parse_arguments(arg "" "" "FEATURES;DEPENDS" ${ARGN})
  list(TRANSFORM arg_FEATURES REPLACE "(.+)" "--cfg;feature=\"\\1\"" OUTPUT_VARIABLE features)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/rust${suffix})
  set(sys ${folder}/libtailor_sys.rlib)
  set(rlib ${folder}/libtailor.rlib)
  add_custom_command(OUTPUT ${sys} ${rlib}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${TAILOR_RUSTC} ${flags} ${features} --crate-type rlib --crate-name tailor_sys
      ${rust}/tailor-sys/src/lib.rs -o ${sys}
    COMMAND ${TAILOR_RUSTC} ${flags} ${features} --crate-type rlib --crate-name tailor ${rust}/tailor/src/lib.rs
      --extern tailor_sys=${sys} -o ${rlib}
    DEPENDS ${rust_sources} ${arg_DEPENDS} VERBATIM)
endfunction()
file(GLOB_RECURSE rust_sources CONFIGURE_DEPENDS ${rust}/tailor/src/*.rs ${rust}/tailor-sys/src/*.rs)
tailor_crate("" DEPENDS tailor_runtime)
tailor_crate(_graph FEATURES compiler DEPENDS tailor tailor_runtime)
tailor_crate(_onnx FEATURES compiler onnx DEPENDS tailor_onnx tailor tailor_runtime)
set(all_features --cfg "feature=\"compiler\"" --cfg "feature=\"onnx\"")

foreach(name ${rust_tests})
  set(crates rust_graph)
  if(name STREQUAL rust_test)
    set(crates rust)
  elseif(name MATCHES "onnx|mistakes")
    set(crates rust_onnx)
  endif()
  add_custom_command(OUTPUT ${name}
    COMMAND ${TAILOR_RUSTC} ${flags} --test ${CMAKE_CURRENT_SOURCE_DIR}/${name}.rs
      -L ${crates} --extern tailor=${crates}/libtailor.rlib -o ${name}
    DEPENDS ${name}.rs rust_program.rs ${crates}/libtailor.rlib)
  tailor_host_test(${name} COMMAND ${CMAKE_CURRENT_BINARY_DIR}/${name})
endforeach()
# On the GPU that the emulator plays.
set_property(TEST rust_device_test APPEND PROPERTY ENVIRONMENT TAILOR_CUDA_DRIVER=$<TARGET_FILE:tailor_fake_cuda>)
tailor_reads_models(rust_onnx_test)
set_property(TEST rust_compile_fail_test APPEND PROPERTY ENVIRONMENT TAILOR_RUSTC=${TAILOR_RUSTC}
  TAILOR_RUST_CRATES=${CMAKE_CURRENT_BINARY_DIR}/rust_graph
  TAILOR_RUST_COMPILE_FAIL=${CMAKE_CURRENT_SOURCE_DIR}/rust_compile_fail)
tailor_host_test(rust_package_test COMMAND ${TAILOR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/rust_package_test.py
  ${TAILOR_CARGO} ${TAILOR_RUSTC} ${PROJECT_SOURCE_DIR} ${libraries} ${CMAKE_CURRENT_BINARY_DIR}/rust_packages)
# The examples in the documentation compile.
tailor_host_test(rust_docs_test COMMAND ${TAILOR_RUSTDOC} --test --edition 2021 --crate-name tailor
  ${all_features} -L ${CMAKE_CURRENT_BINARY_DIR}/rust_onnx
  --extern tailor=${CMAKE_CURRENT_BINARY_DIR}/rust_onnx/libtailor.rlib
  --extern tailor_sys=${CMAKE_CURRENT_BINARY_DIR}/rust_onnx/libtailor_sys.rlib
  -L native=${libraries} -C linker=${CMAKE_C_COMPILER} ${rust}/tailor/src/lib.rs)
# tailor_rust_example(<name> <crates> [<folder>]): the program rust_<name>.
function(tailor_rust_example name crates)
  set(example ${rust}/tailor/examples/${name}.rs)
  if(ARGN)
    set(example ${ARGN}/${name}.rs)
  endif()
  add_custom_command(OUTPUT rust_${name}
    COMMAND ${TAILOR_RUSTC} ${flags} ${example} -L ${crates} --extern tailor=${crates}/libtailor.rlib -o rust_${name}
    DEPENDS ${example} ${crates}/libtailor.rlib)
endfunction()
tailor_rust_example(compile_onnx rust_onnx)
tailor_onnx_example(rust_compile_onnx "^\\[2, 4\\] \\[1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0\\]\n$")
tailor_rust_example(custom_operator rust_graph)
tailor_host_test(rust_custom_operator COMMAND ${CMAKE_CURRENT_BINARY_DIR}/rust_custom_operator)
set_tests_properties(rust_custom_operator PROPERTIES PASS_REGULAR_EXPRESSION
  "^\\[5.0, 15.0, -10.0, -15.0, 15.0\\], clamped at \\[1, 3\\]\n\\[10.0, 15.0\\], clamped at \\[1\\]\n$")
tailor_rust_example(thread_pool rust_graph)
tailor_host_test(rust_thread_pool COMMAND ${CMAKE_CURRENT_BINARY_DIR}/rust_thread_pool)
set_tests_properties(rust_thread_pool PROPERTIES PASS_REGULAR_EXPRESSION "^\\[256.0, 256000.0, 1280000.0\\]\n$")
tailor_rust_example(encoder rust ${PROJECT_SOURCE_DIR}/examples/hosts)
add_custom_target(rust_host ALL DEPENDS ${rust_tests} ${rust_examples})
