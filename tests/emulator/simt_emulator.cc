#include "tests/emulator/simt_emulator.h"

#include <map>
#include <mutex>
#include <vector>

#include "codegen/ir/float_choices.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/emulator/call_device_functions.h"
#include "tests/emulator/instrument_accesses.h"
#include "tests/emulator/launch.h"

namespace tailor {
namespace {

std::string BitcodeOf(const llvm::Module& module) {
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

bool IsKernel(const llvm::Function& function) { return function.getCallingConv() == llvm::CallingConv::PTX_Kernel; }

std::unique_ptr<llvm::orc::LLJIT> MakeJit() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto machine = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
  machine.setCodeGenOptLevel(llvm::CodeGenOptLevel::None);
  return llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(machine)).create());
}

// The module of `bitcode`, with only the bodies of `kernel` and of the functions that it calls.
std::unique_ptr<llvm::Module> ReadKernel(const std::string& bitcode, const std::string& kernel,
                                         llvm::LLVMContext& context) {
  auto module = llvm::cantFail(llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode, "kernels"), context));
  std::vector<llvm::Function*> wanted = {module->getFunction(kernel)};
  for (size_t i = 0; i < wanted.size(); ++i) {
    llvm::cantFail(wanted[i]->materialize());
    for (llvm::Instruction& instruction : llvm::instructions(wanted[i])) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
      if (callee != nullptr && callee->isMaterializable()) wanted.push_back(callee);
    }
  }
  for (llvm::Function& function : *module) {
    if (function.isMaterializable()) function.deleteBody();
    if (!function.isDeclaration()) function.setLinkage(llvm::Function::InternalLinkage);
  }
  llvm::cantFail(module->materializeMetadata());
  return module;
}

// Adds `void @launch.<kernel>(ptr slots)`, which unpacks the parameters.
void AddEntry(llvm::Module& module, llvm::Function& kernel) {
  kernel.setCallingConv(llvm::CallingConv::C);
  llvm::IRBuilder<> b(module.getContext());
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
  auto* entry = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "launch." + kernel.getName(), module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", entry));
  std::vector<llvm::Value*> parameters;
  for (llvm::Argument& parameter : kernel.args()) {
    const int64_t offset = SimtParameterOffset(kernel, parameter.getArgNo());
    llvm::Value* slot = b.CreateConstGEP1_64(b.getInt8Ty(), entry->getArg(0), offset);
    parameters.push_back(parameter.hasByValAttr() ? slot : b.CreateLoad(parameter.getType(), slot));
  }
  // byval parameters are not copied per thread: all threads read the launch's.
  for (unsigned i = 0; i < kernel.arg_size(); ++i) kernel.removeParamAttr(i, llvm::Attribute::ByVal);
  b.CreateCall(&kernel, parameters);
  b.CreateRetVoid();
}

}  // namespace

int64_t SimtParameterOffset(const llvm::Function& kernel, unsigned number) {
  constexpr int64_t kSlotBytes = 8;
  int64_t end = 0;
  for (const llvm::Argument& parameter : kernel.args()) {
    const bool by_value = parameter.hasByValAttr();
    const auto align = static_cast<int64_t>(parameter.getParamAlign().valueOrOne().value());
    if (by_value) end = (end + align - 1) / align * align;
    if (parameter.getArgNo() == number) break;
    end += by_value ? static_cast<int64_t>(parameter.getParamByValType()->getArrayNumElements()) : kSlotBytes;
  }
  return end;
}

class SimtEmulator::Code {
 public:
  Code(std::string bitcode, SimtOptions options)
      : options_(std::move(options)), bitcode_(std::move(bitcode)), jit_(MakeJit()) {
    llvm::LLVMContext context;
    auto module = llvm::cantFail(llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(bitcode_, "kernels"), context));
    for (const llvm::Function& function : *module) {
      if (IsKernel(function)) entries_[function.getName().str()] = nullptr;
    }
  }

  bool Has(const std::string& kernel) const { return entries_.count(kernel) != 0; }

  // Null if the kernel cannot be compiled; `problem` then says why.
  simt::KernelEntry Find(const std::string& kernel, std::string& problem) {
    const std::lock_guard<std::mutex> lock(compiling_);
    simt::KernelEntry& entry = entries_.at(kernel);
    if (entry == nullptr) entry = Compile(kernel, problem);
    return entry;
  }

  const SimtOptions& options() const { return options_; }

 private:
  simt::KernelEntry Compile(const std::string& kernel, std::string& problem) {
    auto context = std::make_unique<llvm::LLVMContext>();
    std::unique_ptr<llvm::Module> module = ReadKernel(bitcode_, kernel, *context);
    module->setDataLayout(jit_->getDataLayout());
    module->setTargetTriple(jit_->getTargetTriple().str());
    simt::InstrumentAccesses(*module, options_.checks_accesses);
    AddEntry(*module, *module->getFunction(kernel));
    LowerFloatChoices(*module, Extremes::kDoubles);
    const std::string unknown = simt::CallDeviceFunctions(*module);
    if (!unknown.empty()) {
      problem = "kernel " + kernel + ": no form of " + unknown + " on the host";
      return nullptr;
    }
    [[maybe_unused]] const bool broken = llvm::verifyModule(*module, &llvm::errs());
    assert(!broken);
    llvm::Error added = jit_->addIRModule({std::move(module), std::move(context)});
    llvm::Expected<llvm::orc::ExecutorAddr> entry =
        added ? llvm::Expected<llvm::orc::ExecutorAddr>(std::move(added)) : jit_->lookup("launch." + kernel);
    if (entry) return entry->toPtr<simt::KernelEntry>();
    problem = "kernel " + kernel + ": " + llvm::toString(entry.takeError());
    return nullptr;
  }

  const SimtOptions options_;
  const std::string bitcode_;
  const std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::mutex compiling_;
  std::map<std::string, simt::KernelEntry> entries_;  // null until compiled
};

SimtEmulator::SimtEmulator(std::string_view bitcode, SimtOptions options)
    : code_(std::make_unique<Code>(std::string(bitcode), std::move(options))) {}
SimtEmulator::SimtEmulator(const llvm::Module& module, SimtOptions options)
    : SimtEmulator(BitcodeOf(module), std::move(options)) {}
SimtEmulator::~SimtEmulator() = default;

bool SimtEmulator::HasKernel(const std::string& name) const { return code_->Has(name); }

std::string SimtEmulator::Launch(const std::string& kernel, const SimtGrid& grid, const int64_t* slots, uint32_t seed) {
  if (!HasKernel(kernel)) return "no kernel " + kernel;
  std::string problem;
  simt::KernelEntry entry = code_->Find(kernel, problem);
  if (entry == nullptr) return problem;
  return simt::RunLaunch(kernel, entry, grid, slots, seed, code_->options());
}

}  // namespace tailor
