#include "codegen/cuda/schedule/matmul_plan.h"

namespace tailor::cuda {

MatmulTypes TypesOf(const KernelPlan& plan, const Contraction& contraction) {
  KernelPlan accesses = plan;  // coefficient queries append expressions
  return {.operand = plan.buffers[contraction.rhs.ref].dtype,
          .accumulate = contraction.accumulate,
          .stores_along_rows = StoresAlongRows(accesses, contraction)};
}

KernelPlan PlanOfEpilogue(const KernelPlan& plan, const Contraction& contraction) {
  KernelPlan epilogue = plan;
  epilogue.stages.erase(epilogue.stages.begin(), epilogue.stages.begin() + contraction.stage + 1);
  return epilogue;
}

bool RowsLieSideBySide(KernelPlan plan, const Contraction& contraction) {
  return MapOf(plan, contraction.lhs, contraction.m).IsUnitInLastDim();
}

}  // namespace tailor::cuda
