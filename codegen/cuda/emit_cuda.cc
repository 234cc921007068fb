#include "codegen/cuda/emit_cuda.h"

#include "absl/strings/str_cat.h"
#include "codegen/attention/attention.h"
#include "codegen/cuda/emit_cuda_attention.h"
#include "codegen/cuda/emit_cuda_loops.h"
#include "codegen/cuda/emit_cuda_product.h"
#include "codegen/cuda/schedule_cuda_attention.h"
#include "codegen/cuda/schedule_cuda_product.h"

namespace tailor {

absl::StatusOr<CudaSchedule> ScheduleOnCuda(const KernelPlan& plan, const TargetTraits& traits) {
  if (!plan.links.empty()) {
    return absl::UnimplementedError(absl::StrCat("kernel ", plan.name, ": a chain of kernels has no GPU form"));
  }
  if (plan.contraction) return ScheduleCudaProduct(plan, traits);
  if (IsAttention(plan)) return ScheduleCudaAttention(plan, traits);
  return ScheduleCudaLoops(plan, traits);
}

absl::Status EmitOnCuda(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                        llvm::Module& module) {
  if (plan.contraction) return EmitCudaProduct(plan, schedule, name, module);
  if (!IsAttention(plan)) return EmitCudaLoops(plan, schedule, name, module);
  EmitCudaAttention(plan, schedule, name, module);
  return absl::OkStatus();
}

}  // namespace tailor
