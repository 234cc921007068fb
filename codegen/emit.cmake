tailor_codegen_part(emit LLVM
  SOURCES
    emit_loop.cc
    kernel_frame.cc
    scalar_emitter.cc
    math_erf.cc
    math_exp.cc
    math_lanes.cc
    math_log.cc
    math_pow.cc
    scalar_ops.cc
    scalar_ops_cast.cc
  LIBS tailor_codegen_plan tailor_graph)
