// What every KernelPlan has to be, whoever made it.
#ifndef TAILOR_CODEGEN_PLAN_VERIFY_KERNEL_PLAN_H_
#define TAILOR_CODEGEN_PLAN_VERIFY_KERNEL_PLAN_H_

#include "absl/status/status.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor {

// INTERNAL naming the plan, the part and what is wrong with it. Checks that
// - axes, buffers, slots, expressions and faults that something refers to exist; operands precede their users;
// - dtypes follow from operands, buffers and the op table; fields that a kind of expression has no use for are empty;
// - axes are in scope: parallel ones everywhere, others in stages over them, reduced ones not in what is stored where;
// - values of a kernel's own are stored before they are read, and every output is stored;
// - indices of constant range stay within buffers of constant size;
// - a contraction, attention or chain has that form.
// Time: the plan's expressions once for each stage, and for each reduction that stores at indices.
absl::Status VerifyKernelPlan(const KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_VERIFY_KERNEL_PLAN_H_
