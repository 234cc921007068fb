#include "codegen/plan/attention.h"

namespace tailor {

Attention AttentionOf(const KernelPlan& plan) {
  const auto& form = std::get<AttentionForm>(plan.form);
  Attention a{.m = form.m, .v = form.v, .n = form.n, .d = form.d};
  for (int axis = 0; axis < a.m; ++axis) a.batch.push_back(axis);
  const auto factors = [&](const Statement& sum) { return plan.exprs[sum.value].args; };
  const Statement& scores = plan.stages[0].statements[0];
  const Statement& row_max = plan.stages[1].statements[0];
  const std::vector<Statement>& sums = plan.stages[2].statements;
  const Statement& result = plan.stages[3].statements[0];
  a.scores = scores.buffer;
  a.query = factors(scores)[0];
  a.key = factors(scores)[1];
  a.operand = plan.exprs[a.key].dtype;
  a.row_max = row_max.buffer;
  a.score = row_max.value;
  a.e = sums[0].buffer;
  a.row_sum = sums[1].buffer;
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
