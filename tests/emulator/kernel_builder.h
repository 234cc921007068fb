// Builds small kernels for tests of the emulator, with an IRBuilder.
#ifndef TAILOR_TESTS_EMULATOR_KERNEL_BUILDER_H_
#define TAILOR_TESTS_EMULATOR_KERNEL_BUILDER_H_

#include <functional>
#include <string>
#include <vector>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/ir/emit_loop.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor {

// A module of one kernel "k" whose parameters are pointers to global memory.
class KernelBuilder {
 public:
  // `body` must leave `b` at the end of an open block.
  KernelBuilder(int parameters, const std::function<void(KernelBuilder&)>& body) : module_("kernels", context_) {
    const std::vector<llvm::Type*> types(parameters, b.getPtrTy(device::kGlobalSpace));
    kernel_ = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                     llvm::Function::ExternalLinkage, "k", module_);
    kernel_->setCallingConv(llvm::CallingConv::PTX_Kernel);
    b.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", kernel_));
    body(*this);
    b.CreateRetVoid();
  }

  llvm::Module& module() { return module_; }
  llvm::Value* parameter(int i) { return kernel_->getArg(i); }
  llvm::Value* Thread() { return device::EmitThreadId(b); }
  // The address of element `index` of an array of `type`.
  llvm::Value* At(llvm::Type* type, llvm::Value* array, llvm::Value* index) { return b.CreateGEP(type, array, index); }
  llvm::Value* SharedAt(llvm::Type* type, llvm::Value* index) { return At(type, device::EmitSharedMemory(b), index); }

 private:
  llvm::LLVMContext context_;

 public:
  llvm::IRBuilder<> b{context_};

 private:
  llvm::Module module_;
  llvm::Function* kernel_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_EMULATOR_KERNEL_BUILDER_H_
