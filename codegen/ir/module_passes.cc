#include "codegen/ir/module_passes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

namespace tailor {

absl::Status VerifyModule(const llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream out(problems);
  if (!llvm::verifyModule(module, &out)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("module ", module.getName().str(), " does not verify: ", problems));
}

void RunPasses(llvm::Module& module, llvm::TargetMachine& machine,
               llvm::function_ref<llvm::ModulePassManager(llvm::PassBuilder&)> choose) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl no_library(machine.getTargetTriple());
  no_library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(no_library); });
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  choose(builder).run(module, modules);
}

}  // namespace tailor
