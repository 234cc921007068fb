tailor_codegen_part(link LLVM
  SOURCES llvm_error.cc compile_module.cc link.cc target_machine.cc
  LIBS absl::status absl::statusor absl::strings)
