// Splits the kernels of a program into modules, which compile in parallel.
#ifndef TAILOR_CODEGEN_BACKEND_KERNEL_MODULES_H_
#define TAILOR_CODEGEN_BACKEND_KERNEL_MODULES_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor::backend {

// The kernel indices of one module.
using ModuleKernels = std::vector<int>;

// Each matmul or chain is a module of its own; these come first, since they take longest. The split depends only on the
// kernels, so that an artifact's bytes do not depend on the number of threads.
std::vector<ModuleKernels> SplitIntoModules(const std::vector<KernelPlan>& kernels);

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_KERNEL_MODULES_H_
