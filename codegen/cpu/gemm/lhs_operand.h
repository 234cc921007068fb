// The lhs of a matmul as micro-kernels read it: affine in m and k, or at the sum of a row offset and a depth offset
// from tables. The tables make the matmul of a convolution implicit (MikPoly section 4): windows are never copied to
// columns. With a fill, the part of the tensor that a task reads is first computed into a staging buffer in scratch:
// the part of the prologue that the matmul's schedule reaches (TSCompiler section 5.2). So a padded image never exists
// in memory.
#ifndef TAILOR_CODEGEN_CPU_GEMM_LHS_OPERAND_H_
#define TAILOR_CODEGEN_CPU_GEMM_LHS_OPERAND_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cpu/gemm/fill_staging.h"
#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::gemm {

// How the operand's elements are addressed.
struct LhsForm {
  AccessMap rows, depth;  // along m and along k
  bool tables = false;
  bool unit_depth_stride = false;  // elements along K are contiguous; with tables: those of each word of the rhs
  // Steps of K that are contiguous, from each multiple of that number on: 16, 8, 4 or 1.
  int contiguous_steps = 1;
};
// INTERNAL if an index is not a sum of a part in m and a part in k. Adds expressions to `plan`.
absl::StatusOr<LhsForm> FormOfLhs(KernelPlan& plan, const Contraction& contraction);

// Bytes of a worker's staging buffer, copied or packed rows, over slots as Schedule::scratch_bytes; 0 without either.
SlotExpr LhsScratchBytes(const KernelPlan& plan, const Contraction& contraction, const ContractionTile& tile);

// Emits the accesses to the lhs within one kernel function. Borrows all arguments.
class LhsOperand {
 public:
  // The lhs arguments of a micro-kernel.
  struct Arguments {
    llvm::Value* address;
    llvm::Value* rows;    // stride in elements, or address of a table
    llvm::Value* depths;  // likewise
  };

  // Vectors of up to schedule.lanes rows of one run (codegen/cpu/gemm/rows_in_lanes.h), as arrays of i64. After the
  // last one follows one without rows, and a further entry of `rows`, where that ends.
  struct RowVectors {
    llvm::Value* rows;     // the first row of each, counted from the task's first
    llvm::Value* offsets;  // of the first row at the begin of the part, in elements from base()
  };

  // Emits into the entry block, where `b` stands. With `depth_blocks` K runs in parts of tile.depth, else in one part.
  LhsOperand(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction, const LhsForm& form,
             const Schedule& schedule, bool depth_blocks, const KernelFrame& frame, ScalarEmitter& scalars);

  // Emits a task's preparation for micro-kernels on `depth` steps of K from `k` on. The batch axes must have their
  // values; the task's rows are [row, row + rows).
  void EmitPart(llvm::Value* row, llvm::Value* rows, llvm::Value* k, llvm::Value* depth);
  // With ContractionTile::packs_rows, after EmitPart: packs the task's tiles [first_tile, last_tile) of `tiling` for
  // micro-kernels on `depth` steps of K from `k` on.
  void EmitPackedPart(const EvenTiling& tiling, llvm::Value* first_tile, llvm::Value* last_tile, llvm::Value* k,
                      llvm::Value* depth);
  // With ContractionTile::copies_rows, after EmitPart: copies the task's rows [row, row + rows) for micro-kernels on
  // `depth` steps of K from `k` on.
  void EmitCopiedPart(llvm::Value* row, llvm::Value* rows, llvm::Value* k, llvm::Value* depth);
  // Arguments of micro-kernels that begin at row `row` and at `k`, the begin of the part.
  Arguments At(llvm::Value* row, llvm::Value* k);
  // The vectors of the task's rows, in order; only with ContractionTile::rows_in_lanes, after EmitPart.
  llvm::Value* vectors() const { return vectors_; }
  RowVectors VectorsFrom(llvm::Value* index) { return {Entry(vector_rows_, index), Entry(vector_offsets_, index)}; }
  llvm::Value* base() const { return base_; }
  // Arguments::depths.
  llvm::Value* depths() const { return form_.tables ? depth_table_ : depth_stride_; }
  // Address of row `row` at `k`; only without tables. May lie beyond the operand.
  llvm::Value* AddressOf(llvm::Value* row, llvm::Value* k);

 private:
  bool HasStaging() const { return c_.fill >= 0; }
  int FillLanes() const;
  void EmitStrides();
  llvm::Value* EmitStride(const AccessMap& map);
  llvm::Value* EmitOffset(llvm::Value* m, llvm::Value* k);
  // How an index grows from the current row to the next ones: by `slope` per row, for `remaining` rows, the current one
  // included (null: for all).
  struct Run {
    llvm::Value* slope;
    llvm::Value* remaining;
  };
  void EmitRuns(llvm::Value* first, llvm::Value* count, llvm::Value* k,
                llvm::function_ref<void(llvm::Value* row, llvm::Value* offset, const Run& run)> body);
  void EmitRowTable(llvm::Value* first, llvm::Value* count, llvm::Value* k);
  void EmitVectorTable(llvm::Value* first, llvm::Value* count, llvm::Value* k);
  llvm::Value* Entry(llvm::Value* table, llvm::Value* index) {
    return b_.CreateInBoundsGEP(b_.getInt64Ty(), table, index, "entry");
  }
  void EmitDepthTable(llvm::Value* count, llvm::Value* k);
  Run EmitRunOfRows(ExprId id);
  llvm::Value* Shorter(llvm::Value* a, llvm::Value* b);
  IndexRange EmitRange(ExprId id, const IndexRange& m, const IndexRange& k);
  llvm::AllocaInst* Table(int64_t entries, const char* name);
  llvm::Value* I64(int64_t value) { return b_.getInt64(value); }

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const Contraction& c_;
  const LhsForm& form_;
  const Schedule& schedule_;
  const bool depth_blocks_;
  const KernelFrame& frame_;
  ScalarEmitter& scalars_;
  const Buffer& buffer_;  // that is read: the tensor in memory, or the staging buffer

  std::vector<llvm::Value*> strides_;   // per dim of buffer_, in elements
  std::vector<llvm::Value*> starts_;    // of the staging buffer in the tensor, per dim
  llvm::Value* odd_columns_ = nullptr;  // StagingBuffer::odd_columns
  llvm::Value* base_ = nullptr;         // address of the element with index starts_
  llvm::Value *row_stride_ = nullptr, *depth_stride_ = nullptr;
  llvm::Value *row_table_ = nullptr, *depth_table_ = nullptr;
  llvm::Value* first_row_ = nullptr;   // of the task
  llvm::Value* packed_row_ = nullptr;  // elements per packed row (EmitPackRows)
  llvm::AllocaInst *vector_rows_ = nullptr, *vector_offsets_ = nullptr;
  llvm::Value* vectors_ = nullptr;
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_LHS_OPERAND_H_
