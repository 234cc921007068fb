// Emits the host program as native code: `run` (RunFn) and `plan` (PlanFn) of exec/host_abi.h.
#ifndef TAILOR_CODEGEN_EMIT_HOST_H_
#define TAILOR_CODEGEN_EMIT_HOST_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/host_program.h"
#include "llvm/IR/Module.h"

namespace tailor {

// A distinct kernel of the variant: functions `<symbol>_v<i>`, one per version of its schedule.
struct EmittedKernel {
  std::string symbol;
  const KernelPlan* plan;
  const Schedule* schedule;
};

struct HostEmission {
  uint64_t memo_slots = 0;
  uint64_t grown_blocks = 0;  // more than 0: RtApi::block is called
};

// Adds `tailor_run` and `tailor_plan` to `module`, which run programs[0]; kernels are declared and called, other
// modules define them.
absl::StatusOr<HostEmission> EmitHostPrograms(const std::vector<HostProgram>& programs,
                                              const std::vector<EmittedKernel>& kernels, llvm::Module& module);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_EMIT_HOST_H_
