// Emits the choice between the versions of a program, by dim sizes, at every call. Not cached: the versions cache their
// own layouts.
#include "codegen/host/emit/host_unit.h"
#include "llvm/IR/MDBuilder.h"

namespace tailor::host {
namespace {

class VersionsEmitter {
 public:
  VersionsEmitter(const HostUnit& unit, const char* what, int arguments)
      : unit_(unit),
        what_(what),
        f_(unit.module, HostFunctionName(what, unit.number), arguments, /*internal=*/unit.number > 0),
        general_(llvm::BasicBlock::Create(f_.b.getContext(), "general", f_.function())),
        dims_(f_.b, [this](llvm::Value* overflows) { GeneralIf(overflows); }) {}

  void Emit() {
    for (const SymbolBinding& binding : unit_.program.bindings) Bind(binding);
    const HostProgram::Versions& versions = *unit_.program.versions;
    for (const auto& [a, b] : versions.equal) {
      GeneralIf(f_.b.CreateICmpNE(dims_.Emit(a).value, dims_.Emit(b).value, "differ"));
    }
    PassOn(versions.joined);
    f_.b.SetInsertPoint(general_);
    PassOn(versions.general);
  }

 private:
  // If a binding has a remainder or a dim size is out of range, both versions fail, so the choice does not matter.
  void Bind(const SymbolBinding& binding) {
    llvm::Value* in = f_.LoadPtr(f_.argument(2), TensorByte(binding.input, offsetof(TensorArg, dims)), "in.dims");
    DimEmitter solve(f_.b, [this](llvm::Value* overflows) { GeneralIf(overflows); });
    solve.SetSymbol(0, {f_.LoadI64(in, 8 * binding.dim, "extent"), 0, INT64_MAX});
    const DimExpr solved = DimExpr::FloorDiv(DimExpr::Symbol(0) - binding.offset, binding.coefficient);
    dims_.SetSymbol(binding.symbol, solve.Emit(solved));
  }

  void GeneralIf(llvm::Value* condition) {
    llvm::BasicBlock* next = llvm::BasicBlock::Create(f_.b.getContext(), "next", f_.function());
    f_.b.CreateCondBr(condition, general_, next, llvm::MDBuilder(f_.b.getContext()).createUnlikelyBranchWeights());
    f_.b.SetInsertPoint(next);
  }

  void PassOn(int program) {
    std::vector<llvm::Value*> arguments;
    for (llvm::Argument& argument : f_.function()->args()) arguments.push_back(&argument);
    f_.b.CreateRet(f_.b.CreateCall(CalledFunction(unit_, what_, program), arguments));
  }

  const HostUnit& unit_;
  const char* what_;
  HostFunction f_;
  llvm::BasicBlock* general_;
  DimEmitter dims_;
};

}  // namespace

void EmitVersions(const HostUnit& unit) {
  VersionsEmitter(unit, "run", 4).Emit();
  VersionsEmitter(unit, "plan", 5).Emit();
}

}  // namespace tailor::host
