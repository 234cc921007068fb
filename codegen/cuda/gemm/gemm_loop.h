// The main loop of a matmul: from operands in memory to sums in registers. Constructed after the frame's EmitTile.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_GEMM_LOOP_H_
#define TAILOR_CODEGEN_CUDA_GEMM_GEMM_LOOP_H_

#include "codegen/cuda/gemm/matmul_frame.h"

namespace tailor::cuda {

class GemmLoop {
 public:
  virtual ~GemmLoop() = default;
  // Emits the loop. Every thread must arrive; on return no copy into shared memory is in flight.
  virtual void Emit() = 0;
  // Emits a store of each of the thread's sums to its StagedSum, if its row is in the pass whose first row in the tile
  // is `first` (i32).
  virtual void EmitStage(llvm::Value* first) = 0;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_GEMM_LOOP_H_
