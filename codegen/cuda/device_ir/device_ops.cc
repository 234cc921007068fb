#include "codegen/cuda/device_ir/device_ops.h"

#include <cassert>
#include <cstring>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ModRef.h"

namespace tailor::device {
namespace {

struct Effects {
  llvm::MemoryEffects memory;
  bool convergent;
};

// The state that counts copies is memory inaccessible to others: it keeps copies and group commits in order.
Effects StartsCopy() { return {llvm::MemoryEffects::inaccessibleOrArgMemOnly(), false}; }
Effects StaysInPlace() { return {llvm::MemoryEffects::inaccessibleMemOnly(), false}; }
Effects CountsCopies() { return {llvm::MemoryEffects::inaccessibleMemOnly(), false}; }
Effects Memory() { return {llvm::MemoryEffects::unknown(), false}; }
Effects Computes() { return {llvm::MemoryEffects::none(), false}; }
Effects WarpReads() { return {llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Ref), true}; }
Effects WarpComputes() { return {llvm::MemoryEffects::none(), true}; }
Effects WarpCollective() { return {llvm::MemoryEffects::inaccessibleMemOnly(), true}; }
Effects WarpOrders() { return {llvm::MemoryEffects::unknown(), true}; }

constexpr OpSignature kSignatures[] = {
#define TAILOR_ROW(id, name, results, parameters, ...) {#name, results, parameters, "sm_80"},
    TAILOR_SM80_OPS(TAILOR_ROW)
#undef TAILOR_ROW
#define TAILOR_ROW(id, name, results, parameters, ...) {#name, results, parameters, "sm_90a"},
        TAILOR_SM90A_OPS(TAILOR_ROW)
#undef TAILOR_ROW
};

Effects EffectsOf(Op op) {
  static Effects (*const effects[])() = {
#define TAILOR_ROW(id, name, results, parameters, effects, ...) effects,
      TAILOR_DEVICE_OPS(TAILOR_ROW)
#undef TAILOR_ROW
  };
  return effects[static_cast<int>(op)]();
}

llvm::SmallVector<llvm::Type*> TypesOf(llvm::LLVMContext& context, const char* letters) {
  llvm::SmallVector<llvm::Type*> types;
  for (; *letters != '\0'; ++letters) types.push_back(TypeOf(context, *letters));
  return types;
}

llvm::Type* ResultOf(llvm::LLVMContext& context, const char* letters) {
  const auto types = TypesOf(context, letters);
  if (types.empty()) return llvm::Type::getVoidTy(context);
  return types.size() == 1 ? types[0] : llvm::StructType::get(context, types);
}

llvm::Function* Declare(llvm::Module& module, Op op) {
  const OpSignature& row = kSignatures[static_cast<int>(op)];
  const std::string name = (kPrefix + row.name).str();
  if (llvm::Function* known = module.getFunction(name)) return known;
  llvm::LLVMContext& context = module.getContext();
  auto* type = llvm::FunctionType::get(ResultOf(context, row.results), TypesOf(context, row.parameters), false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  const Effects effects = EffectsOf(op);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::WillReturn);
  function->addFnAttr(llvm::Attribute::NoCallback);
  function->setMemoryEffects(effects.memory);
  if (effects.convergent) function->setConvergent();
  // Two calls must not be merged into one whose constant depends on the path.
  if (std::strchr(row.parameters, 'n') != nullptr) function->addFnAttr(llvm::Attribute::NoMerge);
  return function;
}

}  // namespace

llvm::ArrayRef<OpSignature> OpSignatures() { return kSignatures; }

llvm::Type* TypeOf(llvm::LLVMContext& context, char letter) {
  switch (letter) {
    case 'f':
      return llvm::Type::getFloatTy(context);
    case 'g':
      return llvm::PointerType::get(context, kGlobalSpace);
    case 'm':
      return llvm::PointerType::get(context, 0);
    case 'l':
      return llvm::Type::getInt64Ty(context);
    case 'p':
      return llvm::Type::getInt1Ty(context);
    case 's':
      return llvm::PointerType::get(context, kSharedSpace);
    default:
      assert(letter == 'r' || letter == 'n');
      return llvm::Type::getInt32Ty(context);
  }
}

llvm::Value* EmitOp(llvm::IRBuilderBase& b, Op op, llvm::ArrayRef<llvm::Value*> operands) {
  llvm::Function* function = Declare(*b.GetInsertBlock()->getModule(), op);
  return b.CreateCall(function, operands,
                      function->getReturnType()->isVoidTy() ? "" : OpSignatures()[static_cast<int>(op)].name);
}

llvm::Value* EmitThreadIdHere(llvm::IRBuilderBase& b) {
  return b.CreateAnd(EmitOp(b, Op::kThreadIdHere, {}), kMaxThreads - 1, "thread.here");
}

}  // namespace tailor::device
