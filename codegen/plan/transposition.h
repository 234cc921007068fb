// Transposing loops: they store along one axis and load along another. A tile of both axes is loaded along one,
// transposed in registers, and stored along the other, so that both sides access whole cache lines.
#ifndef TAILOR_CODEGEN_PLAN_TRANSPOSITION_H_
#define TAILOR_CODEGEN_PLAN_TRANSPOSITION_H_

#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

struct Transposition {
  int stored = -1;            // all outputs are contiguous along this axis
  int loaded = -1;            // `loads` are contiguous along this axis
  std::vector<ExprId> loads;  // loads not contiguous along `stored`
};

// nullopt if `plan` is not a plain loop, if stores and loads are along one axis, or if an axis is known to be shorter
// than its minimum.
std::optional<Transposition> FindTransposition(const KernelPlan& plan, int64_t least_stored, int64_t least_loaded);

// `plan` with each of `loads` replaced by a load of a new local buffer; these are the last buffers, in order.
KernelPlan WithLocals(KernelPlan plan, const std::vector<ExprId>& loads);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_TRANSPOSITION_H_
