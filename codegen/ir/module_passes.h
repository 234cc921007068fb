// Verification and passes that all backends run on a module before emission.
#ifndef TAILOR_CODEGEN_IR_MODULE_PASSES_H_
#define TAILOR_CODEGEN_IR_MODULE_PASSES_H_

#include "absl/status/status.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"

namespace tailor {

// Errors: INTERNAL with LLVM's message.
absl::Status VerifyModule(const llvm::Module& module);

// Runs the passes that `choose` returns, for `machine`. Passes may not assume a C library.
void RunPasses(llvm::Module& module, llvm::TargetMachine& machine,
               llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder&)> choose);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_MODULE_PASSES_H_
