// Kernel plans that tests of both back ends emit: slot i of a plan holds symbol i.
#ifndef TAILOR_TESTS_CODEGEN_PLAN_LOOP_PLANS_H_
#define TAILOR_TESTS_CODEGEN_PLAN_LOOP_PLANS_H_

#include <bit>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

class PlanBuilder {
 public:
  KernelPlan plan;

  Extent Slot(SymbolId symbol, int64_t max = INT64_MAX) {
    return plan.AddDim({.value = DimExpr::Symbol(symbol), .max = max});
  }
  ExprId Axis(int axis) { return plan.Add({.kind = ExprKind::kAxis, .ref = axis}); }
  ExprId Load(int buffer, std::vector<ExprId> at) {
    return plan.Add({.kind = ExprKind::kLoad, .dtype = plan.buffers[buffer].dtype, .ref = buffer, .args = at});
  }
  ExprId Op(OpKind op, std::vector<ExprId> args) {
    return plan.Add({.kind = ExprKind::kOp, .dtype = plan.exprs[args.back()].dtype, .op = op, .args = args});
  }
  ExprId Cast(ExprId value, DType dtype) {
    return plan.Add({.kind = ExprKind::kOp, .dtype = dtype, .op = OpKind::kCast, .args = {value}});
  }
  ExprId F32(float value) {
    return plan.Add({.kind = ExprKind::kLiteral, .dtype = DType::kF32, .bits = std::bit_cast<uint32_t>(value)});
  }
};

// b2[i, j] = tanh(b0[i, j] + b1[j]) over [d0, d1].
inline KernelPlan BiasTanhPlan() {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent rows = w.Slot(0), columns = w.Slot(1);
  plan.axes = {{rows, AxisRole::kParallel}, {columns, AxisRole::kParallel}};
  plan.buffers = {{BufferKind::kInput, DType::kF32, {rows, columns}},
                  {BufferKind::kInput, DType::kF32, {columns}},
                  {BufferKind::kOutput, DType::kF32, {rows, columns}}};
  const ExprId i = w.Axis(0), j = w.Axis(1);
  const ExprId sum = w.Op(OpKind::kAdd, {w.Load(0, {i, j}), w.Load(1, {j})});
  plan.stages = {{{}, {{.buffer = 2, .indices = {i, j}, .value = w.Op(OpKind::kTanh, {sum})}}}};
  return plan;
}

// Softmax over the last of [d0, d1], the exponentials kept in a row buffer.
inline KernelPlan RowSoftmaxPlan(int64_t max_columns = INT64_MAX) {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent rows = w.Slot(0), columns = w.Slot(1, max_columns);
  plan.axes = {{rows, AxisRole::kParallel}, {columns, AxisRole::kTile}};
  plan.buffers = {{BufferKind::kInput, DType::kF32, {rows, columns}},
                  {BufferKind::kOutput, DType::kF32, {rows, columns}},
                  {BufferKind::kRow, DType::kF32, {columns}},
                  {BufferKind::kLocal, DType::kF32, {}},
                  {BufferKind::kLocal, DType::kF32, {}}};
  const ExprId i = w.Axis(0), j = w.Axis(1), x = w.Load(0, {i, j});
  const ExprId e = w.Op(OpKind::kExp, {w.Op(OpKind::kSub, {x, w.Load(3, {})})});
  const ExprId y = w.Op(OpKind::kDiv, {w.Load(2, {j}), w.Load(4, {})});
  plan.stages = {
      {{1}, {{.buffer = 3, .value = x, .reduce_axes = {1}, .combiner = OpKind::kMax, .accumulate = DType::kF32}}},
      {{1},
       {{.buffer = 2, .indices = {j}, .value = e},
        {.buffer = 4, .value = e, .reduce_axes = {1}, .combiner = OpKind::kAdd, .accumulate = DType::kF32}}},
      {{1}, {{.buffer = 1, .indices = {i, j}, .value = y}}}};
  return plan;
}

// b1[i] = the greatest or the least of the last of [d0, d1].
inline KernelPlan RowExtremePlan(OpKind combiner) {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent rows = w.Slot(0), columns = w.Slot(1);
  plan.axes = {{rows, AxisRole::kParallel}, {columns, AxisRole::kTile}};
  plan.buffers = {{BufferKind::kInput, DType::kF32, {rows, columns}},
                  {BufferKind::kOutput, DType::kF32, {rows}},
                  {BufferKind::kLocal, DType::kF32, {}}};
  const ExprId x = w.Load(0, {w.Axis(0), w.Axis(1)});
  plan.stages = {
      {{1}, {{.buffer = 2, .value = x, .reduce_axes = {1}, .combiner = combiner, .accumulate = DType::kF32}}},
      {{}, {{.buffer = 1, .indices = {w.Axis(0)}, .value = w.Load(2, {})}}}};
  return plan;
}

// b1[i, j] = b0[i, d1 - 1 - j] by way of a row buffer, so that threads read what others wrote.
inline KernelPlan RowReversePlan() {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent rows = w.Slot(0), columns = w.Slot(1);
  plan.axes = {{rows, AxisRole::kParallel}, {columns, AxisRole::kTile}};
  plan.buffers = {{BufferKind::kInput, DType::kF32, {rows, columns}},
                  {BufferKind::kOutput, DType::kF32, {rows, columns}},
                  {BufferKind::kRow, DType::kF32, {columns}}};
  const ExprId i = w.Axis(0), j = w.Axis(1);
  const ExprId next = plan.Add(
      {.kind = ExprKind::kIndexAdd, .args = {j, plan.Add({.kind = ExprKind::kExtent, .extent = {.constant = 1}})}});
  const ExprId end = plan.Add({.kind = ExprKind::kExtent, .extent = columns});
  const ExprId mirrored = plan.Add({.kind = ExprKind::kIndexSub, .args = {end, next}});
  plan.stages = {{{1}, {{.buffer = 2, .indices = {j}, .value = w.Load(0, {i, j})}}},
                 {{1}, {{.buffer = 1, .indices = {i, j}, .value = w.Load(2, {mirrored})}}}};
  return plan;
}

// b1[i] = least and b2[i] = sum over the last of bf16 [d0, d1], both in one stage; the sum in f32.
inline KernelPlan RowMinAndSumPlan() {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent rows = w.Slot(0), columns = w.Slot(1);
  plan.axes = {{rows, AxisRole::kParallel}, {columns, AxisRole::kTile}};
  plan.buffers = {{BufferKind::kInput, DType::kBF16, {rows, columns}},
                  {BufferKind::kOutput, DType::kBF16, {rows}},
                  {BufferKind::kOutput, DType::kBF16, {rows}},
                  {BufferKind::kLocal, DType::kBF16, {}},
                  {BufferKind::kLocal, DType::kBF16, {}}};
  const ExprId i = w.Axis(0), x = w.Load(0, {i, w.Axis(1)});
  plan.stages = {
      {{1},
       {{.buffer = 3, .value = x, .reduce_axes = {1}, .combiner = OpKind::kMin, .accumulate = DType::kF32},
        {.buffer = 4, .value = x, .reduce_axes = {1}, .combiner = OpKind::kAdd, .accumulate = DType::kF32}}},
      {{},
       {{.buffer = 1, .indices = {i}, .value = w.Load(3, {})}, {.buffer = 2, .indices = {i}, .value = w.Load(4, {})}}}};
  return plan;
}

// b1[i, j] = sum, in f32, of bf16 b0[i, j'] over j' <= j, or with `exclusive` over j' < j, of [d0, d1]. With `mirrored`
// j counts from the end of memory.
inline KernelPlan RowScanPlan(bool exclusive, bool mirrored) {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent rows = w.Slot(0), columns = w.Slot(1);
  plan.axes = {{rows, AxisRole::kParallel}, {columns, AxisRole::kOrdered}};
  plan.buffers = {{BufferKind::kInput, DType::kBF16, {rows, columns}},
                  {BufferKind::kOutput, DType::kF32, {rows, columns}},
                  {BufferKind::kLocal, DType::kF32, {}}};
  const ExprId i = w.Axis(0);
  ExprId j = w.Axis(1);
  if (mirrored) {
    const ExprId next = plan.Add(
        {.kind = ExprKind::kIndexAdd, .args = {j, plan.Add({.kind = ExprKind::kExtent, .extent = {.constant = 1}})}});
    const ExprId end = plan.Add({.kind = ExprKind::kExtent, .extent = columns});
    j = plan.Add({.kind = ExprKind::kIndexSub, .args = {end, next}});
  }
  plan.stages = {{{1},
                  {{.buffer = 2,
                    .value = w.Load(0, {i, j}),
                    .reduce_axes = {1},
                    .combiner = OpKind::kAdd,
                    .accumulate = DType::kF32,
                    .exclusive = exclusive},
                   {.buffer = 1, .indices = {i, j}, .value = w.Load(2, {})}}}};
  return plan;
}

// b1[i, j] = the largest of b0[i', j] over i' <= i, of [d1, d0].
inline KernelPlan ColumnScanPlan() {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent columns = w.Slot(0), rows = w.Slot(1);
  plan.axes = {{columns, AxisRole::kParallel}, {rows, AxisRole::kOrdered}};
  plan.buffers = {{BufferKind::kInput, DType::kF32, {rows, columns}},
                  {BufferKind::kOutput, DType::kF32, {rows, columns}},
                  {BufferKind::kLocal, DType::kF32, {}}};
  const ExprId j = w.Axis(0), i = w.Axis(1);
  plan.stages = {{{1},
                  {{.buffer = 2,
                    .value = w.Load(0, {i, j}),
                    .reduce_axes = {1},
                    .combiner = OpKind::kMax,
                    .accumulate = DType::kF32},
                   {.buffer = 1, .indices = {i, j}, .value = w.Load(2, {})}}}};
  return plan;
}

// b1[j] = sum of i64 b0[i, j] over the first of [d1, d0].
inline KernelPlan ColumnTotalPlan() {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent columns = w.Slot(0), rows = w.Slot(1);
  plan.axes = {{columns, AxisRole::kParallel}, {rows, AxisRole::kTile}};
  plan.buffers = {{BufferKind::kInput, DType::kI64, {rows, columns}},
                  {BufferKind::kOutput, DType::kI64, {columns}},
                  {BufferKind::kLocal, DType::kI64, {}}};
  const ExprId x = w.Load(0, {w.Axis(1), w.Axis(0)});
  plan.stages = {
      {{1}, {{.buffer = 2, .value = x, .reduce_axes = {1}, .combiner = OpKind::kAdd, .accumulate = DType::kI64}}},
      {{}, {{.buffer = 1, .indices = {w.Axis(0)}, .value = w.Load(2, {})}}}};
  return plan;
}

// b2[i, j] = b0[gather(b1[i]), j] over [d0, d1], b0 having d2 rows.
inline KernelPlan GatherRowsPlan() {
  PlanBuilder w;
  KernelPlan& plan = w.plan;
  const Extent rows = w.Slot(0), columns = w.Slot(1), entries = w.Slot(2);
  plan.axes = {{rows, AxisRole::kParallel}, {columns, AxisRole::kParallel}};
  plan.buffers = {{BufferKind::kInput, DType::kF32, {entries, columns}},
                  {BufferKind::kInput, DType::kI32, {rows}},
                  {BufferKind::kOutput, DType::kF32, {rows, columns}}};
  const ExprId i = w.Axis(0), j = w.Axis(1);
  const ExprId at = plan.Add({.kind = ExprKind::kGatherIndex, .ref = 0, .extent = entries, .args = {w.Load(1, {i})}});
  plan.fault_count = 1;
  plan.stages = {{{}, {{.buffer = 2, .indices = {i, j}, .value = w.Load(0, {at, j})}}}};
  return plan;
}

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_PLAN_LOOP_PLANS_H_
