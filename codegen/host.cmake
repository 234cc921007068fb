tailor_codegen_part(host LLVM
  SOURCES emit_dim.cc emit_first_fit.cc emit_host.cc emit_layout.cc host_function.cc host_shapes.cc
    host_unit.cc
  LIBS tailor_codegen_plan tailor_codegen_memory tailor_graph absl::status absl::statusor absl::strings absl::flat_hash_map)
