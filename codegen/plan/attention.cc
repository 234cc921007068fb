#include "codegen/plan/attention.h"

#include <algorithm>
#include <cassert>

namespace tailor {

bool IsAttention(const KernelPlan& plan) {
  return std::count_if(plan.axes.begin(), plan.axes.end(),
                       [](const Axis& axis) { return axis.role == AxisRole::kContract; }) == 2;
}

Attention ReadAttention(const KernelPlan& plan) {
  assert(IsAttention(plan) && plan.stages.size() >= 5);
  const int axes = static_cast<int>(plan.axes.size());
  Attention a{.m = axes - 4, .v = axes - 3, .n = axes - 2, .d = axes - 1};
  for (int axis = 0; axis < a.m; ++axis) a.batch.push_back(axis);
  const auto factors = [&](const Statement& sum) { return plan.exprs[sum.value].args; };
  const Statement& scores = plan.stages[0].statements[0];
  const Statement& top = plan.stages[1].statements[0];
  const std::vector<Statement>& sums = plan.stages[2].statements;
  const Statement& result = plan.stages[3].statements[0];
  a.scores = scores.buffer;
  a.query = factors(scores)[0];
  a.key = factors(scores)[1];
  a.operand = plan.exprs[a.key].dtype;
  a.top = top.buffer;
  a.score = top.value;
  a.e = sums[0].buffer;
  a.total = sums[1].buffer;
  a.weight = factors(sums[2])[0];
  if (plan.exprs[a.weight].kind == ExprKind::kOp && plan.exprs[a.weight].op == OpKind::kCast) {
    a.weight = plan.exprs[a.weight].args[0];
  }
  a.value = factors(sums[2])[1];
  a.result = result.buffer;
  a.scale = factors(result)[1];
  a.epilogue = 4;
  return a;
}

}  // namespace tailor
