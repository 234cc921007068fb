// What both back ends do to a module before they emit it: verify it, and run passes over it.
#ifndef TAILOR_CODEGEN_IR_MODULE_PASSES_H_
#define TAILOR_CODEGEN_IR_MODULE_PASSES_H_

#include "absl/status/status.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace tailor {

// INTERNAL with LLVM's words.
absl::Status VerifyModule(const llvm::Module& module);

// Runs the passes that `choose` names, for `machine`. No pass may assume a C library.
void RunPasses(llvm::Module& module, llvm::TargetMachine& machine,
               llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder&)> choose);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_MODULE_PASSES_H_
