tailor_codegen_part(memory
  SOURCES memory_plan.cc
  LIBS tailor_analysis absl::span)
