tailor_codegen_part(plan
  SOURCES kernel_plan.cc kernel_plan_text.cc schedule.cc
  LIBS tailor_graph)
