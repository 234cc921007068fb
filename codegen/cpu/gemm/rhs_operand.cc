#include "codegen/cpu/gemm/rhs_operand.h"

#include <algorithm>

#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/memory_hints.h"
#include "codegen/ir/transpose_square.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::gemm {

using llvm::Value;

bool ReadsRhsRows(const KernelPlan& plan, const Contraction& c) {
  return plan.buffers[c.rhs.ref].layout == ConstantLayout::kRowMajor;
}

SlotExpr ScratchBytes(const KernelPlan& plan, const Contraction& c, const Schedule& schedule) {
  if (!c.in_place) return LhsScratchBytes(plan, c, schedule.tile);
  const auto range_of = [&](int axis) { return RangeOfDimSize(plan, plan.axes[axis].dim_size); };
  const DimSizeRange n = range_of(c.n);
  int panels = 0;  // of the widest tile
  for (const auto& tile : ReachableTiles(range_of(c.m), n, schedule.tile, PiecesOf(n, schedule.lanes))) {
    panels = std::max(panels, tile.second);
  }
  const SlotExpr depth = SlotExpr::Min(OverSlots(plan.axes[c.k].dim_size), schedule.tile.depth);
  // Whole squares are stored: the last one of a panel may exceed K.
  const SlotExpr rows = depth * panels + schedule.lanes;
  return rows * kPanelColumns * SizeOf(plan.buffers[c.rhs.ref].dtype);
}

RhsOperand::RhsOperand(llvm::IRBuilderBase& b, KernelPlan& plan, const Contraction& contraction,
                       const Schedule& schedule, const KernelFrame& frame, ScalarEmitter& scalars)
    : b_(b),
      plan_(plan),
      c_(contraction),
      frame_(frame),
      scalars_(scalars),
      buffer_(plan.buffers[contraction.rhs.ref]),
      lanes_(schedule.lanes),
      whole_panels_(HasWholePanels(plan, contraction)),
      element_(MemoryType(b.getContext(), buffer_.dtype, 1)),
      n_(frame.DimSizeValue(b, plan.axes[contraction.n].dim_size)) {
  const bool rows = ReadsRhsRows(plan, c_);
  if (rows || c_.in_place) {
    const Expr& load = rows ? c_.rhs : c_.in_place->load;
    tensor_.emplace(Tensor{.load = load, .columns = MapOf(plan, load, c_.n), .depth = MapOf(plan, load, c_.k)});
  }
  if (c_.in_place) in_place_ = scalars.Emit(c_.in_place->condition);
  if (rows) {
    rhs_.panel_stride = I64(kPanelColumns);
    return;
  }
  rhs_.panel_stride = b_.CreateMul(EmitPanelRows(), I64(kPanelColumns), "panel.stride");
  rhs_.depth_stride = I64(kPanelColumns);
  batch_stride_ = b_.CreateMul(rhs_.panel_stride, EmitCeilDiv(b_, n_, I64(kPanelColumns), "panels"), "batch.stride");
}

// Rows of a panel: K, rounded up to whole words.
Value* RhsOperand::EmitPanelRows() {
  Value* depth = frame_.DimSizeValue(b_, plan_.axes[c_.k].dim_size);
  const int steps = StepsPerWord(buffer_.layout, buffer_.dtype);
  return steps == 1 ? depth : b_.CreateAnd(b_.CreateAdd(depth, I64(steps - 1)), -int64_t{steps}, "panel.rows");
}

void RhsOperand::EmitBatch() {
  if (ReadsRhsRows(plan_, c_)) {
    EmitBatchOfTensor();
    rhs_.address = tensor_->address;
    rhs_.depth_stride = tensor_->depth_stride;
  } else {
    EmitBatchOfPanels();
  }
}

void RhsOperand::EmitBatchOfPanels() {
  Value* offset = I64(0);
  for (size_t d = 0; d + 2 < c_.rhs.args.size(); ++d) {
    offset = b_.CreateMul(offset, frame_.DimSizeValue(b_, buffer_.dims[d]));
    offset = b_.CreateAdd(offset, scalars_.Emit(c_.rhs.args[d]), "rhs.batch");
  }
  rhs_.address = Element(frame_.buffers[c_.rhs.ref], b_.CreateMul(offset, batch_stride_), "rhs");
}

void RhsOperand::EmitBatchOfTensor() {
  scalars_.SetAxis(c_.n, I64(0));
  scalars_.SetAxis(c_.k, I64(0));
  const Expr& load = tensor_->load;
  tensor_->address = scalars_.AddressOf(load.ref, load.args);
  tensor_->column_stride = scalars_.EmitStride(tensor_->columns, load.ref, "column.stride");
  tensor_->depth_stride = scalars_.EmitStride(tensor_->depth, load.ref, "depth.stride");
}

RhsPanels RhsOperand::Emit(Value* panel, Value* panels, Value* k, Value* depth) {
  if (in_place_ == nullptr) return rhs_;
  EmitIf(b_, in_place_, "panels", [&] {
    EmitBatchOfTensor();
    EmitLoop(b_, I64(0), panels, 1, "panel", [&](Value* i) {
      Value* column = b_.CreateMul(b_.CreateAdd(panel, i), I64(kPanelColumns), "column");
      Value* to = Element(frame_.scratch, b_.CreateMul(b_.CreateMul(i, depth), I64(kPanelColumns)));
      EmitPanel(column, to, k, depth);
    });
  });
  scalars_.Forget();  // values of the branch
  // Where panel 0 would begin if all panels and all of K lay as these do.
  Value* stride = b_.CreateMul(depth, I64(kPanelColumns));
  Value* before = b_.CreateAdd(b_.CreateMul(panel, stride), b_.CreateMul(k, I64(kPanelColumns)), "before");
  Value* address = Element(frame_.scratch, b_.CreateNeg(before), "made");
  return {.address = b_.CreateSelect(in_place_, address, rhs_.address, "rhs.panels"),
          .panel_stride = b_.CreateSelect(in_place_, stride, rhs_.panel_stride, "rhs.stride"),
          .depth_stride = I64(kPanelColumns)};
}

Value* RhsOperand::At(const RhsPanels& rhs, Value* panel, Value* k, const char* name) {
  return Element(rhs.address, b_.CreateAdd(b_.CreateMul(panel, rhs.panel_stride), b_.CreateMul(k, rhs.depth_stride)),
                 name);
}

// The panel of columns [column, column + 16), by registers.
void RhsOperand::EmitPanel(Value* column, Value* to, Value* k, Value* depth) {
  for (int first = 0; first < kPanelColumns; first += lanes_) {
    Value* at = b_.CreateAdd(column, I64(first), "first.column");
    Value* address = Element(to, I64(first));
    tensor_->depth.IsUnitInLastDim() ? EmitSquares(at, address, k, depth) : EmitRows(at, address, k, depth);
  }
}

// K runs along memory: squares are transposed. Columns beyond the last one repeat it; no result uses them.
void RhsOperand::EmitSquares(Value* column, Value* to, Value* k, Value* depth) {
  std::vector<Value*> rows;
  for (int i = 0; i < lanes_; ++i) {
    Value* number = b_.CreateAdd(column, I64(i), "n");
    if (!whole_panels_) {
      number = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number, b_.CreateSub(n_, I64(1)), nullptr, "n");
    }
    rows.push_back(Element(tensor_->address, b_.CreateAdd(b_.CreateMul(number, tensor_->column_stride), k)));
  }
  const auto square = [&](Value* step, Value* mask) {
    std::vector<Value*> values;
    for (Value* row : rows) values.push_back(EmitLoad(Element(row, step), mask));
    TransposeSquare(b_, values);
    for (int i = 0; i < lanes_; ++i) {
      EmitStore(values[i], Element(to, b_.CreateMul(b_.CreateAdd(step, I64(i)), I64(kPanelColumns))));
    }
  };
  Value* ahead = b_.CreateMul(tensor_->column_stride, I64(kPanelColumns), "next.panel");
  Value* whole = b_.CreateAnd(depth, I64(-lanes_), "whole.depth");
  EmitLoop(b_, I64(0), whole, lanes_, "square", [&](Value* step) {
    // Hardware prefetchers lose track of so many rows.
    for (Value* row : rows) EmitPrefetchLine(b_, Element(row, b_.CreateAdd(ahead, step)));
    square(step, nullptr);
  });
  EmitIf(b_, b_.CreateICmpSLT(whole, depth), "rest",
         [&] { square(whole, EmitFirstLanes(b_, lanes_, b_.CreateSub(depth, whole))); });
}

// Columns run along memory: rows are copied.
void RhsOperand::EmitRows(Value* column, Value* to, Value* k, Value* depth) {
  Value* mask = nullptr;
  if (!whole_panels_) {
    Value* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(n_, column), I64(0));
    mask = EmitFirstLanes(b_, lanes_, left);
  }
  EmitLoop(b_, I64(0), depth, 1, "row", [&](Value* step) {
    Value* row = b_.CreateMul(b_.CreateAdd(k, step), tensor_->depth_stride, "row");
    Value* from = Element(tensor_->address, b_.CreateAdd(row, column));
    EmitStore(EmitLoad(from, mask), Element(to, b_.CreateMul(step, I64(kPanelColumns))));
  });
}

// A register of the tensor; `mask`: the lanes that exist, null: all.
Value* RhsOperand::EmitLoad(Value* address, Value* mask) {
  llvm::Type* vector = MemoryType(b_.getContext(), buffer_.dtype, lanes_);
  const llvm::Align align(SizeOf(buffer_.dtype));
  if (mask == nullptr) return b_.CreateAlignedLoad(vector, address, align, "in.place");
  return b_.CreateMaskedLoad(vector, address, align, mask, llvm::Constant::getNullValue(vector), "in.place");
}

void RhsOperand::EmitStore(Value* vector, Value* address) {
  b_.CreateAlignedStore(vector, address, llvm::Align(lanes_ * SizeOf(buffer_.dtype)));
}

}  // namespace tailor::gemm
