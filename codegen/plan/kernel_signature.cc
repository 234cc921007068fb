#include "codegen/plan/kernel_signature.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "codegen/plan/long_tasks.h"
#include "codegen/plan/plan_queries.h"
#include "exec/host_abi.h"

namespace tailor {

bool KernelParameter::is_address() const {
  return kind == kBuffer || kind == kScratch || kind == kFault || kind == kLaunchScratch || kind == kGridBarrier ||
         kind == kContext;
}

std::optional<int64_t> KernelParameter::context_field() const {
  if (kind == kGridBarrier) return offsetof(RtContext, grid_sync);
  return std::nullopt;
}

std::string KernelParameter::Name() const {
  switch (kind) {
    case kBuffer:
      return absl::StrCat("b", index);
    case kDim:
      return absl::StrCat("d", index);
    case kScratch:
      return "scratch";
    case kScratchBytes:
      return "scratch.bytes";
    case kFault:
      return "fault";
    case kFaultBase:
      return "fault.base";
    case kTiling:
      return "tiling";
    case kRowBlocks:
      return "row.blocks";
    case kLaunchScratch:
      return "launch.scratch";
    case kPhase:
      return "phase";
    case kGridBarrier:
      return "grid.barrier";
    case kParts:
      return "parts";
    case kContext:
      return "context";
    case kTensorMap:
      return absl::StrCat("map", index);
  }
  return "?";
}

KernelSignature::KernelSignature(const KernelPlan& plan, const Options& options) {
  const auto add = [&](KernelParameter::Kind kind, int index = 0) { parameters_.push_back({kind, index}); };
  for (int i = 0; i < static_cast<int>(plan.buffers.size()); ++i) {
    const BufferKind kind = plan.buffers[i].kind;
    if (kind == BufferKind::kInput || kind == BufferKind::kOutput) add(KernelParameter::kBuffer, i);
  }
  for (int i = 0; i < static_cast<int>(plan.dims.size()); ++i) add(KernelParameter::kDim, i);
  if (HasScratch(plan) || options.keeps_rows) {
    add(KernelParameter::kScratch);
    add(KernelParameter::kScratchBytes);
  }
  if (plan.fault_count > 0) {
    add(KernelParameter::kFault);
    add(KernelParameter::kFaultBase);
  }
  if (options.chooses_tiling) add(KernelParameter::kTiling);
  if (options.row_blocks) add(KernelParameter::kRowBlocks);
  if (options.sync != Sync::kNone) {
    add(KernelParameter::kLaunchScratch);
    add(options.sync == Sync::kPhases ? KernelParameter::kPhase : KernelParameter::kGridBarrier);
    add(KernelParameter::kParts);
  }
  if (options.polls) add(KernelParameter::kContext);
  slots_ = static_cast<int>(parameters_.size());
  for (int i = 0; i < options.tensor_maps; ++i) add(KernelParameter::kTensorMap, i);
}

KernelSignature KernelSignature::OnHost(const KernelPlan& plan, const Schedule& schedule) {
  const bool phases = std::any_of(schedule.versions.begin(), schedule.versions.end(),
                                  [](const Version& version) { return version.parts.has_value(); });
  return KernelSignature(plan, {.keeps_rows = schedule.tile.keeps_rows(),
                                .chooses_tiling = schedule.tile.chooses,
                                .row_blocks = schedule.row_blocks != 0,
                                .sync = phases ? Sync::kPhases : Sync::kNone,
                                .polls = PollsOnHost(plan, schedule)});
}

int KernelSignature::SlotOf(KernelParameter::Kind kind, int index) const {
  const auto end = parameters_.begin() + slots_;
  const auto found = std::find(parameters_.begin(), end, KernelParameter{kind, index});
  return found == end ? -1 : static_cast<int>(std::distance(parameters_.begin(), found));
}

}  // namespace tailor
