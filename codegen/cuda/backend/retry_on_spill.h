// What becomes of a kernel's versions with which the assembler finds fault (assembler.h). Which ones are depends on the
// assembler's release as much as on the kernel, so none fails a compilation:
//
// 1. A version is left out where another without fault stands in for it: see StandsIn.
// 2. Else one that spills is made again, lighter (reduce_registers.h).
// 3. Else it is kept: slower than was meant, but the only one of its kind for some shapes.
//
// Each is said: in the texts of what was dropped, or in the notes.
#ifndef TAILOR_CODEGEN_CUDA_BACKEND_RETRY_ON_SPILL_H_
#define TAILOR_CODEGEN_CUDA_BACKEND_RETRY_ON_SPILL_H_

#include <map>
#include <string>
#include <vector>

#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/schedule/cuda_schedule.h"

namespace tailor::cuda {

// How often a program's kernels are assembled at most. Each turn costs seconds where kernels are many.
inline constexpr int kAssemblingTurns = 4;

// What the assembler finds fault with, by number of the version.
using VersionFaults = std::map<int, AssemblerProblem>;

// Whether `other` computes what `version` does for about the same: it has no guard that `version` lacks, the host
// program chooses between both by their clocks, and its blocks meet only where those of `version` do. In place of one
// that spills it multiplies by the same instructions, in tiles that are no larger; a serialised one is slower than any.
bool StandsIn(const CudaVersion& other, const CudaVersion& version, bool spills);

// Mends `schedule` after turn number `turn`, from 1, of kAssemblingTurns. True where it has changed, so that its
// kernels are to be made again; what was left out or made lighter is then said in `dropped`. Notes: by number of the
// version in `schedule` as it then is, why one is kept; of a turn that changes nothing they are final.
bool RetryOnSpill(const VersionFaults& faults, int turn, CudaSchedule& schedule, std::vector<std::string>& dropped,
                  std::map<int, std::string>& notes);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_BACKEND_RETRY_ON_SPILL_H_
