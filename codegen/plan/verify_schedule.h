// What every Schedule has to be, whoever made it.
#ifndef TAILOR_CODEGEN_PLAN_VERIFY_SCHEDULE_H_
#define TAILOR_CODEGEN_PLAN_VERIFY_SCHEDULE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"

namespace tailor {

// INTERNAL naming the plan, the part and what is wrong with it. Checks that
// - axes, stages, slots and links that something refers to exist, and are of the kind that the field is about;
// - numbers are in range, and fields that the form of the plan has no use for are those of a new Schedule;
// - tasks are as many as the emitted loops count (of windows and of Winograd: not checked);
// - the last version has no guards, all before it have some, and flags are backed by guards;
// - phases of parts are those of the plan.
// What it cannot tell is speed: another tile, chunk, unroll factor or chunk size makes another legal schedule.
absl::Status VerifySchedule(const KernelPlan& plan, const Schedule& schedule);

// The part that schedules of all machines share: that guards are over slots of the plan and say what the flags need.
// `last`: whether it takes what no other version did.
absl::Status VerifyVersion(const KernelPlan& plan, const Version& version, bool last);

// Whether `value` has a value, over slots of the plan and, where `workers`, the number of workers.
bool IsOverSlotsOf(const KernelPlan& plan, const SlotExpr& value, bool workers = false);

// INTERNAL "schedule of <plan>: <where>: <what>".
absl::Status ScheduleError(const KernelPlan& plan, absl::string_view where, absl::string_view what);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_VERIFY_SCHEDULE_H_
