tailor_codegen_part(lower
  SOURCES lower_group.cc lower_program.cc plan_rewrites.cc row_stages.cc value_lowering.cc
  LIBS tailor_codegen_plan tailor_fusion)
