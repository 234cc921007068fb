// PanelStreamGemm for f16 and bf16 on tensor cores: mma fragments are loaded from global memory directly.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_MMA_STREAM_GEMM_H_
#define TAILOR_CODEGEN_CUDA_GEMM_MMA_STREAM_GEMM_H_

#include <vector>

#include "codegen/cuda/gemm/lhs_chunks.h"
#include "codegen/cuda/gemm/gemm_loop.h"
#include "codegen/cuda/gemm/packed_rhs.h"

namespace tailor::cuda {

// A block has two panels; each of its warps has one slice of K, in turns of 64 steps. The order of K within a turn, and
// of columns within panels, is free as long as it is the same for both operands. It is chosen so that a lane reads four
// columns (8 bytes) of each step of a pair, and eight elements of a row of the lhs.
//
// Lane l, group g = l / 4, member t = l % 4, has columns 4 (g % 4), ..., + 3 of panel g / 4. Of the turn's 32 pairs of
// steps it has pairs 8 t, ..., 8 t + 7.
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
  llvm::Value *address_, *swapped_;        // address of the lane's columns at k = 0, and if halves were swapped there
  std::vector<llvm::AllocaInst*> sums_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_MMA_STREAM_GEMM_H_
