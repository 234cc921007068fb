// Emits the host program as native code: `run` (RunFn) and `plan` (PlanFn) of exec/host_abi.h.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_HOST_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_HOST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/host/host_program.h"
#include "llvm/IR/Module.h"

namespace tailor::host {

// What the host program knows of one version of a kernel. DimExprs are over slots, as in Schedule; on a device of
// kWorkers too.
struct LaunchVersion {
  std::vector<Guard> guards;
  DimExpr tasks;  // of a launch; on a device, blocks
  DimExpr grain;  // how many of them a thread takes at a time; on a device, the shared memory of a block in bytes
  DimExpr scratch_bytes;  // of a worker; on a device, of a block; where they meet, of the launch
  bool together = false;  // they meet: on a device LaunchGrid::together
  int phases = 1;         // on the host: how often all tasks run, each time when all have
  uint32_t alone = 0;     // PartTasks::alone
  // On a device, more than 0: no more blocks are launched than its multiprocessors hold of so many each.
  int resident_blocks = 0;
  // On a device, what the launch takes, in clocks; 0: not known. Of the versions whose guards hold the one is taken
  // that takes the fewest, the first of equal ones.
  DimExpr clocks;
  DimExpr parts = 1;  // CudaVersion::parts, or PartTasks::count

  int64_t phases_word() const { return phases | int64_t{alone} << 32; }  // HostMemo::LaunchWords::phases
};

// A distinct kernel of the variant: functions `<symbol>_v<i>`, one per version.
struct EmittedKernel {
  std::string symbol;
  const KernelPlan* plan;
  std::vector<LaunchVersion> versions;  // the last has no guards; without clocks tried in order
  const Schedule* schedule = nullptr;   // on the host
  int first_on_device = -1;             // the number of version 0 among Variant::device_kernels

  // Whether some version's blocks or threads meet: such versions have kMeetingSlots parameters more than others.
  bool meets() const;
};

EmittedKernel KernelOnHost(std::string symbol, const KernelPlan* plan, const Schedule* schedule);

struct HostEmission {
  uint64_t memo_slots = 0;
  uint64_t grown_blocks = 0;  // more than 0: RtApi::block is called
  int64_t fault_word = -1;    // as Variant::fault_word
  bool reads_back = false;    // as Variant::reads_back
  bool offers_products = false;
};

// Where the kernels of a program run, and its tensors lie.
enum class KernelPlace : uint8_t { kHost, kDevice };

// Adds `tailor_run` and `tailor_plan` to `module`, which run programs[0]. On the host kernels are declared and called,
// other modules define them. On a device they are launched by number: shape arithmetic stays on the host (DISC section
// 3), and what steers the run (the condition of a loop or branch, an extent that data tells) is read back.
absl::StatusOr<HostEmission> EmitHostPrograms(const std::vector<HostProgram>& programs,
                                              const std::vector<EmittedKernel>& kernels, KernelPlace place,
                                              llvm::Module& module);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_HOST_H_
