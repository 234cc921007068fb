// Emits the host program as native code: `run` (RunFn) and `plan` (PlanFn) of exec/host_abi.h.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_HOST_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_HOST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/host/host_program.h"
#include "codegen/plan/kernel_signature.h"
#include "codegen/plan/schedule.h"
#include "codegen/plan/slot_expr.h"
#include "llvm/IR/Module.h"

namespace tailor::host {

// The launch parameters of one version of a CPU kernel.
struct HostLaunch {
  std::vector<Guard> guards;
  SlotExpr tasks;            // per phase
  SlotExpr tasks_per_chunk;  // tasks that a thread takes at a time
  SlotExpr scratch_bytes;    // per thread; with phases, per launch
  struct Phases {
    int count = 1;                                                  // all tasks run once per phase
    uint32_t serial = 0;                                            // PartTasks::serial
    SlotExpr parts;                                                 // PartTasks::count
    int64_t word() const { return count | int64_t{serial} << 32; }  // ShapeCache::LaunchWords::phases
  };
  std::optional<Phases> phases;
};

// The launch parameters of one version of a device kernel.
struct DeviceLaunch {
  std::vector<Guard> guards;
  // Estimated clocks of the launch; 0: unknown. The version with the fewest clocks runs, of those whose guards hold;
  // the first of equal ones.
  SlotExpr clocks;
  SlotExpr blocks;
  SlotExpr shared_bytes;     // per block
  SlotExpr scratch_bytes;    // per block; of a cooperative launch, per launch
  bool cooperative = false;  // LaunchGrid::cooperative
  // > 0: resident blocks per multiprocessor; limits the launch to what the device holds at once.
  int resident_blocks = 0;
  SlotExpr parts = 1;  // CudaVersion::parts
};

// A distinct kernel of the variant: functions `<symbol>_v<i>`, one per version. Versions are tried in order; the last
// has no guards.
struct EmittedKernel {
  struct OnHost {
    const Schedule* schedule;
    std::vector<HostLaunch> versions;
  };
  struct OnDevice {
    int first;  // index of version 0 in Variant::device_kernels
    std::vector<DeviceLaunch> versions;
  };
  std::string symbol;
  const KernelPlan* plan;
  std::variant<OnHost, OnDevice> launches;

  const OnHost& on_host() const { return std::get<OnHost>(launches); }
  const OnDevice& on_device() const { return std::get<OnDevice>(launches); }
  // The parameters of all versions together; each version uses a prefix.
  KernelSignature signature() const;
};

// An EmittedKernel with one HostLaunch per version of `schedule`. Borrows both pointers.
EmittedKernel KernelOnHost(std::string symbol, const KernelPlan* plan, const Schedule* schedule);

// The properties of the emitted program that its Variant records.
struct HostEmission {
  uint64_t shape_cache_slots = 0;
  uint64_t growable_blocks = 0;  // > 0: RtApi::block is called
  int64_t fault_word = -1;       // as Variant::fault_word
  bool reads_back = false;       // as Variant::reads_back
  bool offers_products = false;
};

// The place where a program's kernels run and its tensors are.
enum class KernelPlace : uint8_t { kHost, kDevice };

// Adds `tailor_run` and `tailor_plan` for programs[0] to `module`. CPU kernels are declared and called; other modules
// define them. Device kernels are launched by index. Shape arithmetic stays on the host (DISC section 3), and values
// that control the run (conditions of loops and branches, data-dependent dims) are read back.
absl::StatusOr<HostEmission> EmitHostPrograms(const std::vector<HostProgram>& programs,
                                              const std::vector<EmittedKernel>& kernels, KernelPlace place,
                                              llvm::Module& module);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_HOST_H_
