// How the kernels of a program are split into modules, which compile in parallel.
#ifndef TAILOR_CODEGEN_BACKEND_KERNEL_MODULES_H_
#define TAILOR_CODEGEN_BACKEND_KERNEL_MODULES_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor::backend {

// Kernels, by index, that one module holds.
using ModuleKernels = std::vector<int>;

// A matmul, or a chain of them, is a module of its own and comes first: it takes longest. Depends on the kernels
// alone, so that the bytes of an artifact do not depend on the number of threads.
std::vector<ModuleKernels> SplitIntoModules(const std::vector<KernelPlan>& kernels);

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_KERNEL_MODULES_H_
