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

// How a launch on the host runs a version of a kernel.
struct HostLaunch {
  std::vector<Guard> guards;
  SlotExpr tasks;            // of each phase
  SlotExpr tasks_per_chunk;  // how many of them a thread takes at a time
  SlotExpr scratch_bytes;    // of one worker; in phases, of the launch
  struct Phases {
    int count = 1;                                                 // how often all tasks run, each time when all have
    uint32_t serial = 0;                                           // PartTasks::serial
    SlotExpr parts;                                                // PartTasks::count
    int64_t word() const { return count | int64_t{serial} << 32; }  // ShapeCache::LaunchWords::phases
  };
  std::optional<Phases> phases;
};

// How a launch on a device runs a version of a kernel.
struct DeviceLaunch {
  std::vector<Guard> guards;
  // What the launch takes, in clocks; 0: not known. Of the versions whose guards hold the one is taken that takes the
  // fewest, the first of equal ones.
  SlotExpr clocks;
  SlotExpr blocks;
  SlotExpr shared_bytes;     // of a block
  SlotExpr scratch_bytes;    // of a block; of a cooperative launch, of the launch
  bool cooperative = false;  // LaunchGrid::cooperative
  // More than 0: no more blocks are launched than the multiprocessors hold of so many each.
  int resident_blocks = 0;
  SlotExpr parts = 1;  // CudaVersion::parts
};

// A distinct kernel of the variant: functions `<symbol>_v<i>`, one per version. Its versions are tried in order; the
// last has no guards.
struct EmittedKernel {
  struct OnHost {
    const Schedule* schedule;
    std::vector<HostLaunch> versions;
  };
  struct OnDevice {
    int first;  // the number of version 0 among Variant::device_kernels
    std::vector<DeviceLaunch> versions;
  };
  std::string symbol;
  const KernelPlan* plan;
  std::variant<OnHost, OnDevice> launches;

  const OnHost& on_host() const { return std::get<OnHost>(launches); }
  const OnDevice& on_device() const { return std::get<OnDevice>(launches); }
  // The parameters of all versions; those of one are the first of them.
  KernelSignature signature() const;
};

EmittedKernel KernelOnHost(std::string symbol, const KernelPlan* plan, const Schedule* schedule);

struct HostEmission {
  uint64_t shape_cache_slots = 0;
  uint64_t grown_blocks = 0;  // more than 0: RtApi::block is called
  int64_t fault_word = -1;    // as Variant::fault_word
  bool reads_back = false;    // as Variant::reads_back
  bool offers_products = false;
};

// Where the kernels of a program run, and its tensors lie.
enum class KernelPlace : uint8_t { kHost, kDevice };

// Adds `tailor_run` and `tailor_plan` to `module`, which run programs[0]. On the host kernels are declared and called,
// other modules define them. On a device they are launched by number: shape arithmetic stays on the host (DISC section
// 3), and what steers the run (the condition of a loop or branch, a dim size that data tells) is read back.
absl::StatusOr<HostEmission> EmitHostPrograms(const std::vector<HostProgram>& programs,
                                              const std::vector<EmittedKernel>& kernels, KernelPlace place,
                                              llvm::Module& module);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_HOST_H_
