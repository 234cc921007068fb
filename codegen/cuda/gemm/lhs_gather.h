// Emits the copy of one step of a matmul's lhs into shared memory through registers. It serves operands whose layout
// neither cp.async nor tensor loads can copy.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_LHS_GATHER_H_
#define TAILOR_CODEGEN_CUDA_GEMM_LHS_GATHER_H_

#include <functional>
#include <vector>

#include "codegen/cuda/gemm/lhs_chunks.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor::cuda {

// Borrows `matmul` and `lhs`. Reads the frame's current tile; emits where the builder stands. A step is the tile's rows
// times its depth. A thread copies its elements in turns: it issues all loads of a turn before it stores any.
//
// An element lies at m * row stride + k * depth stride in memory, unless it is computed. In a whole step of a strided
// operand each address is the previous one plus a stride, so many loads are in flight. Other elements are loaded few at
// a time.
class LhsGather {
 public:
  // `thread` (i32) is one of `threads`, a power of two.
  LhsGather(MatmulFrame& matmul, LhsChunks& lhs, int threads, llvm::Value* thread);

  // Address in shared memory of chunk `chunk` (kChunkBytes along K) of row `row` of the step; i32s.
  using Place = std::function<llvm::Value*(llvm::Value* row, llvm::Value* chunk)>;
  // Emits the copy of the step at `k` (i64, below depth()): zeros from depth() on, arbitrary values for rows that do
  // not exist.
  void Emit(llvm::Value* k, const Place& place);

  // i1: the step at `k` is whole, and the operand is not computed.
  llvm::Value* EmitIsWhole(llvm::Value* k);
  // For such a step with HasOneTurn(): code between the two calls runs while the loads are in flight.
  void EmitLoad(llvm::Value* k) { EmitLoadWhole(k, b_.getInt32(0)); }
  void EmitStore(const Place& place) { EmitStore(whole_, place, b_.getInt32(0)); }
  bool HasOneTurn() const { return row_stride_ != nullptr && Turns(whole_) == 1; }
  // Any step.
  void EmitAny(llvm::Value* k, const Place& place);

 private:
  // How threads share a step: elements per thread and turn, in whole chunks or one by one.
  struct Sharing {
    bool in_chunks;
    int elements;
  };
  // One element: its row and step of K in the tile, the chunk of the row, and its place within the chunk; i32s.
  struct Element {
    llvm::Value *row, *depth, *chunk, *within;
  };
  Element At(const Sharing& sharing, llvm::Value* turn, int i);
  // A chunk or an element, taken at once: its index along the axis that neighbouring threads share, and along the other
  // one; i32s.
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
  const bool along_rows_;  // neighbouring threads take neighbouring rows; else neighbouring k
  const int threads_;
  llvm::Value* const thread_;
  // Strides of an operand in memory, in elements, i64; null if it is computed.
  llvm::Value *row_stride_ = nullptr, *depth_stride_ = nullptr;
  llvm::Value* first_ = nullptr;     // address of element (first_row(), 0)
  llvm::Value* last_row_ = nullptr;  // the last existing row, from first_row(): i32
  Sharing whole_, any_;
  std::vector<llvm::AllocaInst*> values_;  // of one turn
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_LHS_GATHER_H_
