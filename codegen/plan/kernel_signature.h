// KernelSignature: the parameters that a kernel is called with, in their order. The one place that says so: kernels
// read by it, host programs and chains fill argument blocks by it, and the runtime is told its size (DeviceKernel).
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

struct KernelParameter {
  enum Kind : uint8_t {
    kBuffer,        // address of an input or output; `index`: of KernelPlan::buffers
    kDim,           // i64, the value of a dim slot; `index`: of KernelPlan::dims
    kScratch,       // address of the scratch of all workers, on a device of all blocks
    kScratchBytes,  // i64, that of one of them
    kFault,      // address of the run's fault record, i64[3]: check id + 1 or 0, value, dim size; the first fault wins
    kFaultBase,  // i64, the check id of the plan's fault 0
    kTiling,     // i64, the tiling that the launch chose (codegen/cpu/tiling/tiling_model.h, TilingWord)
    kLaunchScratch,  // address of the scratch that all tasks of the launch share
    kPhase,          // i64, the number of the phase that runs
    kGridBarrier,    // address of RtContext::grid_sync
    kParts,          // i64: PartTasks::count, CudaVersion::parts
    kTensorMap,      // kTensorMapBytes by value, behind the slots; `index`: of DeviceKernel::maps
  };
  static constexpr int kKinds = kTensorMap + 1;
  Kind kind;
  int index = 0;

  bool is_address() const;
  // Of what a session has: the byte of RtContext where its 8 bytes lie.
  std::optional<int64_t> context_field() const;
  std::string Name() const;  // "b2", "d0", "scratch"
  friend bool operator==(const KernelParameter&, const KernelParameter&) = default;
};

class KernelSignature {
 public:
  // How the tasks of a launch wait for each other: not, between launches of one phase each, at barriers of the grid.
  enum class Sync : uint8_t { kNone, kPhases, kGridBarriers };
  // What a schedule asks for beyond the plan.
  struct Options {
    bool chooses_tiling = false;
    Sync sync = Sync::kNone;
    int tensor_maps = 0;
  };

  KernelSignature(const KernelPlan& plan, const Options& options);
  // Of a kernel on the host: all its versions have the parameters that one of them needs.
  static KernelSignature OnHost(const KernelPlan& plan, const Schedule& schedule);

  absl::Span<const KernelParameter> parameters() const& { return parameters_; }
  absl::Span<const KernelParameter> parameters() && = delete;  // it would outlive what it spans
  // How many 8-byte slots the argument block has: one for each parameter but tensor maps, which are the last.
  int slots() const { return slots_; }
  // The slot of a parameter; -1 where the kernel has none such.
  int SlotOf(KernelParameter::Kind kind, int index = 0) const;

 private:
  std::vector<KernelParameter> parameters_;
  int slots_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_KERNEL_SIGNATURE_H_
