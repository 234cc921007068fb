// The MMA gemm: main loop of f16, bf16 or f32 matmuls on tensor cores, for sm_80 and later (TSCompiler section 5.4).
// cp.async copies several steps of K ahead into shared memory, ldmatrix loads fragments, and warps multiply 16x8x16
// (mma.sync). f32 elements are rounded to tf32 when read from shared memory, and multiplied 16x8x8.
//
// A stage in shared memory is [rows][depth] of the lhs, then [columns / 16][depth][16] of the rhs, panels as stored.
// XOR swizzle: 16-byte chunks are permuted within 128 bytes, so that the eight rows of a fragment lie in different
// banks.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_MMA_GEMM_H_
#define TAILOR_CODEGEN_CUDA_GEMM_MMA_GEMM_H_

#include <vector>

#include "codegen/cuda/gemm/lhs_chunks.h"
#include "codegen/cuda/gemm/gemm_loop.h"
#include "codegen/cuda/gemm/packed_rhs.h"

namespace tailor::cuda {

class MmaGemm : public GemmLoop {
 public:
  explicit MmaGemm(MatmulFrame& matmul);

  void Emit() override;
  void EmitStage(llvm::Value* first) override;

 private:
  // A chunk that the thread copies in each step.
  struct Chunk {
    llvm::Value* row;     // in the tile, i32
    llvm::Value* depth;   // its first k within the step, i32
    llvm::Value* offset;  // in the stage, in bytes, i32
  };

  void EmitSteps();
  void EmitGatheredSteps();
  llvm::Value* WholeStepBytes(llvm::Value* k);
  void EmitCopyLhs(llvm::Value* k, llvm::Value* stage);
  void EmitCopyRhs(llvm::Value* k, llvm::Value* stage);
  void EmitMultiply(llvm::Value* stage);
  std::vector<llvm::Value*> EmitLhsFragments(llvm::Value* stage, int depth);
  std::vector<llvm::Value*> EmitRhsFragments(llvm::Value* stage, int panel, int depth);
  std::vector<llvm::Value*> EmitTf32RhsFragments(llvm::Value* panel);
  llvm::Value* RoundToTf32(llvm::Value* word);

  Chunk LhsChunk(int i);
  llvm::Value* LhsPermutation(llvm::Value* row);
  llvm::Value* RhsPlace(llvm::Value* chunk);
  int RowBytes() const { return tile_.depth * element_; }  // of the lhs
  int LhsBytes() const { return tile_.rows * RowBytes(); }
  int StageBytes() const { return (tile_.rows + tile_.columns) * RowBytes(); }
  llvm::Value* StageOf(llvm::Value* k);  // i32: byte offset in shared memory
  llvm::Value* Shared(llvm::Value* stage, llvm::Value* offset);
  llvm::AllocaInst* Sum(int row, int panel, int element);
  llvm::Value* I32(int value) { return b_.getInt32(value); }

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  const MatmulTile& tile_;
  const int element_;         // bytes
  const int chunk_elements_;  // per 16 bytes
  const int depth_;           // of one mma instruction
  LhsChunks lhs_;
  PackedRhs rhs_;
  llvm::Value *lane_, *group_, *member_;  // i32: lane of the warp; lane / 4, lane % 4
  llvm::Value *warp_row_, *warp_column_;  // i32: first row and column of the warp, in the tile
  std::vector<llvm::AllocaInst*> sums_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_MMA_GEMM_H_
