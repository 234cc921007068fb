// The invariants of every Schedule.
#ifndef TAILOR_CODEGEN_PLAN_VERIFY_SCHEDULE_H_
#define TAILOR_CODEGEN_PLAN_VERIFY_SCHEDULE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"

namespace tailor {

// Errors: INTERNAL with plan, part and violation. Checks that
// - axes, stages, slots and links that are referred to exist, and are of the kind that the field requires;
// - numbers are in range, and fields that the plan's form does not use have their defaults;
// - the number of tasks equals that of the emitted loops (windows and Winograd: not checked);
// - the last version has no guards, all others have some, and flags are implied by guards;
// - phases of parts are those of the plan.
// Not checked: performance. Any other tile, chunk or unroll factor in range is also a valid schedule.
absl::Status VerifySchedule(const KernelPlan& plan, const Schedule& schedule);

// The checks common to all targets: guards are over slots of the plan and imply the flags. `last`: whether this is the
// last version, without guards.
absl::Status VerifyVersion(const KernelPlan& plan, const Version& version, bool last);

// Whether `value` is a valid expression over slots of the plan and, with `workers`, the number of workers.
bool IsOverSlotsOf(const KernelPlan& plan, const SlotExpr& value, bool workers = false);

// INTERNAL "schedule of <plan>: <where>: <what>".
absl::Status ScheduleError(const KernelPlan& plan, absl::string_view where, absl::string_view what);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_VERIFY_SCHEDULE_H_
