// KernelSignature: the ordered parameters of a kernel. Kernels read their parameters by it; host programs and chains
// fill argument blocks by it; it gives DeviceKernel its size.
#ifndef TAILOR_CODEGEN_PLAN_KERNEL_SIGNATURE_H_
#define TAILOR_CODEGEN_PLAN_KERNEL_SIGNATURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"

namespace tailor {

// One parameter of a kernel.
struct KernelParameter {
  enum Kind : uint8_t {
    kBuffer,        // address of an input or output; `index`: in KernelPlan::buffers
    kDim,           // i64, the value of a dim slot; `index`: in KernelPlan::dims
    kScratch,       // address of the scratch of all threads, on a device of all blocks
    kScratchBytes,  // i64, scratch bytes of one thread or block
    kFault,      // address of the run's fault record, i64[3]: check id + 1 or 0, value, dim size; the first fault wins
    kFaultBase,  // i64, the check id of the plan's fault 0
    kTiling,     // i64, the tiling chosen for the launch (codegen/cpu/tiling/tiling_model.h, TilingWord)
    kRowBlocks,  // i64, Schedule::row_blocks
    kLaunchScratch,  // address of the scratch that all tasks of the launch share
    kPhase,          // i64, the number of the current phase
    kGridBarrier,    // address of RtContext::grid_sync
    kParts,          // i64: PartTasks::count, CudaVersion::parts
    kContext,        // address of the session's RtContext
    kTensorMap,      // kTensorMapBytes by value, after the slots; `index`: in DeviceKernel::maps
  };
  static constexpr int kKinds = kTensorMap + 1;
  Kind kind;
  int index = 0;

  bool is_address() const;
  // Parameters that a session supplies: the byte offset of their 8 bytes in RtContext.
  std::optional<int64_t> context_field() const;
  std::string Name() const;  // "b2", "d0", "scratch"
  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

class KernelSignature {
 public:
  // Synchronization between phases: none, separate launches of one phase each, or grid syncs.
  enum class Sync : uint8_t { kNone, kPhases, kGridBarriers };
  // Requirements of the schedule, beyond the plan.
  struct Options {
    bool keeps_rows = false;  // in scratch
    bool chooses_tiling = false;
    bool row_blocks = false;
    Sync sync = Sync::kNone;
    bool polls = false;
    int tensor_maps = 0;
  };

  KernelSignature(const KernelPlan& plan, const Options& options);
  // The signature of a CPU kernel: all versions have the parameters that any of them needs.
  static KernelSignature OnHost(const KernelPlan& plan, const Schedule& schedule);

  absl::Span<const KernelParameter> parameters() const& { return parameters_; }
  absl::Span<const KernelParameter> parameters() && = delete;  // the span would outlive its object
  // Number of 8-byte slots of the argument block: one per parameter except tensor maps, which are last.
  int slots() const { return slots_; }
  // The slot of a parameter; -1 if the kernel does not have it.
  int SlotOf(KernelParameter::Kind kind, int index = 0) const;

 private:
  std::vector<KernelParameter> parameters_;
  int slots_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_KERNEL_SIGNATURE_H_
