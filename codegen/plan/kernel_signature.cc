#include "codegen/plan/kernel_signature.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "codegen/plan/plan_queries.h"

namespace tailor {

using Kind = KernelParameter::Kind;

bool KernelParameter::is_address() const {
  switch (kind) {
    case Kind::kBuffer:
    case Kind::kScratch:
    case Kind::kFault:
    case Kind::kLaunchScratch:
    case Kind::kGridBarrier:
      return true;
    case Kind::kDim:
    case Kind::kScratchBytes:
    case Kind::kFaultBase:
    case Kind::kTiling:
    case Kind::kPhase:
    case Kind::kParts:
    case Kind::kTensorMap:
      return false;
  }
  return false;
}

std::string KernelParameter::Name() const {
  switch (kind) {
    case Kind::kBuffer:
      return absl::StrCat("b", index);
    case Kind::kDim:
      return absl::StrCat("d", index);
    case Kind::kScratch:
      return "scratch";
    case Kind::kScratchBytes:
      return "scratch.bytes";
    case Kind::kFault:
      return "fault";
    case Kind::kFaultBase:
      return "fault.base";
    case Kind::kTiling:
      return "tiling";
    case Kind::kLaunchScratch:
      return "launch.scratch";
    case Kind::kPhase:
      return "phase";
    case Kind::kGridBarrier:
      return "grid.barrier";
    case Kind::kParts:
      return "parts";
    case Kind::kTensorMap:
      return absl::StrCat("map", index);
  }
  return "?";
}

KernelSignature::KernelSignature(const KernelPlan& plan, const Options& options) {
  const auto add = [&](Kind kind, int index = 0) { parameters_.push_back({kind, index}); };
  for (int i = 0; i < static_cast<int>(plan.buffers.size()); ++i) {
    const BufferKind kind = plan.buffers[i].kind;
    if (kind == BufferKind::kInput || kind == BufferKind::kOutput) add(Kind::kBuffer, i);
  }
  for (int i = 0; i < static_cast<int>(plan.dims.size()); ++i) add(Kind::kDim, i);
  if (HasScratch(plan)) {
    add(Kind::kScratch);
    add(Kind::kScratchBytes);
  }
  if (plan.fault_count > 0) {
    add(Kind::kFault);
    add(Kind::kFaultBase);
  }
  if (options.chooses_tiling) add(Kind::kTiling);
  if (options.sync != Sync::kNone) {
    add(Kind::kLaunchScratch);
    add(options.sync == Sync::kPhases ? Kind::kPhase : Kind::kGridBarrier);
    add(Kind::kParts);
  }
  slots_ = static_cast<int>(parameters_.size());
  for (int i = 0; i < options.tensor_maps; ++i) add(Kind::kTensorMap, i);
}

KernelSignature KernelSignature::OnHost(const KernelPlan& plan, const Schedule& schedule) {
  const bool phases = std::any_of(schedule.versions.begin(), schedule.versions.end(),
                                  [](const Version& version) { return version.parts.has_value(); });
  return KernelSignature(plan, {.chooses_tiling = schedule.tile.chooses, .sync = phases ? Sync::kPhases : Sync::kNone});
}

int KernelSignature::SlotOf(Kind kind, int index) const {
  const auto end = parameters_.begin() + slots_;
  const auto found = std::find(parameters_.begin(), end, KernelParameter{kind, index});
  return found == end ? -1 : static_cast<int>(std::distance(parameters_.begin(), found));
}

}  // namespace tailor
