#include "codegen/cpu/gemm/tile_prefetch.h"

#include "codegen/contract/panels.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/memory_hints.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

constexpr int64_t kAlmostNothing = 1;  // byte per k: one line per 64 k

}  // namespace

// False for panels that are known to stay in L1. With widened elements the fullest tile has no register left for
// prefetching.
bool TilePrefetch::InMicroKernels(const KernelPlan& plan, const Contraction& contraction, const ContractionTile& tile,
                                  int rows) {
  const auto range_of = [&](int axis) { return RangeOfDimSize(plan, plan.axes[axis].dim_size); };
  const DimSizeRange n = range_of(contraction.n), k = range_of(contraction.k);
  const DType dtype = plan.buffers[contraction.rhs.ref].dtype;
  if (n.max == 0 || k.max <= (kSmallRhsBytes / SizeOf(dtype) - 1) / n.max) return false;
  return rows < tile.rows || dtype == contraction.accumulate;
}

TilePrefetch::TilePrefetch(llvm::IRBuilderBase& b, KernelPlan& plan, const Contraction& contraction,
                           const Schedule& schedule, const LhsForm& form, bool depth_blocks, const KernelFrame& frame,
                           ScalarEmitter& scalars, LhsOperand& lhs, RhsOperand& rhs, Value* own_prefetch_distance)
    : b_(b),
      plan_(plan),
      c_(contraction),
      schedule_(schedule),
      form_(form),
      depth_blocks_(depth_blocks),
      frame_(frame),
      scalars_(scalars),
      lhs_(lhs),
      rhs_(rhs),
      own_ahead_(own_prefetch_distance),
      epilogue_runs_(EpilogueRuns(plan, contraction, AlongRows() ? contraction.m : contraction.n)) {
  constexpr int64_t kLargeResult = 1 << 17;  // elements; half of an L2 cache of 1 MiB
  Value* results = b_.CreateMul(AxisDimSize(c_.m), AxisDimSize(c_.n), "results");
  for (int axis : c_.batch) results = b_.CreateMul(results, AxisDimSize(axis), "results");
  leaves_cache_ = b_.CreateICmpUGE(results, I64(kLargeResult), "leaves.cache");
}

// A task's only tile on its panels prefetches these a little ahead, unless own_ahead_ is 0. Several tiles share the
// prefetch of the next panels, so that the first tile there finds them in cache. While other rows still use these
// panels (ends_panels is false), a tile prefetches the next rows instead; with tables their addresses are unknown, and
// copied rows are far apart.
// Packed rows are those of the next task, which tiles on the task's last panels prefetch.
TilePrefetch::Ahead TilePrefetch::InMicroKernel(const MatmulTile& tile, const TaskRows& task, const RhsPanels& rhs,
                                                Value* k, Value* depth) {
  if (!InMicroKernels(plan_, c_, schedule_.tile, 1)) return {rhs.address, I64(0), I64(0)};
  if (ReadsRhsRows(plan_, c_)) return NextRhsRows(tile, rhs, k);
  const Ahead own = OwnPanels(tile, rhs, k), next = NextPanels(tile, task, rhs, k, depth),
              rows = form_.tables || schedule_.tile.copies_rows ? Ahead{rhs.address, I64(0), I64(1)}
                                                                : NextRows(tile, task, k, depth);
  Value* lone = b_.CreateICmpEQ(tile.tiles, I64(1), "lone");
  Value* takes_panels = task.ends_panels;
  if (schedule_.tile.packs_rows()) takes_panels = b_.CreateOr(takes_panels, b_.CreateNot(tile.last_group));
  const auto choose = [&](Value* Ahead::*part) {
    return b_.CreateSelect(lone, own.*part, b_.CreateSelect(takes_panels, next.*part, rows.*part), "ahead");
  };
  return {choose(&Ahead::address), choose(&Ahead::stride), choose(&Ahead::step)};
}

// Rows of a tensor may be in other pages, where hardware prefetchers do not follow. A few rows stay in L1.
TilePrefetch::Ahead TilePrefetch::NextRhsRows(const MatmulTile& tile, const RhsPanels& rhs, Value* k) {
  constexpr int64_t kRowsAhead = 12, kFewRows = 64;
  Value* few = b_.CreateICmpSLE(AxisDimSize(c_.k), I64(kFewRows), "few.rows");
  Value* step = b_.CreateMul(rhs.depth_stride, I64(RhsBytes()), "row.step");
  return {rhs_.At(rhs, tile.panel, b_.CreateAdd(k, I64(kRowsAhead)), "rows.ahead"), I64(kPanelColumns * RhsBytes()),
          b_.CreateSelect(few, I64(kAlmostNothing), step)};
}

TilePrefetch::Ahead TilePrefetch::OwnPanels(const MatmulTile& tile, const RhsPanels& rhs, Value* k) {
  Value* none = b_.CreateICmpEQ(own_ahead_, I64(0), "none.ahead");
  Value* step = b_.CreateSelect(none, I64(kAlmostNothing), I64(kPanelColumns * RhsBytes()), "own.step");
  Value* address = rhs_.At(rhs, tile.panel, b_.CreateAdd(k, own_ahead_), "own.panels.ahead");
  return {address, PanelStrideBytes(rhs), step};
}

// This tile's share of the next panels, or of the same panels in the next part of K.
TilePrefetch::Ahead TilePrefetch::NextPanels(const MatmulTile& tile, const TaskRows& task, const RhsPanels& rhs,
                                             Value* k, Value* depth) {
  Value* panel = b_.CreateAdd(tile.panel, tile.panels);
  Value* row = I64(0);
  if (depth_blocks_) {
    Value* rest = b_.CreateAdd(k, I64(schedule_.tile.depth));
    Value* more = b_.CreateICmpSLT(rest, AxisDimSize(c_.k), "more.depth");
    Value* same = tile.panel;
    if (task.parts_first) {
      same = b_.CreateSelect(tile.last_group, task.first_panel, panel);
      rest = b_.CreateSelect(tile.last_group, rest, k);
      more = b_.CreateOr(more, b_.CreateNot(tile.last_group));
    }
    panel = b_.CreateSelect(more, same, panel);
    row = b_.CreateSelect(more, rest, row);
  }
  Value* step = b_.CreateLShr(I64(kPanelColumns * RhsBytes()), FloorLog2(tile.tiles), "step");
  Value* share = b_.CreateMul(b_.CreateMul(tile.number, depth), step, "share");
  Value* address = rhs_.At(rhs, panel, row, "panels.ahead");
  return {b_.CreateGEP(b_.getInt8Ty(), address, share, "share.ahead"), PanelStrideBytes(rhs), step};
}

// Rows that are consecutive in memory form one run; each part of K prefetches a part of it.
TilePrefetch::Ahead TilePrefetch::NextRows(const MatmulTile& tile, const TaskRows& task, Value* k, Value* depth) {
  if (form_.rows.IsUnitInLastDim()) return NextColumns(tile, task, k);
  constexpr int64_t kBytes = 32;  // for each k: eight rows of f32
  Value* step = b_.CreateLShr(I64(kBytes), FloorLog2(tile.panels), "step");
  Value* row = lhs_.AddressOf(b_.CreateAdd(tile.row, tile.rows), I64(0));
  Value* address = b_.CreateGEP(b_.getInt8Ty(), row, b_.CreateMul(k, I64(kBytes)), "rows.ahead");
  return {address, b_.CreateMul(depth, step), step};
}

// Unit stride along m: at each k, the line after this tile's; of packed rows, the line that the next task packs.
TilePrefetch::Ahead TilePrefetch::NextColumns(const MatmulTile& tile, const TaskRows& task, Value* k) {
  Value* here = lhs_.AddressOf(tile.row, k);
  Value* address = schedule_.tile.packs_rows() ? lhs_.AddressOf(b_.CreateAdd(tile.row, task.count), k)
                                               : b_.CreateGEP(b_.getInt8Ty(), here, I64(kLineBytes), "columns.ahead");
  Value* step = b_.CreatePtrDiff(b_.getInt8Ty(), lhs_.AddressOf(tile.row, b_.CreateAdd(k, I64(1))), here, "step");
  return {address, I64(0), step};
}

void TilePrefetch::EmitForEpilogue(const MatmulTile& tile, const TaskRows& task, Value* last) {
  if (epilogue_runs_.empty()) return;
  EmitIf(b_, b_.CreateAnd(leaves_cache_, last), "prefetch", [&] {
    Value* first_column = b_.CreateMul(tile.panel, I64(kPanelColumns), "n");
    if (AlongRows()) return EmitColumns(tile, task, first_column);
    scalars_.SetAxis(c_.n, first_column);
    EmitLoop(b_, I64(0), tile.rows, 1, "prefetch.row", [&](Value* row) {
      scalars_.SetAxis(c_.m, b_.CreateAdd(tile.row, row, "m"));
      for (const Expr& access : epilogue_runs_) {
        const int64_t columns = int64_t{schedule_.tile.panels} * kPanelColumns;
        EmitRun(access, I64(columns * SizeOf(plan_.buffers[access.ref].dtype)));
      }
    });
  });
}

// The epilogue runs after all tiles, along the task's rows: each tile prefetches some of the columns.
void TilePrefetch::EmitColumns(const MatmulTile& tile, const TaskRows& task, Value* first_column) {
  Value* columns = b_.CreateMul(tile.panels, I64(kPanelColumns), "columns");
  const auto share = [&](Value* tiles) {
    return b_.CreateAdd(first_column, b_.CreateUDiv(b_.CreateMul(tiles, columns), tile.tiles), "share");
  };
  scalars_.SetAxis(c_.m, task.first);
  Value* next_share = share(b_.CreateAdd(tile.number, I64(1)));
  Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next_share, AxisDimSize(c_.n), nullptr, "columns.end");
  EmitLoop(b_, share(tile.number), end, 1, "prefetch.column", [&](Value* column) {
    scalars_.SetAxis(c_.n, column);
    for (const Expr& access : epilogue_runs_) {
      EmitRun(access, b_.CreateMul(task.count, I64(SizeOf(plan_.buffers[access.ref].dtype)), "run.bytes"));
    }
  });
}

// Prefetches the lines of `bytes` bytes from the address of `access` on.
void TilePrefetch::EmitRun(const Expr& access, Value* bytes) {
  const Buffer& buffer = plan_.buffers[access.ref];
  Value* offset = I64(0);  // row-major, in elements
  for (size_t d = 0; d < access.args.size(); ++d) {
    offset = b_.CreateMul(offset, frame_.DimSizeValue(b_, buffer.dims[d]));
    offset = b_.CreateAdd(offset, scalars_.Emit(access.args[d]), "offset");
  }
  llvm::Type* element = MemoryType(b_.getContext(), buffer.dtype, 1);
  Value* address = b_.CreateInBoundsGEP(element, frame_.buffers[access.ref], offset, "touched");
  EmitLoop(b_, I64(0), bytes, kLineBytes, "prefetch.line",
           [&](Value* byte) { EmitPrefetchLine(b_, b_.CreateGEP(b_.getInt8Ty(), address, byte, "line")); });
}

Value* TilePrefetch::PanelStrideBytes(const RhsPanels& rhs) { return b_.CreateMul(rhs.panel_stride, I64(RhsBytes())); }

Value* TilePrefetch::FloorLog2(Value* value) {
  Value* zeros = b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {b_.getInt64Ty()}, {value, b_.getTrue()});
  return b_.CreateSub(I64(63), zeros, "log2");
}

}  // namespace tailor::gemm
