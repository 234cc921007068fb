// Copies parts of one KernelPlan into another with different axes, buffers and slots.
#ifndef TAILOR_CODEGEN_PLAN_PLAN_COPIER_H_
#define TAILOR_CODEGEN_PLAN_PLAN_COPIER_H_

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

// Borrows both plans. Adds slots to `to` on demand. Copies each expression once.
class PlanCopier {
 public:
  // `axis`: maps an axis of `from` to an index expression of `to`. `buffers`: maps buffers of `from` to those of `to`.
  // Faults of `from` are numbered from `first_fault`.
  PlanCopier(const KernelPlan& from, KernelPlan& to, std::function<ExprId(int axis)> axis, std::vector<int> buffers,
             int first_fault = 0)
      : from_(from),
        to_(to),
        axis_(std::move(axis)),
        buffers_(std::move(buffers)),
        first_fault_(first_fault),
        copies_(from.exprs.size(), -1) {}

  // Store-to-load forwarding: replaces later copies of loads of `buffer` (of `from`) at `indices` (of `to`) by `value`.
  // Requires: no load of it has been copied.
  void ForwardLoads(int buffer, std::vector<ExprId> indices, ExprId value) {
    forwarded_[buffer] = {std::move(indices), value};
  }
  // Whether a load of a forwarded buffer had other indices, or a predicate. The copy is then wrong: discard it.
  bool forwarding_failed() const { return forwarding_failed_; }

  DimSize Copy(const DimSize& dim_size) {
    return dim_size.is_constant() ? dim_size : to_.AddDim(from_.dims[dim_size.slot]);
  }
  ExprId Copy(ExprId id);
  std::vector<ExprId> Copy(const std::vector<ExprId>& ids);
  Buffer Copy(const Buffer& buffer);
  Statement Copy(const Statement& statement);

 private:
  struct ForwardedLoads {
    std::vector<ExprId> indices;
    ExprId value;
  };

  const KernelPlan& from_;
  KernelPlan& to_;
  const std::function<ExprId(int)> axis_;
  const std::vector<int> buffers_;
  const int first_fault_;
  std::vector<ExprId> copies_;  // by expression of `from`; -1: not yet
  std::map<int, ForwardedLoads> forwarded_;
  bool forwarding_failed_ = false;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_PLAN_COPIER_H_
