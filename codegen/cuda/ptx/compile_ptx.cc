#include "codegen/cuda/ptx/compile_ptx.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/device_ir/inline_divisions.h"
#include "codegen/cuda/device_ir/lower_device_intrinsics.h"
#include "codegen/ir/float_choices.h"
#include "codegen/ir/llvm_error.h"
#include "codegen/ir/module_passes.h"
#include "graph/status_macros.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"

namespace tailor::cuda {
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

}  // namespace

absl::StatusOr<std::string> CompileToPtx(std::unique_ptr<llvm::Module> module, const CudaTarget& target) {
  TAILOR_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, MakeMachine(target));
  const CollectedDiagnostics diagnostics(module->getContext());
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  for (llvm::Function& function : *module) {
    if (!function.isDeclaration()) function.addFnAttr("no-builtins");
  }
  // PTX has no names that are local to a text, and several texts may be joined.
  for (llvm::GlobalVariable& table : module->globals()) {
    if (table.hasLocalLinkage()) table.setName(module->getName() + "_" + table.getName());
  }
  TAILOR_RETURN_IF_ERROR(VerifyModule(*module));
  RunPasses(*module, *machine, [](llvm::PassBuilder& builder) {
    return builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  });
  LowerFloatChoices(*module, Extremes::kDoubles);  // the device has instructions for f32
  InlineDivisions(*module);
  TAILOR_RETURN_IF_ERROR(LowerDeviceIntrinsics(*module));
  TAILOR_RETURN_IF_ERROR(VerifyModule(*module));
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream stream(ptx);
  llvm::legacy::PassManager back_end;
  back_end.add(llvm::createAlwaysInlinerLegacyPass());  // grid barriers: no calls beside wgmma (inline_divisions.h)
  if (machine->addPassesToEmitFile(back_end, stream, nullptr, llvm::CodeGenFileType::AssemblyFile,
                                   /*DisableVerify=*/true)) {
    return absl::InternalError("the back end cannot emit PTX");
  }
  back_end.run(*module);
  TAILOR_RETURN_IF_ERROR(diagnostics.status(absl::StrCat("module ", module->getName().str())));
  return ptx.str().str();
}

}  // namespace tailor::cuda
