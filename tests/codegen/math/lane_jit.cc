#include "tests/codegen/math/lane_jit.h"

#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "codegen/scalar/scalar_ops_cast.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

namespace tailor::math {
namespace {

using llvm::Value;

void InitializeX86() {
  static const bool once = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)once;
}

EmitTarget TargetOf(const std::string& cpu) { return EmitTarget::Of(FindCpuTarget(cpu)->traits); }

int ArityOf(OpKind op) { return static_cast<int>(InfoOf(op).operands.size()); }

// The dtype of argument `i`: only select mixes them.
DType ArgumentType(const OpUse& use, int i) { return use.op == OpKind::kSelect && i == 0 ? DType::kBool : use.operand; }

Value* EmitElement(llvm::IRBuilder<>& b, const EmitTarget& target, const OpUse& use, int lanes, Value* index,
                   llvm::Function* f) {
  llvm::SmallVector<Value*> args;
  for (int i = 0; i < ArityOf(use.op); ++i) {
    const DType dtype = ArgumentType(use, i);
    Value* address = b.CreateGEP(MemoryType(b.getContext(), dtype, 1), f->getArg(1 + i), index, "address");
    const bool uniform = use.uniform && i == 1;
    llvm::Type* type = MemoryType(b.getContext(), dtype, uniform ? 1 : lanes);
    Value* value = FromMemory(b, dtype, b.CreateAlignedLoad(type, address, llvm::Align(1), "element"));
    args.push_back(uniform ? b.CreateVectorSplat(lanes, value) : value);
  }
  return ToMemory(b, use.result, EmitScalarOp(b, target, use.op, use.operand, use.result, args));
}

// Emits `void @name(ptr out, ptr x, ptr y, ptr z, i64 n)`, which stores element(i) to out[i], `lanes` at a time.
void EmitElementLoop(llvm::Module& module, DType result, int lanes, const std::string& name,
                     const std::function<Value*(llvm::IRBuilder<>&, Value* index, llvm::Function*)>& element) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto* ptr = b.getPtrTy();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {ptr, ptr, ptr, ptr, b.getInt64Ty()}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module);
  f->addFnAttr("no-builtins");
  auto* entry = llvm::BasicBlock::Create(context, "entry", f);
  auto* loop = llvm::BasicBlock::Create(context, "loop", f);
  auto* body = llvm::BasicBlock::Create(context, "body", f);
  auto* done = llvm::BasicBlock::Create(context, "done", f);
  b.SetInsertPoint(entry);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* index = b.CreatePHI(b.getInt64Ty(), 2, "index");
  b.CreateCondBr(b.CreateICmpSLT(index, f->getArg(4), "more"), body, done);
  b.SetInsertPoint(body);
  Value* value = element(b, index, f);
  Value* address = b.CreateGEP(MemoryType(context, result, 1), f->getArg(0), index, "out");
  b.CreateAlignedStore(value, address, llvm::Align(1));
  index->addIncoming(b.getInt64(0), entry);
  index->addIncoming(b.CreateAdd(index, b.getInt64(lanes), "next"), b.GetInsertBlock());
  b.CreateBr(loop);
  b.SetInsertPoint(done);
  b.CreateRetVoid();
}

}  // namespace

std::string HostCpu() {
  for (const char* cpu : {"x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
    if (RunsHere(*FindCpuTarget(cpu))) return cpu;
  }
  return "";
}

OpUse UseOf(OpKind op, DType operand, DType cast_to) {
  if (op == OpKind::kCast || op == OpKind::kBitcast) return {op, operand, cast_to};
  return {op, operand, InfoOf(op).dtype == DTypeRule::kCompare ? DType::kBool : operand};
}

void EmitOpLoop(llvm::Module& module, const EmitTarget& target, const OpUse& use, int lanes, const std::string& name) {
  EmitElementLoop(module, use.result, lanes, name, [&](llvm::IRBuilder<>& b, Value* index, llvm::Function* f) {
    return EmitElement(b, target, use, lanes, index, f);
  });
}

std::vector<std::string> UndefinedSymbols(std::unique_ptr<llvm::Module> module, const std::string& cpu) {
  auto machine = MakeTargetMachine(*FindCpuTarget(cpu));
  assert(machine.ok());
  auto buffer = CompileModule(std::move(module), **machine);
  assert(buffer.ok());
  auto object = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(**buffer));
  std::vector<std::string> names;
  for (const auto& symbol : object->symbols()) {
    if (!(llvm::cantFail(symbol.getFlags()) & llvm::object::SymbolRef::SF_Undefined)) continue;
    const std::string name = llvm::cantFail(symbol.getName()).str();
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

LaneJit::LaneJit(const OpUse& use, int lanes, const std::string& cpu)
    : LaneJit(lanes, cpu,
              [&](llvm::Module& module, const EmitTarget& target) { EmitOpLoop(module, target, use, lanes, "run"); }) {}

LaneJit::LaneJit(const MathFunction& f, DType dtype, int lanes, const std::string& cpu)
    : LaneJit(lanes, cpu, [&](llvm::Module& module, const EmitTarget& target) {
        EmitElementLoop(module, dtype, lanes, "run", [&](llvm::IRBuilder<>& b, Value* index, llvm::Function* function) {
          Value* address =
              b.CreateGEP(MemoryType(module.getContext(), dtype, 1), function->getArg(1), index, "address");
          llvm::Type* type = MemoryType(module.getContext(), dtype, lanes);
          return f(LaneMath(b, target, type), b.CreateAlignedLoad(type, address, llvm::Align(1), "element"));
        });
      }) {}

LaneJit::LaneJit(int lanes, const std::string& cpu, const EmitLoop& emit) : lanes_(lanes) {
  InitializeX86();
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("lane_jit", *context);
  if (FindCpuTarget(cpu)->traits.half_conversions) SetHalfConversions(*module);
  emit(*module, TargetOf(cpu));
  assert(!llvm::verifyModule(*module, &llvm::errs()));
  llvm::orc::JITTargetMachineBuilder machine(llvm::Triple("x86_64-unknown-linux-gnu"));
  machine.setCPU(cpu);
  jit_ = llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create());
  llvm::cantFail(jit_->addIRModule({std::move(module), std::move(context)}));
  run_ = llvm::cantFail(jit_->lookup("run")).toPtr<decltype(run_)>();
}

}  // namespace tailor::math
