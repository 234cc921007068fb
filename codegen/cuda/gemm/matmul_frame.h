// The frame of every matmul kernel: the tile of the result that is computed, and operand elements by row, column and
// step of K.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_MATMUL_FRAME_H_
#define TAILOR_CODEGEN_CUDA_GEMM_MATMUL_FRAME_H_

#include <functional>
#include <string>

#include "codegen/cuda/frame/frame.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/cuda/schedule/matmul_plan.h"
#include "codegen/plan/contraction.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cuda {

// The threads that run an epilogue together.
struct MatmulTeam {
  llvm::Value* thread;  // i32: the thread's index in the team
  int threads;
  llvm::Value* staged;         // shared memory for staged sums
  std::function<void()> sync;  // emits a barrier of the team
};

// Borrows all arguments; one per kernel.
class MatmulFrame {
 public:
  // Opens kernel `name` in `module` (OpenCudaKernel). `plan` is the emitter's own: expressions are added to it.
  MatmulFrame(llvm::IRBuilderBase& b, llvm::Module& module, KernelPlan& plan, const Contraction& contraction,
              const MatmulTypes& types, const CudaVersion& version, const std::string& name);

  // Number of tiles of the matmul, i64.
  llvm::Value* EmitTileCount();
  // Makes tile `number` (i64, below the count) current, along all of K: sets the batch axes, first_row() and
  // first_column().
  void EmitTile(llvm::Value* number);
  // Restricts the tile to elements of K in [begin, end), i64s: whole steps, except for the last of K.
  void SetRange(llvm::Value* begin, llvm::Value* end) { k_begin_ = begin, k_end_ = end; }
  // A variable of the thread (an alloca in the entry block).
  llvm::AllocaInst* Variable(llvm::Type* type, const llvm::Twine& name);

  // Operand elements in the register form of Contraction::accumulate. Requires 0 <= m < rows(), 0 <= n < columns(), 0
  // <= k < depth(). An element of a fill is computed for each load: a GPU has no staging buffer for it.
  llvm::Value* EmitLhs(llvm::Value* m, llvm::Value* k);
  llvm::Value* EmitRhs(llvm::Value* k, llvm::Value* n);
  // An element of the rhs in memory form (MemoryType), converted to the type of sums.
  llvm::Value* RhsElement(llvm::Value* bits) { return ToSum(types_.operand, FromMemory(b_, types_.operand, bits)); }
  // The element of the lhs in memory form (MemoryType).
  llvm::Value* EmitLhsBits(llvm::Value* m, llvm::Value* k);

  // Emits `body` for one output element at a time. If the version has lanes, also for that many neighbouring columns,
  // which the kernel takes if all accesses of the epilogue are whole vectors (whole_vectors.h).
  void EmitWithLanes(llvm::function_ref<void(int lanes)> body);

  // x * y + sum in the type of sums.
  llvm::Value* EmitMultiplyAdd(llvm::Value* x, llvm::Value* y, llvm::Value* sum);

  llvm::IRBuilderBase& b() { return b_; }
  KernelPlan& plan() { return plan_; }
  const Contraction& contraction() const { return c_; }
  const MatmulTypes& types() const { return types_; }
  const CudaVersion& version() const { return version_; }
  const MatmulTile& tile() const { return version_.tile; }
  const CudaFrame& frame() const { return frame_; }
  ScalarEmitter& scalars() { return scalars_; }
  llvm::Type* sum_type() const { return sum_type_; }
  llvm::Value* shared() const { return shared_; }  // the block's shared memory
  llvm::Value* thread() const { return thread_; }  // i32
  // Dim sizes of the matmul, i64.
  llvm::Value* rows() const { return rows_; }
  llvm::Value* columns() const { return columns_; }
  llvm::Value* depth() const { return depth_; }
  // The whole block, until another team is set.
  const MatmulTeam& team() const { return team_; }
  void SetTeam(MatmulTeam team) { team_ = std::move(team); }
  // The range of K that is summed, i64.
  llvm::Value* k_begin() const { return k_begin_; }
  llvm::Value* k_end() const { return k_end_; }
  // First row and column of the tile, i64.
  llvm::Value* first_row() const { return first_row_; }
  llvm::Value* first_column() const { return first_column_; }
  // first + offset (offset i32), at most the last index below `dim_size`: i64.
  llvm::Value* Existing(llvm::Value* first, llvm::Value* offset, llvm::Value* dim_size);
  // Whether the dim size of `axis` is known to be a multiple of `count`.
  bool IsMultiple(int axis, int64_t count) const;

 private:
  void SetLhs(llvm::Value* m, llvm::Value* k);
  llvm::Value* ToSum(DType dtype, llvm::Value* value);
  llvm::Value* DimSize(int axis) { return frame_.DimSizeValue(b_, plan_.axes[axis].dim_size); }

  const EmitTarget target_{.fma = true};
  llvm::IRBuilderBase& b_;
  KernelPlan& plan_;
  const Contraction& c_;
  const MatmulTypes types_;
  const CudaVersion& version_;
  const ExprId lhs_, rhs_;
  CudaFrame frame_;
  ScalarEmitter scalars_;
  llvm::Type* sum_type_;
  llvm::Value *shared_, *thread_, *rows_, *columns_, *depth_;
  MatmulTeam team_;
  llvm::Value *first_row_ = nullptr, *first_column_ = nullptr, *k_begin_ = nullptr, *k_end_ = nullptr;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_MATMUL_FRAME_H_
