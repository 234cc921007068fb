#include "codegen/plan/plan_copier.h"

namespace tailor {

ExprId PlanCopier::Copy(ExprId id) {
  if (copies_[id] >= 0) return copies_[id];
  Expr e = from_.exprs[id];
  if (e.kind == ExprKind::kAxis) return copies_[id] = axis_(e.ref);
  for (ExprId& arg : e.args) arg = Copy(arg);
  if (e.predicate >= 0) e.predicate = Copy(e.predicate);
  e.dim_size = Copy(e.dim_size);
  if (e.kind == ExprKind::kGatherIndex) e.ref += first_fault_;
  if (e.kind == ExprKind::kLoad) {
    if (const auto stored = forwarded_.find(e.ref); stored != forwarded_.end()) {
      forwarding_failed_ |= stored->second.indices != e.args || e.predicate >= 0;
      return copies_[id] = stored->second.value;
    }
    e.ref = buffers_[e.ref];
  }
  return copies_[id] = to_.Add(std::move(e));
}

std::vector<ExprId> PlanCopier::Copy(const std::vector<ExprId>& ids) {
  std::vector<ExprId> copies;
  for (ExprId id : ids) copies.push_back(Copy(id));
  return copies;
}

Buffer PlanCopier::Copy(const Buffer& buffer) {
  Buffer result = buffer;
  for (DimSize& dim_size : result.dims) dim_size = Copy(dim_size);
  return result;
}

Statement PlanCopier::Copy(const Statement& statement) {
  Statement result = statement;
  result.buffer = buffers_[statement.buffer];
  result.indices = Copy(statement.indices);
  result.value = Copy(statement.value);
  return result;
}

}  // namespace tailor
