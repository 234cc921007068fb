// Parses the printed form of a KernelPlan.
#ifndef TAILOR_CODEGEN_PLAN_PARSE_KERNEL_PLAN_H_
#define TAILOR_CODEGEN_PLAN_PARSE_KERNEL_PLAN_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor {

// The plan whose KernelPlan::Text is `text`. Parts that the text omits get defaults: `name` is empty, the value of slot
// i is symbol i. INVALID_ARGUMENT names the expected token, line and column. The plan is not verified (see
// VerifyKernelPlan).
absl::StatusOr<KernelPlan> ParseKernelPlan(absl::string_view text);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_PARSE_KERNEL_PLAN_H_
