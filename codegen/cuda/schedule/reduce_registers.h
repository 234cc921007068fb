// Versions for kernels whose registers spill.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_REDUCE_REGISTERS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_REDUCE_REGISTERS_H_

#include "codegen/cuda/schedule/cuda_schedule.h"

namespace tailor::cuda {

// Has a thread of `version` hold no row, gives it more registers (fewer blocks at the same time, then fewer threads in
// a block), or, once it has all that a thread can have, less to hold (fewer lanes): one step, the smallest that may
// help. Tiles have one form, fewer lanes of their epilogue, and blocks that may be fewer. False, with nothing changed,
// where there is none.
bool ReduceRegisters(CudaVersion& version);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_REDUCE_REGISTERS_H_
