#include "codegen/scalar/poll.h"

#include <cstddef>

#include "codegen/ir/emit_loop.h"
#include "exec/host_abi.h"
#include "llvm/IR/MDBuilder.h"

namespace tailor {
namespace {

// The field of RtContext at byte `field`, which other threads may write.
llvm::Value* LoadField(llvm::IRBuilderBase& b, llvm::Value* context, size_t field, llvm::Type* type, const char* name) {
  llvm::Value* address = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), context, field);
  llvm::LoadInst* load = b.CreateAlignedLoad(type, address, llvm::Align(8), name);
  load->setAtomic(llvm::AtomicOrdering::Monotonic);
  return load;
}

// An i1; costs a load and a branch unless there is a reason to ask.
llvm::Value* EmitIsInterrupted(llvm::IRBuilderBase& b, llvm::Value* context) {
  llvm::Value* word = LoadField(b, context, offsetof(RtContext, interrupt), b.getInt64Ty(), "interrupt");
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  llvm::BasicBlock* ask = llvm::BasicBlock::Create(b.getContext(), "ask", function);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(b.getContext(), "asked", function);
  b.CreateCondBr(b.CreateICmpNE(word, b.getInt64(0)), ask, after,
                 llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
  b.SetInsertPoint(ask);
  llvm::Value* interrupted = LoadField(b, context, offsetof(RtContext, interrupted), b.getPtrTy(), "interrupted");
  auto* type = llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy()}, false);
  llvm::CallInst* call = b.CreateCall(type, interrupted, {context});
  call->setDoesNotThrow();
  llvm::Value* ended = b.CreateICmpNE(call, b.getInt32(0));
  b.CreateBr(after);
  b.SetInsertPoint(after);
  llvm::PHINode* result = b.CreatePHI(b.getInt1Ty(), 2, "ended");
  result->addIncoming(b.getFalse(), before);
  result->addIncoming(ended, ask);
  return result;
}

}  // namespace

void EmitUnlessInterrupted(llvm::IRBuilderBase& b, const KernelFrame& frame, llvm::function_ref<void()> body) {
  llvm::Value* context = frame.Get(KernelParameter::kContext);
  if (context == nullptr) return body();
  EmitIf(b, b.CreateNot(EmitIsInterrupted(b, context)), "goes.on", body);
}

}  // namespace tailor
