// Kernels on their way to a GPU, with the machine's own assembler.
#ifndef TAILOR_TESTS_CODEGEN_CUDA_PTX_ASSEMBLED_H_
#define TAILOR_TESTS_CODEGEN_CUDA_PTX_ASSEMBLED_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/ptx/compile_ptx.h"
#include "graph/status_macros.h"

namespace tailor::cuda {

struct Assembled {
  std::string ptx;
  Assembly assembly;
};

// The versions of `schedule`, as kernels k_v0, k_v1, ... NOT_FOUND where this machine has no assembler.
inline absl::StatusOr<Assembled> AssembleKernels(const KernelPlan& plan, const CudaSchedule& schedule,
                                                 const CudaTarget& target) {
  TAILOR_ASSIGN_OR_RETURN(const std::unique_ptr<Assembler> assembler, FindAssembler());
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("kernels", context);
  TAILOR_RETURN_IF_ERROR(EmitOnCuda(plan, schedule, "k", *module));
  TAILOR_ASSIGN_OR_RETURN(std::string ptx, CompileToPtx(std::move(module), target));
  TAILOR_ASSIGN_OR_RETURN(Assembly assembly, assembler->Assemble(ptx, target));
  return Assembled{std::move(ptx), std::move(assembly)};
}

}  // namespace tailor::cuda

#endif  // TAILOR_TESTS_CODEGEN_CUDA_PTX_ASSEMBLED_H_
