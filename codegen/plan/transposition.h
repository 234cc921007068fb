// Loops that store along one axis of memory and load along another: a tile of both axes is read along the one, turned,
// and written along the other, so that neither side meets one element in each line of memory.
#ifndef TAILOR_CODEGEN_PLAN_TRANSPOSITION_H_
#define TAILOR_CODEGEN_PLAN_TRANSPOSITION_H_

#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

struct Transposition {
  int stored = -1;            // neighbours along this axis are neighbours in all outputs
  int loaded = -1;            // and along this one in `loads`
  std::vector<ExprId> loads;  // not along `stored`
};

// None if `plan` is no plain loop, or stores and loads along one axis, or either axis is known to be shorter than
// these.
std::optional<Transposition> FindTransposition(const KernelPlan& plan, int64_t least_stored, int64_t least_loaded);

// `plan` with each of `loads` as the value of a local buffer: the last ones, in order.
KernelPlan WithLocals(KernelPlan plan, const std::vector<ExprId>& loads);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_TRANSPOSITION_H_
