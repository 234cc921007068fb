// The invariants of every KernelPlan.
#ifndef TAILOR_CODEGEN_PLAN_VERIFY_KERNEL_PLAN_H_
#define TAILOR_CODEGEN_PLAN_VERIFY_KERNEL_PLAN_H_

#include "absl/status/status.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor {

// Errors: INTERNAL with plan, part and violation. Checks that
// - axes, buffers, slots, expressions and faults that are referred to exist; operands precede their users;
// - dtypes follow from operands, buffers and the op table; unused fields of an expression are empty;
// - axes are in scope: parallel axes everywhere, others in stages over them, reduced axes not in store indices;
// - internal buffers are stored before they are read, and every output is stored;
// - indices of constant range stay within buffers of constant size;
// - a contraction, attention or chain has that form.
// Time: linear in the plan's expressions per stage, and per reduction with indexed stores.
absl::Status VerifyKernelPlan(const KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_VERIFY_KERNEL_PLAN_H_
