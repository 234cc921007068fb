tailor_codegen_part(plan
  SOURCES host_program.cc kernel_plan.cc kernel_plan_text.cc schedule.cc
  LIBS tailor_codegen_memory)
