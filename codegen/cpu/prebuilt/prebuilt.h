// Micro-kernels that were compiled when this library was built (the offline stage of MikPoly, section 3.3), each for
// all models: a model's matmuls call them by name, and compiling the model links them.
#ifndef TAILOR_CODEGEN_CPU_PREBUILT_PREBUILT_H_
#define TAILOR_CODEGEN_CPU_PREBUILT_PREBUILT_H_

#include <optional>

#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/link/target_machine.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tailor::prebuilt {

// The object that defines `kernel` for `target`; nothing if it has to be compiled. Lives as long as the process.
// Thread-safe.
std::optional<llvm::MemoryBufferRef> FindMicroKernel(const gemm::MicroKernel& kernel, const CpuTarget& target);

}  // namespace tailor::prebuilt

#endif  // TAILOR_CODEGEN_CPU_PREBUILT_PREBUILT_H_
