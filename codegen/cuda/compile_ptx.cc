#include "codegen/cuda/compile_ptx.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/lower_device_intrinsics.h"
#include "graph/status_macros.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

namespace tailor {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeMachine(const CudaTarget& target) {
  static std::once_flag initialised;
  std::call_once(initialised, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string problem;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(kTriple, problem);
  if (found == nullptr) return absl::InternalError(absl::StrCat("LLVM has no NVPTX back end: ", problem));
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(kTriple, target.name, absl::StrCat("+ptx", target.ptx_version), llvm::TargetOptions(),
                                 std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (machine == nullptr) return absl::InternalError(absl::StrCat("LLVM makes no machine for ", target.name));
  return machine;
}

absl::Status Verify(const llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream out(problems);
  if (!llvm::verifyModule(module, &out)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("module ", module.getName().str(), " does not verify: ", problems));
}

void Optimize(llvm::Module& module, llvm::TargetMachine& machine) {
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
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

}  // namespace

absl::StatusOr<std::string> CompileToPtx(std::unique_ptr<llvm::Module> module, const CudaTarget& target) {
  TAILOR_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeMachine(target));
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  for (llvm::Function& function : *module) {
    if (!function.isDeclaration()) function.addFnAttr("no-builtins");
  }
  TAILOR_RETURN_IF_ERROR(Verify(*module));
  Optimize(*module, *machine);
  TAILOR_RETURN_IF_ERROR(LowerDeviceIntrinsics(*module));
  TAILOR_RETURN_IF_ERROR(Verify(*module));
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager back_end;
  if (machine->addPassesToEmitFile(back_end, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                   /*DisableVerify=*/true)) {
    return absl::InternalError("the back end cannot emit PTX");
  }
  back_end.run(*module);
  return ptx.str().str();
}

}  // namespace tailor
