tailor_codegen_part(cpu LLVM
  SOURCES cpu/emit_loops.cc cpu/schedule_loops.cc
  LIBS tailor_codegen_emit)
