// The micro-kernels that are compiled with this library instead of with each model.
#ifndef TAILOR_CODEGEN_CPU_PREBUILT_LIST_KERNEL_LIST_H_
#define TAILOR_CODEGEN_CPU_PREBUILT_LIST_KERNEL_LIST_H_

#include <vector>

#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/link/target_machine.h"

namespace tailor::prebuilt {

// The micro-kernels of `target` that are compiled once for all models: of every tile that fits its registers, and of
// the forms of operands that matmuls, convolutions and chains of models commonly have. A level with further features
// has those of integers alone. None of f16, whose conversions are a property of the module (SetHalfConversions).
std::vector<gemm::MicroKernel> CommonMicroKernels(const CpuTarget& target);

}  // namespace tailor::prebuilt

#endif  // TAILOR_CODEGEN_CPU_PREBUILT_LIST_KERNEL_LIST_H_
