// In IR: threads bring a step of a matmul's lhs into shared memory through registers, where it lies as
// neither copies nor boxes of tensors can take it.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_LHS_GATHER_H_
#define TAILOR_CODEGEN_CUDA_GEMM_LHS_GATHER_H_

#include <functional>
#include <vector>

#include "codegen/cuda/gemm/lhs_chunks.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor::cuda {

// Borrows both. Of the frame's tile; emits where the builder stands. A step is the tile's rows by its depth, which the
// threads take in turns: what a thread loads in a turn is under way at once, before any of it is stored.
//
// In memory an element lies at m * row stride + k * depth stride, unless it is computed. Of a whole step of such an
// operand an address is another one and a stride, and many are under way; other elements are taken few at a time.
class LhsGather {
 public:
  // `thread` (i32) is one of `threads`, a power of two.
  LhsGather(MatmulFrame& matmul, LhsChunks& lhs, int threads, llvm::Value* thread);

  // The address in shared memory of chunk `chunk` (kChunkBytes along K) of row `row` of the step, i32s.
  using Place = std::function<llvm::Value*(llvm::Value* row, llvm::Value* chunk)>;
  // Emits what brings the step at `k` (i64, below depth()): zeros from depth() on, and anything for rows that do not
  // exist.
  void Emit(llvm::Value* k, const Place& place);

  // i1: the step at `k` is a whole one of an operand that is not computed.
  llvm::Value* EmitIsWhole(llvm::Value* k);
  // Such a step where HasOneTurn(): what stands between the two runs while the loads are under way.
  void EmitLoad(llvm::Value* k) { EmitLoadWhole(k, b_.getInt32(0)); }
  void EmitStore(const Place& place) { EmitStore(whole_, place, b_.getInt32(0)); }
  bool HasOneTurn() const { return row_stride_ != nullptr && Turns(whole_) == 1; }
  // Any step.
  void EmitAny(llvm::Value* k, const Place& place);

 private:
  // How the threads share a step: of each turn a thread has so many elements, in whole chunks or one by one.
  struct Sharing {
    bool in_chunks;
    int elements;
  };
  // One of them: its row and step of K in the tile, which chunk of the row has it, and where; i32s.
  struct Element {
    llvm::Value *row, *depth, *chunk, *within;
  };
  Element At(const Sharing& sharing, llvm::Value* turn, int i);
  // What a thread takes at once, a chunk or an element: its place along the axis that neighbouring threads share, and
  // along the other one; i32s.
  struct Unit {
    llvm::Value *fast, *slow;
  };
  Unit UnitAt(llvm::Value* number, int fast_units);
  int Turns(const Sharing& sharing) const;
  void EmitTurns(const Sharing& sharing, const Place& place, llvm::function_ref<void(llvm::Value* turn)> load);
  void EmitLoadWhole(llvm::Value* k, llvm::Value* turn);
  void EmitLoadAny(llvm::Value* k, llvm::Value* turn);
  void EmitStore(const Sharing& sharing, const Place& place, llvm::Value* turn);
  void FindStrides();
  llvm::Value* I32(int value) { return b_.getInt32(value); }
  llvm::Value* Wide(llvm::Value* value) { return b_.CreateZExt(value, b_.getInt64Ty()); }

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  LhsChunks& lhs_;
  const MatmulTile& tile_;
  llvm::Type* const element_;
  const int chunk_elements_;
  const bool along_rows_;  // neighbouring threads take neighbouring rows, else neighbours along K
  const int threads_;
  llvm::Value* const thread_;
  // Of an operand in memory, in elements, i64; else null.
  llvm::Value *row_stride_ = nullptr, *depth_stride_ = nullptr;
  llvm::Value* first_ = nullptr;     // the address of element (first_row(), 0)
  llvm::Value* last_row_ = nullptr;  // from there, that exists: i32
  Sharing whole_, any_;
  std::vector<llvm::AllocaInst*> values_;  // of a turn
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_LHS_GATHER_H_
