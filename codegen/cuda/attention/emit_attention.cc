#include "codegen/cuda/attention/emit_attention.h"

#include "absl/strings/str_cat.h"
#include "codegen/cuda/attention/simt_attention.h"
#include "codegen/cuda/attention/mma_attention.h"

namespace tailor::cuda {
namespace {

// `plan` is a copy, to which coefficients are added.
void EmitVersion(KernelPlan plan, const CudaVersion& version, const std::string& name, llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  AttentionFrame frame(b, module, plan, version, name);
  if (version.attention.kind == AttentionTile::Kind::kMma) {
    MmaAttention(frame).Emit();
  } else {
    SimtAttention(frame).Emit();
  }
}

}  // namespace

void EmitCudaAttention(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                       llvm::Module& module) {
  for (size_t i = 0; i < schedule.versions.size(); ++i) {
    EmitVersion(plan, schedule.versions[i], absl::StrCat(name, "_v", i), module);
  }
}

}  // namespace tailor::cuda
