// From the printed form of a KernelPlan back to the plan.
#ifndef TAILOR_CODEGEN_PLAN_PARSE_KERNEL_PLAN_H_
#define TAILOR_CODEGEN_PLAN_PARSE_KERNEL_PLAN_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor {

// The plan whose KernelPlan::Text is `text`. What the text does not have is made up: `name` is empty, the value of slot
// i is symbol i. INVALID_ARGUMENT says what was expected, with line and column. Is no verifier: a plan of the right
// form may make no sense.
absl::StatusOr<KernelPlan> ParseKernelPlan(absl::string_view text);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_PARSE_KERNEL_PLAN_H_
