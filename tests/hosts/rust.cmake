# The Rust wrapper, built by rustc alone: Debian's, which is the oldest that it supports.
find_program(TAILOR_RUSTC rustc PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT TAILOR_RUSTC)
  tailor_missing_host(rust_test rustc)
  return()
endif()
set(crate ${PROJECT_SOURCE_DIR}/bindings/rust/src)
set(flags --edition 2021 -O -D warnings -L native=${libraries} -C linker=${CMAKE_C_COMPILER})
add_custom_command(OUTPUT libtailor.rlib
  COMMAND ${TAILOR_RUSTC} ${flags} --crate-type rlib --crate-name tailor ${crate}/lib.rs -o libtailor.rlib
  DEPENDS ${crate}/lib.rs ${crate}/sys.rs tailor_runtime)
add_custom_command(OUTPUT rust_test
  COMMAND ${TAILOR_RUSTC} ${flags} --test ${CMAKE_CURRENT_SOURCE_DIR}/rust_test.rs --extern tailor=libtailor.rlib
    -o rust_test
  DEPENDS rust_test.rs libtailor.rlib)
add_custom_target(rust_host ALL DEPENDS rust_test)
tailor_host_test(rust_test COMMAND ${CMAKE_CURRENT_BINARY_DIR}/rust_test)
