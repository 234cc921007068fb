// The operands of a matmul whose axes and stages ContractionForm states:
//   sums[batch..., m, n] = sum over k of lhs[f(batch, m, k)] * rhs[g(batch), k, n],
// each index of f a part that depends on m plus one that depends on k. The left operand may be a box, whose elements
// the stage before computes over axes of its own, which follow k.
#ifndef TAILOR_CODEGEN_PLAN_CONTRACTION_H_
#define TAILOR_CODEGEN_PLAN_CONTRACTION_H_

#include <cstdint>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

struct Contraction {
  std::vector<int> batch;  // axes, outer first
  int m = -1, n = -1, k = -1;
  int fill = -1;                       // the stage that fills the box which lhs reads; -1: it is in memory
  size_t stage = 0;                    // that sums; those after it are the epilogue
  Expr lhs, rhs;                       // loads; rhs reads a buffer in panels
  int sums = -1;                       // the kLocal buffer that takes them
  DType accumulate = DType::kInvalid;  // f32 or f64
};

// Of a verified plan whose form is ContractionForm.
Contraction ContractionOf(const KernelPlan& plan);

// One index of a load as a linear function: d(offset)/d(axis) is the sum over dims of coefficients[d] times the
// dim's row-major stride. Empty if some index is not affine in `axis`. Adds expressions to `plan`.
std::vector<ExprId> LoadCoefficients(KernelPlan& plan, const Expr& load, int axis);
// Whether those coefficients say that neighbours along the axis lie side by side.
bool IsUnitStride(const KernelPlan& plan, const std::vector<ExprId>& coefficients);

// The memory that the later stages touch in runs along axis `along` (m or n), one for each value of the other: their
// loads, and their stores in the form of loads. Only accesses whose indices are plain arithmetic.
std::vector<Expr> EpilogueRuns(KernelPlan& plan, const Contraction& contraction, int along);

// Whether each element that the later stages store lies beside that of the next row, and not of the next column.
bool StoresAlongRows(KernelPlan& plan, const Contraction& contraction);

// What an axis' dim size may be.
struct DimSizeRange {
  int64_t max;
  int64_t divisor;  // it is a multiple of this
  bool fixed;       // it is `max`
};
DimSizeRange RangeOfDimSize(const KernelPlan& plan, const DimSize& dim_size);
// Whether the result's columns fill their panels.
bool HasWholePanels(const KernelPlan& plan, const Contraction& contraction);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_CONTRACTION_H_
