#include "codegen/cpu/gemm/tile_epilogue.h"

#include <map>

#include "codegen/contract/panels.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/transpose_square.h"

namespace tailor::gemm {

using llvm::Value;

TileEpilogue::TileEpilogue(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                           const Schedule& schedule, const KernelFrame& frame, ScalarEmitter& scalars)
    : b_(b),
      plan_(plan),
      c_(contraction),
      scalars_(scalars),
      frame_(frame),
      sum_type_(RegisterType(b.getContext(), contraction.accumulate, 1)),
      columns_(frame.DimSizeValue(b, plan.axes[contraction.n].dim_size)),
      along_rows_(schedule.lane_axis == contraction.m),
      whole_panels_(HasWholePanels(plan, contraction)),
      panel_lanes_(PiecesOf(RangeOfDimSize(plan, plan.axes[contraction.n].dim_size), schedule.lanes) * schedule.lanes),
      register_lanes_(schedule.lanes),
      most_rows_(WholeLanes(schedule.tile.task_rows) + (schedule.tile.rows_in_lanes ? kPanelColumns : 0)) {
  if (!along_rows_) return;
  llvm::AllocaInst* memory = b_.CreateAlloca(sum_type_, I64(kPanelColumns * most_rows_), "transposed");
  memory->setAlignment(llvm::Align(64));
  transposed_ = memory;
}

void TileEpilogue::Emit(const TileSums& tile) { along_rows_ ? EmitAlongRows(tile) : EmitAlongColumns(tile); }

std::vector<TileEpilogue::MergedIndices> TileEpilogue::EmitMergedIndices(Value* m) {
  std::map<ExprId, std::pair<ExprId, ExprId>> found;  // by divisor: quotient and remainder
  for (size_t id = 0; id < plan_.exprs.size(); ++id) {
    const Expr& e = plan_.exprs[id];
    if (e.kind != ExprKind::kIndexFloorDiv && e.kind != ExprKind::kIndexMod) continue;
    const Expr &dividend = plan_.exprs[e.args[0]], &divisor = plan_.exprs[e.args[1]];
    if (dividend.kind != ExprKind::kAxis || dividend.ref != c_.m || divisor.kind != ExprKind::kDimSize) continue;
    auto& [quotient, remainder] = found.try_emplace(e.args[1], -1, -1).first->second;
    (e.kind == ExprKind::kIndexMod ? remainder : quotient) = static_cast<ExprId>(id);
  }
  std::vector<MergedIndices> all;
  for (const auto& [divisor, ids] : found) {
    Value* size = frame_.DimSizeValue(b_, plan_.exprs[divisor].dim_size);
    size = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, size, I64(1), nullptr, "divisor");
    all.push_back({ids.first, ids.second, Digits(b_, m, {I64(INT64_MAX), size})});
  }
  return all;
}

void TileEpilogue::EmitAlongColumns(const TileSums& tile) {
  Value* width = b_.CreateMul(tile.panels, I64(kPanelColumns), "width");
  std::vector<MergedIndices> merged = EmitMergedIndices(tile.row);
  EmitLoop(b_, I64(0), tile.rows, 1, "epilogue.row", [&](Value* row) {
    Value* m = b_.CreateAdd(tile.row, row, "m");
    Value* row_sums = Sum(tile.address, b_.CreateMul(row, width));
    for (MergedIndices& indices : merged) {
      const std::vector<Value*> values = indices.values.Emit();
      if (indices.quotient >= 0) scalars_.SetIndex(indices.quotient, values[0]);
      if (indices.remainder >= 0) scalars_.SetIndex(indices.remainder, values[1]);
    }
    EmitLoop(b_, I64(0), tile.panels, 1, "epilogue.panel", [&](Value* panel) {
      Value* n = b_.CreateMul(b_.CreateAdd(tile.panel, panel), I64(kPanelColumns), "n");
      scalars_.SetAxis(c_.m, m);
      Value* sums = Sum(row_sums, b_.CreateMul(panel, I64(kPanelColumns)));
      EmitPart({c_.n, panel_lanes_, n, sums}, columns_, whole_panels_);
    });
    for (MergedIndices& indices : merged) {
      indices.values.EmitAdvance();
      for (ExprId id : {indices.quotient, indices.remainder}) scalars_.SetIndex(id, nullptr);
    }
  });
}

// Transposes the sums one panel at a time, then walks each column along its rows.
void TileEpilogue::EmitAlongRows(const TileSums& tile) {
  EmitLoop(b_, I64(0), tile.panels, 1, "epilogue.panel", [&](Value* panel) {
    EmitTransposed(tile, panel);
    EmitPanelAlongRows(b_.CreateAdd(tile.panel, panel), tile.row, tile.rows);
  });
}

void TileEpilogue::EmitColumns(int panel, Value* row, Value* rows) { EmitPanelAlongRows(I64(panel), row, rows); }

void TileEpilogue::EmitPanelAlongRows(Value* panel, Value* first, Value* rows) {
  Value* end = b_.CreateAdd(first, rows, "rows.end");
  Value* n = b_.CreateMul(panel, I64(kPanelColumns), "n");
  Value* left = b_.CreateSub(columns_, n, "columns.left");
  Value* columns = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, I64(kPanelColumns), nullptr, "columns");
  EmitLoop(b_, I64(0), columns, 1, "epilogue.column", [&](Value* column) {
    Value* column_sums = Sum(transposed_, b_.CreateMul(column, I64(most_rows_)));
    EmitLoop(b_, I64(0), rows, kPanelColumns, "epilogue.row", [&](Value* row) {
      scalars_.SetAxis(c_.n, b_.CreateAdd(n, column, "n"));
      Value* m = b_.CreateAdd(first, row, "m");
      EmitPart({c_.m, kPanelColumns, m, Sum(column_sums, row)}, end, /*whole=*/false);
    });
  });
}

// transposed_[column][row] = sums of `panel`: all 16 columns, rows rounded up to 16.
void TileEpilogue::EmitTransposed(const TileSums& tile, Value* panel) {
  const llvm::Align align(register_lanes_ * SizeOf(c_.accumulate));
  Value* width = b_.CreateMul(tile.panels, I64(kPanelColumns), "width");
  Value* panel_sums = Sum(tile.address, b_.CreateMul(panel, I64(kPanelColumns)));
  EmitLoop(b_, I64(0), tile.rows, register_lanes_, "transpose.row", [&](Value* row) {
    EmitLoop(b_, I64(0), I64(kPanelColumns), register_lanes_, "transpose.column", [&](Value* column) {
      Value* from = Sum(panel_sums, b_.CreateAdd(b_.CreateMul(row, width), column));
      Value* to = Sum(transposed_, b_.CreateAdd(b_.CreateMul(column, I64(most_rows_)), row));
      EmitTranspose(b_, register_lanes_, {sum_type_, from, width, align}, {sum_type_, to, I64(most_rows_), align});
    });
  });
}

// Only the elements before `end`. `whole`: all are.
void TileEpilogue::EmitPart(const Part& part, Value* end, bool whole) {
  if (whole) return EmitLanes(part, nullptr);
  Value* left = b_.CreateSub(end, part.first, "left");
  Value* all = b_.CreateICmpUGE(left, I64(part.lanes), "whole");
  EmitIf(b_, all, "epilogue.whole", [&] { EmitLanes(part, nullptr); });
  EmitIf(b_, b_.CreateNot(all), "epilogue.part", [&] { EmitLanes(part, LanesBelow(left, part.lanes)); });
}

void TileEpilogue::EmitLanes(const Part& part, Value* mask) {
  llvm::Type* lanes = RegisterType(b_.getContext(), c_.accumulate, part.lanes);
  const llvm::Align align(register_lanes_ * SizeOf(c_.accumulate));
  Value* sums = b_.CreateAlignedLoad(lanes, part.sums, align, "sums");
  scalars_.SetLanes(part.lane_axis, part.first, part.lanes, mask);
  scalars_.SetLocal(c_.sums, Rounded(sums));
  for (size_t stage = c_.stage + 1; stage < plan_.stages.size(); ++stage) {
    for (const Statement& statement : plan_.stages[stage].statements) {
      scalars_.Store(statement.buffer, statement.indices, scalars_.EmitLanes(statement.value));
    }
  }
  scalars_.SetLanes(part.lane_axis, I64(0), 1, nullptr);
}

Value* TileEpilogue::LanesBelow(Value* count, int lanes) {
  llvm::SmallVector<llvm::Constant*, kPanelColumns> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(b_.getInt16(i));
  Value* limit = b_.CreateVectorSplat(lanes, b_.CreateTrunc(count, b_.getInt16Ty()));
  return b_.CreateICmpULT(llvm::ConstantVector::get(numbers), limit, "mask");
}

// The sums rounded to the dtype of the plan's buffer (f16, bf16).
Value* TileEpilogue::Rounded(Value* sums) {
  const DType dtype = plan_.buffers[c_.sums].dtype;
  if (dtype == c_.accumulate) return sums;
  return FromMemory(b_, dtype, ToMemory(b_, dtype, sums));
}

}  // namespace tailor::gemm
