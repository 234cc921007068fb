#include "codegen/cpu/gemm/tile_fetches.h"

#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/fetch_line.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

constexpr int64_t kLineBytes = 64;

}  // namespace

// Not panels that are known to stay in the first cache. Where elements are widened, the fullest tile has no register
// left for it.
bool TileFetches::InMicroKernels(const KernelPlan& plan, const Contraction& contraction, const ContractionTile& tile,
                                 int rows) {
  constexpr int64_t kSmall = 1 << 16;  // bytes
  const auto range_of = [&](int axis) { return RangeOfDimSize(plan, plan.axes[axis].dim_size); };
  const DimSizeRange n = range_of(contraction.n), k = range_of(contraction.k);
  const DType dtype = plan.buffers[contraction.rhs.ref].dtype;
  if (n.fixed && k.fixed && k.max * n.max < kSmall / SizeOf(dtype)) return false;
  return rows < tile.rows || dtype == contraction.accumulate;
}

TileFetches::TileFetches(llvm::IRBuilderBase& b, KernelPlan& plan, const Contraction& contraction,
                         const Schedule& schedule, const LhsForm& form, bool depth_blocks, const KernelFrame& frame,
                         ScalarEmitter& scalars, LhsOperand& lhs, Value* own_ahead)
    : b_(b),
      plan_(plan),
      c_(contraction),
      schedule_(schedule),
      form_(form),
      depth_blocks_(depth_blocks),
      frame_(frame),
      scalars_(scalars),
      lhs_(lhs),
      own_ahead_(own_ahead),
      epilogue_runs_(EpilogueRuns(plan, contraction, AlongRows() ? contraction.m : contraction.n)) {
  constexpr int64_t kLargeResult = 1 << 17;  // elements; half of an L2 cache of 1 MiB
  Value* results = b_.CreateMul(AxisDimSize(c_.m), AxisDimSize(c_.n), "results");
  for (int axis : c_.batch) results = b_.CreateMul(results, AxisDimSize(axis), "results");
  leaves_cache_ = b_.CreateICmpUGE(results, I64(kLargeResult), "leaves.cache");
}

// A task's lone tile of its panels reads them as fast as it can, and where the machine does not see to it asks for them
// from a little further on. Of several tiles the first finds them in cache if the tiles before have shared in asking
// for them; while other rows are still to come with these panels, a tile asks for the next rows instead, unless tables
// say where those are.
TileFetches::Ahead TileFetches::InMicroKernel(const MatmulTile& tile, const TaskRows& task, const PackedRhs& rhs,
                                              Value* k, Value* depth) {
  if (!InMicroKernels(plan_, c_, schedule_.tile, 1)) return {rhs.address, I64(0), I64(0)};
  const Ahead own = OwnPanels(tile, rhs, k), next = NextPanels(tile, rhs, k, depth),
              rows = form_.tables ? Ahead{rhs.address, I64(0), I64(1)} : NextRows(tile, k, depth);
  Value* lone = b_.CreateICmpEQ(tile.tiles, I64(1), "lone");
  const auto choose = [&](Value* Ahead::*part) {
    return b_.CreateSelect(lone, own.*part, b_.CreateSelect(task.ends_panels, next.*part, rows.*part), "ahead");
  };
  return {choose(&Ahead::address), choose(&Ahead::stride), choose(&Ahead::step)};
}

TileFetches::Ahead TileFetches::OwnPanels(const MatmulTile& tile, const PackedRhs& rhs, Value* k) {
  constexpr int64_t kAlmostNothing = 1;  // a line of its own for every 64 k
  Value* none = b_.CreateICmpEQ(own_ahead_, I64(0), "none.ahead");
  Value* step = b_.CreateSelect(none, I64(kAlmostNothing), I64(kPanelColumns * RhsBytes()), "own.step");
  Value* address = PanelElement(rhs, tile.panel, b_.CreateAdd(k, own_ahead_), "own.panels.ahead");
  return {address, PanelStrideBytes(rhs), step};
}

// This tile's share of the panels after these, or of these where the next part of K is next.
TileFetches::Ahead TileFetches::NextPanels(const MatmulTile& tile, const PackedRhs& rhs, Value* k, Value* depth) {
  Value* panel = b_.CreateAdd(tile.panel, tile.panels);
  Value* row = I64(0);
  if (depth_blocks_) {
    Value* rest = b_.CreateAdd(k, I64(schedule_.tile.depth));
    Value* more = b_.CreateICmpSLT(rest, AxisDimSize(c_.k), "more.depth");
    panel = b_.CreateSelect(more, tile.panel, panel);
    row = b_.CreateSelect(more, rest, row);
  }
  Value* step = b_.CreateLShr(I64(kPanelColumns * RhsBytes()), FloorLog2(tile.tiles), "step");
  Value* share = b_.CreateMul(b_.CreateMul(tile.number, depth), step, "share");
  Value* address = PanelElement(rhs, panel, row, "panels.ahead");
  return {b_.CreateGEP(b_.getInt8Ty(), address, share, "share.ahead"), PanelStrideBytes(rhs), step};
}

// Rows that follow one another in memory are one run of it, of which the parts of K ask for parts.
TileFetches::Ahead TileFetches::NextRows(const MatmulTile& tile, Value* k, Value* depth) {
  if (IsUnitStride(plan_, form_.row_coefficients)) return NextColumns(tile, k);
  constexpr int64_t kBytes = 32;  // for each k: eight rows of f32
  Value* step = b_.CreateLShr(I64(kBytes), FloorLog2(tile.panels), "step");
  Value* row = lhs_.AddressOf(b_.CreateAdd(tile.row, tile.rows), I64(0));
  Value* address = b_.CreateGEP(b_.getInt8Ty(), row, b_.CreateMul(k, I64(kBytes)), "rows.ahead");
  return {address, b_.CreateMul(depth, step), step};
}

// Rows that lie across memory: at each k the line that comes after this tile's.
TileFetches::Ahead TileFetches::NextColumns(const MatmulTile& tile, Value* k) {
  Value* here = lhs_.AddressOf(tile.row, k);
  Value* address = b_.CreateGEP(b_.getInt8Ty(), here, I64(kLineBytes), "columns.ahead");
  Value* step = b_.CreatePtrDiff(b_.getInt8Ty(), lhs_.AddressOf(tile.row, b_.CreateAdd(k, I64(1))), here, "step");
  return {address, I64(0), step};
}

void TileFetches::EmitForEpilogue(const MatmulTile& tile, const TaskRows& task, Value* last) {
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

// The epilogue comes after all tiles and runs along the task's rows: each tile asks for some of the columns.
void TileFetches::EmitColumns(const MatmulTile& tile, const TaskRows& task, Value* first_column) {
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

// Asks for the lines of `bytes` from where `access` is on.
void TileFetches::EmitRun(const Expr& access, Value* bytes) {
  const Buffer& buffer = plan_.buffers[access.ref];
  Value* offset = I64(0);  // row-major, in elements
  for (size_t d = 0; d < access.args.size(); ++d) {
    offset = b_.CreateMul(offset, frame_.DimSizeValue(b_, buffer.dims[d]));
    offset = b_.CreateAdd(offset, scalars_.Emit(access.args[d]), "offset");
  }
  llvm::Type* element = MemoryType(b_.getContext(), buffer.dtype, 1);
  Value* address = b_.CreateInBoundsGEP(element, frame_.buffers[access.ref], offset, "touched");
  EmitLoop(b_, I64(0), bytes, kLineBytes, "prefetch.line",
           [&](Value* byte) { EmitFetchLine(b_, b_.CreateGEP(b_.getInt8Ty(), address, byte, "line")); });
}

// Row `row` of a panel, which may lie beyond the operand.
Value* TileFetches::PanelElement(const PackedRhs& rhs, Value* panel, Value* row, const char* name) {
  Value* offset = b_.CreateAdd(b_.CreateMul(panel, rhs.stride), b_.CreateMul(row, I64(kPanelColumns)));
  return b_.CreateGEP(MemoryType(b_.getContext(), plan_.buffers[c_.rhs.ref].dtype, 1), rhs.address, offset, name);
}

Value* TileFetches::PanelStrideBytes(const PackedRhs& rhs) { return b_.CreateMul(rhs.stride, I64(RhsBytes())); }

Value* TileFetches::FloorLog2(Value* value) {
  Value* zeros = b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {b_.getInt64Ty()}, {value, b_.getTrue()});
  return b_.CreateSub(I64(63), zeros, "log2");
}

}  // namespace tailor::gemm
