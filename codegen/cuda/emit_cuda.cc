#include "codegen/cuda/emit_cuda.h"

#include "absl/strings/str_cat.h"
#include "codegen/contract/tensor_map.h"
#include "codegen/cuda/attention/emit_attention.h"
#include "codegen/cuda/gemm/emit_matmul.h"
#include "codegen/cuda/loops/emit_loops.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/cuda/schedule/schedule_attention.h"
#include "codegen/cuda/schedule/schedule_matmul.h"
#include "codegen/cuda/schedule/verify_cuda_schedule.h"
#include "codegen/plan/attention.h"
#include "graph/status_macros.h"
#include "llvm/IR/Function.h"

namespace tailor::cuda {
namespace {

absl::StatusOr<CudaSchedule> ScheduleByKind(const KernelPlan& plan, const TargetTraits& traits) {
  if (plan.IsChain()) {
    return absl::UnimplementedError(absl::StrCat("kernel ", plan.name, ": a chain of kernels has no GPU form"));
  }
  if (plan.IsContraction()) return ScheduleCudaMatmul(plan, traits);
  if (plan.IsAttention()) return ScheduleCudaAttention(plan, traits);
  return ScheduleCudaLoops(plan, traits);
}

absl::Status EmitByKind(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                        llvm::Module& module) {
  if (plan.IsContraction()) return EmitCudaMatmul(plan, schedule, name, module);
  if (!plan.IsAttention()) return EmitCudaLoops(plan, schedule, name, module);
  EmitCudaAttention(plan, schedule, name, module);
  return absl::OkStatus();
}

int64_t ParameterBytes(const llvm::Function& kernel) {
  int64_t bytes = 0;
  for (const llvm::Argument& parameter : kernel.args()) {
    const bool is_map = parameter.hasByValAttr();
    bytes = is_map ? (bytes + kTensorMapAlignment - 1) / kTensorMapAlignment * kTensorMapAlignment : bytes;
    bytes += is_map ? kTensorMapBytes : 8;
  }
  return bytes;
}

}  // namespace

absl::StatusOr<CudaSchedule> ScheduleOnCuda(const KernelPlan& plan, const TargetTraits& traits) {
  TAILOR_ASSIGN_OR_RETURN(CudaSchedule schedule, ScheduleByKind(plan, traits));
  for (const CudaVersion& version : schedule.versions) {
    const int64_t shared = version.shared_bytes.constant().value_or(0);
    if (shared <= traits.regional_bytes) continue;
    return absl::UnimplementedError(absl::StrCat("kernel ", plan.name, ": ", version.ShapeText(), " take ", shared,
                                                 " bytes of shared memory, of ", traits.regional_bytes));
  }
  return schedule;
}

absl::Status EmitOnCuda(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                        llvm::Module& module) {
  TAILOR_RETURN_IF_ERROR(VerifyCudaSchedule(plan, schedule));
  TAILOR_RETURN_IF_ERROR(EmitByKind(plan, schedule, name, module));
  for (size_t i = 0; i < schedule.versions.size(); ++i) {
    const int64_t bytes = ParameterBytes(*module.getFunction(absl::StrCat(name, "_v", i)));
    if (bytes <= kMostParameterBytes) continue;
    return absl::UnimplementedError(absl::StrCat("kernel ", plan.name, ": its parameters take ", bytes, " bytes, of ",
                                                 kMostParameterBytes, " that a GPU's kernels have"));
  }
  return absl::OkStatus();
}

}  // namespace tailor::cuda
