// In IR: PanelStreamGemm for f16 and bf16, on tensor cores: the fragments of warp matmuls come from memory as they
// are.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_MMA_STREAM_GEMM_H_
#define TAILOR_CODEGEN_CUDA_GEMM_MMA_STREAM_GEMM_H_

#include <vector>

#include "codegen/cuda/gemm/lhs_chunks.h"
#include "codegen/cuda/gemm/gemm_loop.h"
#include "codegen/cuda/gemm/packed_rhs.h"

namespace tailor::cuda {

// A block has two panels, and each of its warps one slice of K, in turns of 64 steps. The order of K within a turn, and
// of columns within the panels, is free as long as both factors have the same: it is such that a lane reads four
// columns of each step of a pair, 8 bytes, and eight elements of a row of the lhs.
//
// Lane l, group g = l / 4, member t = l % 4, has columns 4 (g % 4), ..., + 3 of panel g / 4, and of the turn's 32 pairs
// of steps the pairs 8 t, ..., 8 t + 7.
class MmaStreamGemm : public GemmLoop {
 public:
  explicit MmaStreamGemm(MatmulFrame& matmul);

  void Emit() override;
  void EmitStage(llvm::Value* first) override;

 private:
  void EmitTurn(llvm::Value* k, bool whole);
  void EmitPairs(llvm::Value* k, int pairs, bool whole);
  std::vector<llvm::Value*> EmitLhs(int row, llvm::Value* k, int pairs, bool whole);
  llvm::Value* EmitWords(llvm::Value* k, bool whole);
  llvm::AllocaInst* Sum(int row, int half, int element) { return sums_[(row * 2 + half) * 4 + element]; }

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  const MatmulTile& tile_;
  LhsChunks lhs_;
  PackedRhs rhs_;
  llvm::Value *slice_, *group_, *member_;  // i32
  llvm::Value *address_, *swapped_;        // of the lane's columns in step 0, and if halves were swapped there
  std::vector<llvm::AllocaInst*> sums_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_MMA_STREAM_GEMM_H_
