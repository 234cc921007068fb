tailor_codegen_part(cuda LLVM
  SOURCES
    cuda/assemble.cc
    cuda/block_reduce.cc
    cuda/compile_ptx.cc
    cuda/cuda_frame.cc
    cuda/cuda_target.cc
    cuda/device_intrinsics.cc
    cuda/emit_cuda_loops.cc
    cuda/lower_device_intrinsics.cc
    cuda/schedule_cuda.cc
  LIBS tailor_codegen_emit absl::status absl::statusor absl::strings)
