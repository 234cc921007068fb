tailor_codegen_part(emit LLVM
  SOURCES
    emit_loop.cc
    kernel_frame.cc
    scalar_emitter.cc
    math_erf.cc
    math_exp.cc
    math_inverse_trig.cc
    math_lanes.cc
    math_log.cc
    math_pairs.cc
    math_pow.cc
    math_rem.cc
    math_trig.cc
    math_trig_reduce.cc
    scalar_ops.cc
    scalar_ops_cast.cc
  LIBS tailor_codegen_plan tailor_graph)
