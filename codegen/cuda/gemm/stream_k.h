// In IR: what each block of a matmul computes: one tile, tiles in turns, or, where blocks meet, tiles in turns and
// parts of those that are left when all blocks have had equally many (stream-K: tiles times steps of K are one line,
// which is cut where a block's share ends, not where a tile does).
//
// Of a tile that lies in several shares each block leaves its sums in global scratch. Behind a barrier of the grid all
// blocks add them, each some elements, in the order of K, and run the stages that follow: bits depend on how many
// blocks there are, and on nothing that happens at run time.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_STREAM_K_H_
#define TAILOR_CODEGEN_CUDA_GEMM_STREAM_K_H_

#include "codegen/cuda/gemm/matmul_frame.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor::cuda {

// Borrows `matmul`. Emits into the entry block, where its builder stands.
class StreamK {
 public:
  explicit StreamK(MatmulFrame& matmul);

  // Emits `portion` for what the block has, one after another: the frame has the tile and its range of K.
  void EmitEach(llvm::function_ref<void()> segment);
  // Emits, within a portion and for all threads of the matmul's team, what becomes of its sums, which `stage` stages
  // (EmitPasses): the stages that follow, or scratch.
  void EmitSums(llvm::function_ref<void(llvm::Value* first)> stage);

  // Behind all portions. Nothing unless blocks meet.
  void EmitGridSync();  // for all threads of the block
  void EmitFixup();     // for the matmul's team: adds what was left in scratch

 private:
  void EmitShares();
  void EmitTurns(llvm::function_ref<void()> segment);
  void EmitSegment(llvm::Value* number);
  void EmitAdd(llvm::Value* group, llvm::Value* first, llvm::Value* last);
  // Where the sums lie that block `block` has of tile `tile` of the rest, i32s.
  llvm::Value* Partial(llvm::Value* block, llvm::Value* tile);
  // Where of these that of one element lies: `fast` is its place along FastDimSize, `slow` along the other axis (i64).
  llvm::Value* SumAt(llvm::Value* partial, llvm::Value* fast, llvm::Value* slow);
  llvm::Value* Wide(llvm::Value* value);  // i64
  llvm::Value* Narrow(llvm::Value* value, const char* name);

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  const MatmulTile& tile_;
  const bool together_;
  // All i32: what lives while steps are multiplied is to take few registers.
  llvm::Value *block_, *blocks_;
  llvm::Value* steps_ = nullptr;                     // of K, of each tile
  llvm::Value *turns_ = nullptr, *whole_ = nullptr;  // how many tiles each block has alone, and all have
  llvm::Value* partial_tiles_ = nullptr;             // tiles that are shared
  llvm::Value* share_ = nullptr;                     // steps of each block, the last may have fewer
  // Of the block: how many portions it has; which tile of the rest its first portion would be if all were parts; where
  // its first part begins, and its last portion ends, in steps of the tile.
  llvm::Value *segments_ = nullptr, *first_partial_ = nullptr, *first_step_ = nullptr, *end_step_ = nullptr;
  // Of the portion: i1, whether it is a tile along all of K; of which tile of the rest it is a part.
  llvm::Value *is_tile_ = nullptr, *partial_tile_ = nullptr;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_STREAM_K_H_
