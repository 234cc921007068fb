// From IR to PTX text.
#ifndef TAILOR_CODEGEN_CUDA_PTX_COMPILE_PTX_H_
#define TAILOR_CODEGEN_CUDA_PTX_COMPILE_PTX_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/cuda/ptx/target.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {

// Optimizes `module`, lowers its device intrinsics and runs LLVM's NVPTX back end for `target`. INTERNAL if the module
// does not verify or calls unknown functions.
absl::StatusOr<std::string> CompileToPtx(std::unique_ptr<llvm::Module> module, const CudaTarget& target);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_COMPILE_PTX_H_
