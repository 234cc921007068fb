// Emits the epilogue of a matmul: the plan's later stages, on sums that are still in cache. It runs on 16 elements at a
// time along the columns or the rows of the result, whichever are contiguous in memory.
#ifndef TAILOR_CODEGEN_CPU_GEMM_TILE_EPILOGUE_H_
#define TAILOR_CODEGEN_CPU_GEMM_TILE_EPILOGUE_H_

#include <vector>

#include "codegen/ir/digits.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::gemm {

// Finished sums of a block of rows and panels of the result.
struct TileSums {
  llvm::Value* row;
  llvm::Value* rows;
  llvm::Value* panel;
  llvm::Value* panels;
  llvm::Value* address;  // [rows][panels * 16], 64-byte aligned
};

// The sums of a task and a panel with ContractionTile::rows_in_lanes: column n of the panel and row r, counted from the
// task's first, at address[n * stride + r]. A column has room for one vector more than its rows.
struct ColumnSums {
  llvm::Value* address;
  int64_t stride;
};

class TileEpilogue {
 public:
  // Borrows all arguments. Emits into the entry block, where `b` stands. With schedule.lane_axis == m lanes run along
  // rows: the memory of the sums then holds a multiple of 16 rows, and a tile has at most task_rows rows.
  TileEpilogue(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction, const Schedule& schedule,
               const KernelFrame& frame, ScalarEmitter& scalars);

  void Emit(const TileSums& tile);

  // With ContractionTile::rows_in_lanes: the sums of a task and a panel, which the next panel overwrites; and the
  // epilogue of the task's `rows` rows from `row` on.
  ColumnSums sums() const { return {transposed_, most_rows_}; }
  void EmitColumns(int panel, llvm::Value* row, llvm::Value* rows);

 private:
  // The plan's expressions m / d and m % d of one dim size d (-1: there is none), which merged batch indices have
  // (MergeRowsOfOneRhs). They are carried from row to row: a division takes as long as an epilogue of few columns.
  struct MergedIndices {
    ExprId quotient = -1, remainder = -1;
    Digits values;
  };
  std::vector<MergedIndices> EmitMergedIndices(llvm::Value* m);
  void EmitAlongColumns(const TileSums& tile);
  void EmitAlongRows(const TileSums& tile);
  void EmitTransposed(const TileSums& tile, llvm::Value* panel);
  void EmitPanelAlongRows(llvm::Value* panel, llvm::Value* row, llvm::Value* rows);
  // A part has `lanes` elements along `lane_axis`, from `first` on.
  struct Part {
    int lane_axis, lanes;
    llvm::Value* first;
    llvm::Value* sums;  // their address
  };
  void EmitPart(const Part& part, llvm::Value* end, bool whole);
  void EmitLanes(const Part& part, llvm::Value* mask);
  llvm::Value* LanesBelow(llvm::Value* count, int lanes);
  llvm::Value* Rounded(llvm::Value* sums);
  llvm::Value* I64(int64_t value) { return b_.getInt64(value); }
  llvm::Value* Sum(llvm::Value* sums, llvm::Value* offset) {
    return b_.CreateInBoundsGEP(sum_type_, sums, offset, "sums.address");
  }

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const Contraction& c_;
  ScalarEmitter& scalars_;
  const KernelFrame& frame_;
  llvm::Type* sum_type_;
  llvm::Value* columns_;  // of the result
  const bool along_rows_;
  const bool whole_panels_;  // columns are a multiple of 16
  const int panel_lanes_;    // columns of a panel that exist, rounded up to whole registers
  const int register_lanes_;
  const int64_t most_rows_;            // rows of a tile, rounded up to 16, and a vector more where lanes run past them
  llvm::Value* transposed_ = nullptr;  // [16][most_rows_]: one panel's sums, transposed or of rows in lanes
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_TILE_EPILOGUE_H_
