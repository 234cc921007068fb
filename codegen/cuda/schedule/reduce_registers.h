// Changes versions whose registers spill, so that threads need fewer registers or may have more.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_REDUCE_REGISTERS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_REDUCE_REGISTERS_H_

#include "codegen/cuda/schedule/cuda_schedule.h"

namespace tailor::cuda {

// Applies the smallest step to `version` that may help: threads hold no rows (vectors_per_thread = 0); more registers
// (fewer resident blocks, then fewer threads per block); or, once a thread has all registers that it can have, fewer
// lanes. Tiles have a fixed form; only the lanes of their epilogue and, unless persistent, their resident blocks can be
// reduced. False, with nothing changed, if no step is left.
bool ReduceRegisters(CudaVersion& version);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_REDUCE_REGISTERS_H_
