// Shared memory of a warpgroup gemm: a ring of stages, each one step of K of both operands, passes from producer warps
// to consumers. Two mbarriers per stage, full and empty, say who owns it.
//
// A stage is [rows][depth] of the lhs, its 16-byte chunks swizzled within 128 bytes, then [columns / 16][depth][16] of
// the rhs, swizzled within 32 bytes: the format of tensor loads and of wgmma. After the stages come the staged sums,
// then the mbarriers.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_STAGES_H_
#define TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_STAGES_H_

#include "codegen/cuda/gemm/matmul_frame.h"

namespace tailor::cuda {

// Borrows `matmul`. Emits into the entry block, where its builder stands.
class WarpgroupStages {
 public:
  explicit WarpgroupStages(MatmulFrame& matmul);

  // The stage of step `step` (i32), which counts over all segments of the block. All i32.
  struct Stage {
    llvm::Value* number;
    llvm::Value* parity;  // of the phase in which it is full; it is empty in the other one
  };
  Stage Of(llvm::Value* step);

  // Emits the initialisation of the mbarriers, for all threads of the block. A stage is full after `fillers` (i32)
  // arrivals, and empty after one of each consumer warp.
  void EmitInit(llvm::Value* fillers);

  llvm::Value* Lhs(llvm::Value* stage) { return At(stage, StageBytes(), 0); }
  llvm::Value* Rhs(llvm::Value* stage) { return At(stage, StageBytes(), LhsBytes()); }
  llvm::Value* Full(llvm::Value* stage) { return At(stage, kBarrierBytes, BarriersBegin()); }
  llvm::Value* Empty(llvm::Value* stage) {
    return At(stage, kBarrierBytes, BarriersBegin() + tile_.stages * kBarrierBytes);
  }
  llvm::Value* Staged() { return At(b_.getInt32(0), 0, tile_.stages * StageBytes()); }
  int LhsBytes() const { return tile_.rows * tile_.depth * 2; }
  int RhsBytes() const { return tile_.columns * tile_.depth * 2; }
  int StageBytes() const { return LhsBytes() + RhsBytes(); }

 private:
  static constexpr int kBarrierBytes = 8;
  int BarriersBegin() const { return barriers_begin_; }
  // first + index * pitch, in bytes.
  llvm::Value* At(llvm::Value* index, int pitch, int first);

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  const MatmulTile& tile_;
  const int barriers_begin_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_STAGES_H_
