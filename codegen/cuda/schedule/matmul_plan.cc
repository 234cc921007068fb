#include "codegen/cuda/schedule/matmul_plan.h"

#include <algorithm>

namespace tailor::cuda {
namespace {

bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// The dtype that the epilogue rounds sums to before anything else, or that of the sums.
DType RoundedTo(const KernelPlan& plan, const Contraction& c) {
  const DType sums = plan.buffers[c.sums].dtype;
  const auto is_sum = [&](ExprId id) { return plan.exprs[id].kind == ExprKind::kLoad && plan.exprs[id].ref == c.sums; };
  DType rounded = DType::kInvalid;
  for (const Expr& e : plan.exprs) {
    if (std::none_of(e.args.begin(), e.args.end(), is_sum)) continue;
    const bool rounds = e.kind == ExprKind::kOp && e.op == OpKind::kCast && IsNarrow(e.dtype);
    if (!rounds || (rounded != DType::kInvalid && rounded != e.dtype)) return sums;
    rounded = e.dtype;
  }
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      if (is_sum(s.value)) return sums;
    }
  }
  return rounded == DType::kInvalid ? sums : rounded;
}

}  // namespace

MatmulTypes TypesOf(const KernelPlan& plan, const Contraction& contraction) {
  KernelPlan accesses = plan;  // coefficient queries append expressions
  return {.operand = plan.buffers[contraction.rhs.ref].dtype,
          .accumulate = contraction.accumulate,
          .rounded = RoundedTo(plan, contraction),
          .stores_along_rows = StoresAlongRows(accesses, contraction)};
}

KernelPlan PlanOfEpilogue(const KernelPlan& plan, const Contraction& contraction) {
  KernelPlan epilogue = plan;
  epilogue.stages.erase(epilogue.stages.begin(), epilogue.stages.begin() + contraction.stage + 1);
  return epilogue;
}

bool RowsLieSideBySide(KernelPlan plan, const Contraction& contraction) {
  return MapOf(plan, contraction.lhs, contraction.m).IsUnitInLastDim();
}

}  // namespace tailor::cuda
