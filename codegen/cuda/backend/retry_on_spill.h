// The treatment of kernel versions with assembler problems (assembler.h). The problems depend on the assembler's
// release as much as on the kernel, so none fails a compilation:
//
// 1. A matmul of which all warpgroup versions are serialized is scheduled again without them (IsSerialised).
// 2. A version is dropped if another version without problems stands in for it (Replaces).
// 3. Else, if it spills, it is changed by ReduceRegisters and emitted again (reduce_registers.h).
// 4. Else it is kept: slower than intended, but the only one of its kind for some shapes.
//
// Each case is reported: in the texts of dropped versions, or in the notes.
#ifndef TAILOR_CODEGEN_CUDA_BACKEND_RETRY_ON_SPILL_H_
#define TAILOR_CODEGEN_CUDA_BACKEND_RETRY_ON_SPILL_H_

#include <map>
#include <string>
#include <vector>

#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/schedule/cuda_schedule.h"

namespace tailor::cuda {

// The maximum number of turns: times that a program's kernels are assembled. A turn takes seconds if there are many
// kernels.
inline constexpr int kAssemblingTurns = 4;

// Problems that the assembler reports, by version number.
using VersionFaults = std::map<int, AssemblerProblem>;

// Makes `dropped` the warpgroup versions with a fault: their guards, shapes and faults. For a schedule that is
// discarded.
void NoteDropped(const VersionFaults& faults, const CudaSchedule& schedule, std::vector<std::string>& dropped);

// Whether `other` replaces `version` at about the same cost. It has no guard that `version` lacks, the host program
// chooses between both by their clocks, and it is cooperative only if `version` is. If `version` spills, `other` must
// use the same instructions with tiles that are no larger; a serialised version is slower than any.
bool Replaces(const CudaVersion& other, const CudaVersion& version, bool spills);

// Whether the assembler serialized wgmma in all versions that have it, and there are some.
bool IsSerialised(const VersionFaults& faults, const CudaSchedule& schedule);

// Adapts `schedule` after turn `turn` (from 1) of kAssemblingTurns. True if it has changed, so that its kernels must be
// rebuilt; `dropped` then describes the versions that were dropped or changed. `notes`: why a version is kept, by its
// number in the resulting `schedule`; final after a turn that changes nothing.
bool RetryOnSpill(const VersionFaults& faults, int turn, CudaSchedule& schedule, std::vector<std::string>& dropped,
                  std::map<int, std::string>& notes);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_BACKEND_RETRY_ON_SPILL_H_
