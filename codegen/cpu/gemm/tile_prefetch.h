// Emits the prefetches of a matmul's tiles: the next panels and rows, and the memory that the epilogue will touch.
#ifndef TAILOR_CODEGEN_CPU_GEMM_TILE_PREFETCH_H_
#define TAILOR_CODEGEN_CPU_GEMM_TILE_PREFETCH_H_

#include <vector>

#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/cpu/gemm/rhs_operand.h"
#include "codegen/cpu/gemm/tile_epilogue.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::gemm {

// The rows of a task, split into tiles.
struct TaskRows {
  llvm::Value *first_tile = nullptr, *last_tile = nullptr;  // row tiles [first_tile, last_tile)
  llvm::Value *first = nullptr, *count = nullptr;
  llvm::Value* ends_panels = nullptr;  // i1: no later task reads this task's panels
  llvm::Value* first_panel = nullptr;
  bool parts_first = false;  // a part of K runs over all panels of the task before the next part begins
};

// One micro-kernel's place in the result.
struct MatmulTile : TileSums {
  llvm::Value* number;  // index among `tiles`, the task's tiles that read the same panels
  llvm::Value* tiles;
  llvm::Value* last_group;  // i1: its panels are the last of the task
};

class TilePrefetch {
 public:
  // Prefetch arguments of a micro-kernel (MicroKernel::fetch_ahead).
  struct Ahead {
    llvm::Value* address;
    llvm::Value* stride;  // bytes
    llvm::Value* step;    // bytes
  };

  // Whether micro-kernels of `rows` rows prefetch.
  static bool InMicroKernels(const KernelPlan& plan, const Contraction& contraction, const ContractionTile& tile,
                             int rows);

  // Borrows all arguments; adds expressions to `plan`. Emits into the entry block, where `b` stands. With
  // `depth_blocks` K runs in parts of tile.depth, else in one part. `own_prefetch_distance`:
  // CostProfile::prefetch_distance.
  TilePrefetch(llvm::IRBuilderBase& b, KernelPlan& plan, const Contraction& contraction, const Schedule& schedule,
               const LhsForm& form, bool depth_blocks, const KernelFrame& frame, ScalarEmitter& scalars,
               LhsOperand& lhs, RhsOperand& rhs, llvm::Value* own_prefetch_distance);

  // What the tile's micro-kernel prefetches while it runs on `depth` steps of K from `k` on.
  Ahead InMicroKernel(const MatmulTile& tile, const TaskRows& task, const RhsPanels& rhs, llvm::Value* k,
                      llvm::Value* depth);
  // In a launch whose results exceed the cache, and only if `last` (i1: the epilogue is next): prefetches the memory
  // that the tile's epilogue will touch, so that it arrives while K runs.
  void EmitForEpilogue(const MatmulTile& tile, const TaskRows& task, llvm::Value* last);

 private:
  Ahead NextRhsRows(const MatmulTile& tile, const RhsPanels& rhs, llvm::Value* k);
  Ahead OwnPanels(const MatmulTile& tile, const RhsPanels& rhs, llvm::Value* k);
  Ahead NextPanels(const MatmulTile& tile, const TaskRows& task, const RhsPanels& rhs, llvm::Value* k,
                   llvm::Value* depth);
  Ahead NextRows(const MatmulTile& tile, const TaskRows& task, llvm::Value* k, llvm::Value* depth);
  Ahead NextColumns(const MatmulTile& tile, const TaskRows& task, llvm::Value* k);
  void EmitColumns(const MatmulTile& tile, const TaskRows& task, llvm::Value* first_column);
  void EmitRun(const Expr& access, llvm::Value* bytes);
  llvm::Value* PanelStrideBytes(const RhsPanels& rhs);
  int RhsBytes() const { return SizeOf(plan_.buffers[c_.rhs.ref].dtype); }
  bool AlongRows() const { return schedule_.lane_axis == c_.m; }
  llvm::Value* FloorLog2(llvm::Value* value);
  llvm::Value* AxisDimSize(int axis) { return frame_.DimSizeValue(b_, plan_.axes[axis].dim_size); }
  llvm::Value* I64(int64_t value) { return b_.getInt64(value); }

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const Contraction& c_;
  const Schedule& schedule_;
  const LhsForm& form_;
  const bool depth_blocks_;
  const KernelFrame& frame_;
  ScalarEmitter& scalars_;
  LhsOperand& lhs_;
  RhsOperand& rhs_;
  llvm::Value* own_ahead_;
  std::vector<Expr> epilogue_runs_;  // epilogue reads and writes along the lane axis, as loads
  llvm::Value* leaves_cache_;        // i1: the result exceeds the cache
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_TILE_PREFETCH_H_
