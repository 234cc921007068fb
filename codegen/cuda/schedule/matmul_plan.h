// What scheduling and emission of a matmul on a GPU ask of its plan.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_PLAN_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_PLAN_H_

#include "codegen/cuda/schedule/matmul_tile.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor::cuda {

// What `plan` multiplies and how it stores.
MatmulTypes TypesOf(const KernelPlan& plan, const Contraction& contraction);

// What follows the matmul, as a plan of these stages alone.
KernelPlan PlanOfEpilogue(const KernelPlan& plan, const Contraction& contraction);

// Whether neighbouring rows of the lhs lie side by side in memory.
bool RowsLieSideBySide(KernelPlan plan, const Contraction& contraction);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_PLAN_H_
