// Compiles IR to an object: function attributes, a short pass pipeline, code generation.
#include <algorithm>
#include <atomic>
#include <cassert>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/ir/float_choices.h"
#include "codegen/ir/llvm_error.h"
#include "codegen/ir/module_passes.h"
#include "codegen/link/link.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace tailor {
namespace {

std::atomic<uint64_t> modules_emitted{0};

// No unwinding, no library calls from idiom recognition, frame pointers, and PC-relative symbols.
void SetAttributes(llvm::Module& module, const llvm::TargetMachine& machine) {
  const bool wide = machine.getTargetFeatureString().contains("+avx512f");
  for (llvm::Function& f : module) {
    if (f.isIntrinsic()) continue;
    if (!f.hasLocalLinkage()) f.setVisibility(llvm::GlobalValue::HiddenVisibility);
    f.setDoesNotThrow();
    if (f.isDeclaration()) continue;
    f.addFnAttr("no-builtins");
    f.addFnAttr("frame-pointer", "all");
    f.addFnAttr("target-cpu", machine.getTargetCPU());
    f.addFnAttr("target-features", machine.getTargetFeatureString());
    if (wide) f.addFnAttr("prefer-vector-width", "512");
    if (wide) f.addFnAttr("min-legal-vector-width", "512");
  }
  for (llvm::GlobalVariable& g : module.globals()) {
    if (!g.hasLocalLinkage()) g.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
}

// Lanes are explicit in the IR: no vectorizers, and no pass that introduces memset or memcpy.
llvm::ModulePassManager Pipeline() {
  llvm::LoopPassManager loop_passes;
  loop_passes.addPass(llvm::LoopRotatePass());
  loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), /*UseMemorySSA=*/true));
  passes.addPass(llvm::GVNPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::AlwaysInlinerPass());
  all.addPass(llvm::GlobalDCEPass());
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  return all;
}

// Freezes integer quotients and remainders by a value that is not constant. LLVM's loop strength reduction recomputes
// the start of a loop's variables in front of the loop, divisions included (some 20 cycles); it keeps frozen values as
// they are. Runs after all IR passes: InstCombine would remove the freezes.
void HoldQuotients(llvm::Module& module) {
  llvm::SmallVector<llvm::Instruction*> quotients;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const bool is_quotient = instruction.isIntDivRem() && instruction.getType()->isIntegerTy();
      if (is_quotient && !llvm::isa<llvm::Constant>(instruction.getOperand(1))) quotients.push_back(&instruction);
    }
  }
  for (llvm::Instruction* quotient : quotients) {
    auto* frozen = new llvm::FreezeInst(quotient, "held", std::next(quotient->getIterator()));
    quotient->replaceUsesWithIf(frozen, [&](llvm::Use& use) { return use.getUser() != frozen; });
  }
}

void BoundTimeOfBackEnd(llvm::Module& module) {
  constexpr size_t kLongBlock = 400;
  for (llvm::Function& f : module) {
    const bool has_long_block =
        std::any_of(f.begin(), f.end(), [](const llvm::BasicBlock& b) { return b.size() > kLongBlock; });
    if (!f.hasFnAttribute(kSeldomCalled) && !(f.hasFnAttribute(kOncePerShape) && has_long_block)) continue;
    f.addFnAttr(llvm::Attribute::NoInline);  // required by OptimizeNone
    f.addFnAttr(llvm::Attribute::OptimizeNone);
  }
}

// Runs LLVM code generation, which modifies the module: TargetMachine::addPassesToEmitFile, but on 32 vector registers
// without the machine scheduler. That takes 10 to 15 % of the time of compiling, and gains nothing there: emitters
// interleave independent work, and processors reorder the rest. On 16 registers its order of polynomials spills less.
absl::Status RunBackEnd(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                        llvm::SmallVectorImpl<char>& out) {
  auto& target = static_cast<llvm::LLVMTargetMachine&>(machine);
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  llvm::TargetPassConfig* config = target.createPassConfig(passes);
  config->setDisableVerify(true);
  if (machine.getTargetFeatureString().contains("+avx512f")) config->disablePass(&llvm::MachineSchedulerID);
  auto* information = new llvm::MachineModuleInfoWrapperPass(&target);
  passes.add(config);
  passes.add(information);
  if (config->addISelPasses()) return absl::InternalError("the back end has no instruction selection");
  config->addMachinePasses();
  config->setInitialized();
  if (target.addAsmPrinter(passes, stream, nullptr, type, information->getMMI().getContext())) {
    return absl::InternalError("the back end cannot emit this kind of file");
  }
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.run(module);
  return absl::OkStatus();
}

absl::Status Print(const llvm::Module& module, llvm::TargetMachine& machine, ModuleText& text) {
  text.ir.clear();
  llvm::raw_string_ostream(text.ir) << module;
  llvm::SmallVector<char, 0> assembly;
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  absl::Status status = RunBackEnd(*copy, machine, llvm::CodeGenFileType::AssemblyFile, assembly);
  text.assembly.assign(assembly.begin(), assembly.end());
  return status;
}

}  // namespace

uint64_t ModulesEmitted() { return modules_emitted.load(std::memory_order_relaxed); }

absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> CompileModule(std::unique_ptr<llvm::Module> module,
                                                                  llvm::TargetMachine& machine, ModuleText* text) {
  const CollectedDiagnostics diagnostics(module->getContext());
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  SetAttributes(*module, machine);
  if (absl::Status status = VerifyModule(*module); !status.ok()) return status;
  RunPasses(*module, machine, [](llvm::PassBuilder&) { return Pipeline(); });
  LowerFloatChoices(*module, Extremes::kAll);
  HoldQuotients(*module);
  BoundTimeOfBackEnd(*module);
  assert(VerifyModule(*module).ok());
  if (text != nullptr) {
    if (absl::Status status = Print(*module, machine, *text); !status.ok()) return status;
  }
  llvm::SmallVector<char, 0> object;
  absl::Status status = RunBackEnd(*module, machine, llvm::CodeGenFileType::ObjectFile, object);
  if (status.ok()) status = diagnostics.status(absl::StrCat("module ", module->getName().str()));
  if (!status.ok()) return status;
  modules_emitted.fetch_add(1, std::memory_order_relaxed);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), module->getName(),
                                                         /*RequiresNullTerminator=*/false);
}

}  // namespace tailor
