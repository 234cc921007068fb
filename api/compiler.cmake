# libtailor.so: the compiler. It needs libtailor_runtime.so, and loads what it compiles through it.
tailor_shared(tailor
  EXPORTS compiler_exports.map
  SOURCES
    compiler_arguments.cc
    compiler_compile.cc
    compiler_status.cc
    graph_builders.cc
    graph_dims.cc
    graph_handle.cc
    graph_ops.cc
    graph_text.cc
    graph_values.cc
    op_arguments.cc
  LIBS tailor_codegen_driver tailor_writer tailor_runtime)
if(TAILOR_STATIC_LLVM)
  # Hidden inside (exclude-libs and the version script), beside any other copy of LLVM in the process.
  llvm_map_components_to_libnames(TAILOR_LLVM_ARCHIVES X86 NVPTX Passes OrcJIT JITLink Linker)
  target_link_libraries(tailor PRIVATE ${TAILOR_LLVM_ARCHIVES})
else()
  target_link_libraries(tailor PRIVATE LLVM)
endif()
# Where the bindings look for both.
set_target_properties(tailor tailor_runtime PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
