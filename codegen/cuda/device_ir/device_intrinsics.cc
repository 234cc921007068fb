#include "codegen/cuda/device_ir/device_intrinsics.h"

#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ModRef.h"
#include "llvm/Support/raw_ostream.h"

namespace tailor::device {
namespace {

using llvm::Attribute;
using llvm::Value;

llvm::Function* Declare(llvm::IRBuilderBase& b, const llvm::Twine& name, llvm::Type* result,
                        llvm::ArrayRef<llvm::Type*> parameters, llvm::MemoryEffects effects) {
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  const std::string full = (kPrefix + name).str();
  if (llvm::Function* known = module.getFunction(full)) return known;
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                          llvm::GlobalValue::ExternalLinkage, full, module);
  function->setDoesNotThrow();
  function->addFnAttr(Attribute::WillReturn);
  function->addFnAttr(Attribute::NoCallback);
  function->setMemoryEffects(effects);
  return function;
}

// An i32 in [least, end) that is constant within a thread.
Value* EmitIndex(llvm::IRBuilderBase& b, const char* name, uint32_t least, uint32_t end) {
  llvm::Function* function = Declare(b, name, b.getInt32Ty(), {}, llvm::MemoryEffects::none());
  function->addFnAttr(Attribute::Speculatable);
  const llvm::ConstantRange range(llvm::APInt(32, least), llvm::APInt(32, end));
  function->addRetAttr(Attribute::get(b.getContext(), Attribute::Range, range));
  return b.CreateCall(function, {}, name);
}

Value* EmitShuffle(llvm::IRBuilderBase& b, const char* kind, Value* value, Value* lane) {
  std::string type;
  llvm::raw_string_ostream(type) << *value->getType();
  llvm::Function* function = Declare(b, llvm::Twine("shuffle_") + kind + "." + type, value->getType(),
                                     {value->getType(), b.getInt32Ty()}, llvm::MemoryEffects::inaccessibleMemOnly());
  function->setConvergent();
  return b.CreateCall(function, {value, lane}, "shuffled");
}

constexpr uint32_t kMaxBlocks = 0x7fffffff;

}  // namespace

Value* EmitThreadId(llvm::IRBuilderBase& b) { return EmitIndex(b, "thread_id", 0, kMaxThreads); }
Value* EmitBlockDim(llvm::IRBuilderBase& b) { return EmitIndex(b, "block_dim", 1, kMaxThreads + 1); }
Value* EmitBlockId(llvm::IRBuilderBase& b) { return EmitIndex(b, "block_id", 0, kMaxBlocks); }
Value* EmitGridDim(llvm::IRBuilderBase& b) { return EmitIndex(b, "grid_dim", 1, kMaxBlocks + 1); }

void EmitBarrier(llvm::IRBuilderBase& b) {
  llvm::Function* function = Declare(b, "barrier", b.getVoidTy(), {}, llvm::MemoryEffects::unknown());
  function->setConvergent();
  b.CreateCall(function, {});
}

void EmitGridBarrier(llvm::IRBuilderBase& b, Value* counter) {
  llvm::Function* function =
      Declare(b, "grid_barrier", b.getVoidTy(), {b.getPtrTy(kGlobalSpace)}, llvm::MemoryEffects::unknown());
  function->setConvergent();
  b.CreateCall(function, {counter});
}

Value* EmitShuffleXor(llvm::IRBuilderBase& b, Value* value, int mask) {
  return EmitShuffle(b, "xor", value, b.getInt32(mask));
}
Value* EmitShuffleDown(llvm::IRBuilderBase& b, Value* value, int distance) {
  return EmitShuffle(b, "down", value, b.getInt32(distance));
}
Value* EmitShuffleIndex(llvm::IRBuilderBase& b, Value* value, Value* lane) {
  return EmitShuffle(b, "idx", value, lane);
}

Value* EmitSharedMemory(llvm::IRBuilderBase& b) {
  llvm::Function* function = Declare(b, "shared_memory", b.getPtrTy(kSharedSpace), {}, llvm::MemoryEffects::none());
  function->addFnAttr(Attribute::Speculatable);
  function->addRetAttr(Attribute::getWithAlignment(b.getContext(), llvm::Align(kSharedAlignment)));
  return b.CreateCall(function, {}, "shared");
}

}  // namespace tailor::device
