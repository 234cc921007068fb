#include "codegen/cpu/gemm/micro_kernels.h"

#include "absl/strings/str_cat.h"

namespace tailor::gemm {

void MicroKernels::Add(const MicroKernel& kernel, const EmitTarget& target, const std::string& name,
                       llvm::Module& module) {
  functions_[{kernel.rows, kernel.panels}] =
      EmitMicroKernel(kernel, target, absl::StrCat(name, "_", kernel.rows, "x", kernel.panels), module);
}

void MicroKernels::EmitCall(llvm::IRBuilderBase& b, llvm::Value* rows, llvm::Value* panels,
                            llvm::ArrayRef<llvm::Value*> arguments) const {
  constexpr int kKeyRows = 16;
  llvm::Value* key = b.CreateAdd(b.CreateMul(rows, b.getInt64(kKeyRows)), panels, "shape");
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* after = llvm::BasicBlock::Create(b.getContext(), "tiled", function);
  auto* never = llvm::BasicBlock::Create(b.getContext(), "no.such.tile", function);
  llvm::SwitchInst* choice = b.CreateSwitch(key, never, functions_.size());
  for (const auto& [shape, micro_kernel] : functions_) {
    auto* block = llvm::BasicBlock::Create(b.getContext(), micro_kernel->getName(), function);
    choice->addCase(b.getInt64(shape.first * kKeyRows + shape.second), block);
    b.SetInsertPoint(block);
    b.CreateCall(micro_kernel, arguments);
    b.CreateBr(after);
  }
  b.SetInsertPoint(never);
  b.CreateUnreachable();
  b.SetInsertPoint(after);
}

}  // namespace tailor::gemm
