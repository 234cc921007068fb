#include "codegen/cuda/emit_cuda_product.h"

#include "absl/strings/str_cat.h"
#include "codegen/cuda/multiply_add_loop.h"
#include "codegen/cuda/product_epilogue.h"
#include "codegen/cuda/product_frame.h"
#include "codegen/gemm/contraction.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

void EmitVersion(KernelPlan plan, const Contraction& contraction, const CudaVersion& version, bool along_rows,
                 const std::string& name, llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  ProductFrame product(b, module, plan, contraction, version, name);
  MultiplyAddLoop loop(product);
  loop.Emit();
  EmitProductEpilogue(product, along_rows, [&](llvm::Value* first) { loop.EmitStage(along_rows, first); });
  b.CreateRetVoid();
}

}  // namespace

absl::Status EmitCudaProduct(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                             llvm::Module& module) {
  TAILOR_ASSIGN_OR_RETURN(const Contraction contraction, ReadContraction(plan));
  KernelPlan accesses = plan;  // coefficient queries append expressions
  const bool along_rows = StoresAlongRows(accesses, contraction);
  for (size_t i = 0; i < schedule.versions.size(); ++i) {
    EmitVersion(plan, contraction, schedule.versions[i], along_rows, absl::StrCat(name, "_v", i), module);
  }
  return absl::OkStatus();
}

}  // namespace tailor
