# The compiler library from outside, through its C headers alone.
foreach(name compiler_graph_test compiler_ops_test compiler_compile_test compiler_memory_test
    compiler_targets_test)
  tailor_test(${name} LIBS tailor_options tailor tailor_runtime)
endforeach()

tailor_test(compiler_exports_test LIBS tailor_options)
add_dependencies(compiler_exports_test tailor)
target_compile_definitions(compiler_exports_test PRIVATE
  TAILOR_LIBRARY="$<TARGET_FILE:tailor>" TAILOR_HEADERS="${PROJECT_SOURCE_DIR}/api/include/tailor"
  TAILOR_STATIC_LLVM=$<BOOL:${TAILOR_STATIC_LLVM}>)

# The counting library comes before the C library and so replaces its malloc and mmap.
tailor_test(encoder_test LIBS tailor_encoder tailor_allocation_count tailor tailor_runtime)
