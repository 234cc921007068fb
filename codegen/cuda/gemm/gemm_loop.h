// A matmul's main loop: from operands in memory to sums in registers. Made where the frame has a tile.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_GEMM_LOOP_H_
#define TAILOR_CODEGEN_CUDA_GEMM_GEMM_LOOP_H_

#include "codegen/cuda/gemm/matmul_frame.h"

namespace tailor::cuda {

class GemmLoop {
 public:
  virtual ~GemmLoop() = default;
  // Emits the loop. Every thread must arrive; on return no copy into shared memory is under way.
  virtual void Emit() = 0;
  // Emits, for each of the thread's sums, a store where StagedSum says, if its row is one of the pass whose first row
  // in the tile is `first` (i32).
  virtual void EmitStage(llvm::Value* first) = 0;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_GEMM_LOOP_H_
