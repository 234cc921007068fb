// The micro-kernels of one matmul by the shape of their tile, and the call of the one that a tile needs.
#ifndef TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNELS_H_
#define TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNELS_H_

#include <map>
#include <string>
#include <utility>

#include "codegen/cpu/gemm/micro_kernel.h"

namespace tailor::gemm {

class MicroKernels {
 public:
  // Adds the function for a tile of kernel.rows x kernel.panels to `module`.
  void Add(const MicroKernel& kernel, const EmitTarget& target, const std::string& name, llvm::Module& module);

  // Calls the micro-kernel of `rows` x `panels` (i64), which must have been added, with EmitMicroKernel's arguments.
  void EmitCall(llvm::IRBuilderBase& b, llvm::Value* rows, llvm::Value* panels,
                llvm::ArrayRef<llvm::Value*> arguments) const;

 private:
  std::map<std::pair<int, int>, llvm::Function*> functions_;  // by rows and panels
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNELS_H_
