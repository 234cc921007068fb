tailor_codegen_part(gemm LLVM
  SOURCES gemm/contraction.cc gemm/emit_contraction.cc gemm/even_cut.cc gemm/micro_kernel.cc
          gemm/schedule_contraction.cc gemm/tile_shapes.cc
  LIBS tailor_codegen_emit)
