// Queries of a matmul's plan, for scheduling and emission on GPUs.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_PLAN_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_PLAN_H_

#include "codegen/cuda/schedule/matmul_tile.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor::cuda {

// Types of the operands and sums of `plan`'s matmul, and how it stores.
MatmulTypes TypesOf(const KernelPlan& plan, const Contraction& contraction);

// The stages after the matmul, as a plan of their own.
KernelPlan PlanOfEpilogue(const KernelPlan& plan, const Contraction& contraction);

// Whether neighbouring rows of the lhs are contiguous in memory.
bool RowsLieSideBySide(KernelPlan plan, const Contraction& contraction);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_MATMUL_PLAN_H_
