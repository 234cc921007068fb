// The segments that each block of a matmul computes: one tile, several tiles in turn, or, in cooperative versions,
// Stream-K. With Stream-K full waves run whole tiles; the last partial wave is split along K. All steps of the
// remaining tiles form one sequence. It is divided into equal shares, one per block, regardless of tile boundaries.
//
// Blocks that share a tile leave their partial sums in global scratch. After a grid sync comes the fixup: all blocks
// add partial sums, some elements each, in the order of K, and run the epilogue. Of the launch, only the number of
// blocks affects the bits of a result.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_STREAM_K_H_
#define TAILOR_CODEGEN_CUDA_GEMM_STREAM_K_H_

#include "codegen/cuda/gemm/matmul_frame.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor::cuda {

// Borrows `matmul`. Emits into the entry block, where its builder stands.
class StreamK {
 public:
  explicit StreamK(MatmulFrame& matmul);

  // Emits `segment` for each segment of the block in turn; the frame then has the tile and its range of K.
  void EmitEach(llvm::function_ref<void()> segment);
  // Within a segment, for all threads of the matmul's team: emits the consumer of the segment's sums, either the
  // epilogue or stores of partial sums to scratch. `stage` stages the sums (EmitPasses).
  void EmitSums(llvm::function_ref<void(llvm::Value* first)> stage);

  // After all segments. Emit nothing unless the version is cooperative.
  void EmitGridSync();  // for all threads of the block
  void EmitFixup();     // for the matmul's team: adds the partial sums in scratch

 private:
  void EmitShares();
  void EmitTurns(llvm::function_ref<void()> segment);
  void EmitSegment(llvm::Value* number);
  void EmitAdd(llvm::Value* group, llvm::Value* first, llvm::Value* last);
  // Address of block `block`'s partial sums of remaining tile `tile`; i32s.
  llvm::Value* Partial(llvm::Value* block, llvm::Value* tile);
  // Address of one element of these: `fast` is its index along FastDimSize, `slow` along the other axis (i64).
  llvm::Value* SumAt(llvm::Value* partial, llvm::Value* fast, llvm::Value* slow);
  llvm::Value* Wide(llvm::Value* value);  // i64
  llvm::Value* Narrow(llvm::Value* value, const char* name);

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  const MatmulTile& tile_;
  const bool cooperative_;
  // All i32, as values that live across the main loop should take few registers.
  llvm::Value *block_, *blocks_;
  llvm::Value* steps_ = nullptr;                     // of K, per tile
  llvm::Value *turns_ = nullptr, *whole_ = nullptr;  // whole tiles per block, and of all blocks
  llvm::Value* partial_tiles_ = nullptr;             // remaining tiles, which are shared
  llvm::Value* share_ = nullptr;                     // steps per block; the last block may have fewer
  // Of the block: number of segments; index of its first segment's tile among the remaining tiles, less turns_; first
  // step of its first partial segment, and end step of its last segment, within the tile.
  llvm::Value *segments_ = nullptr, *first_partial_ = nullptr, *first_step_ = nullptr, *end_step_ = nullptr;
  // Of the segment: i1, whether it is a tile along all of K; index of its remaining tile.
  llvm::Value *is_tile_ = nullptr, *partial_tile_ = nullptr;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_STREAM_K_H_
