#include "codegen/host/emit/host_function.h"

#include "llvm/IR/MDBuilder.h"

namespace tailor::host {

HostFunction::HostFunction(llvm::Module& module, const llvm::Twine& name, int arguments, bool internal)
    : b(module.getContext()) {
  const std::vector<llvm::Type*> types(arguments, b.getPtrTy());
  auto* type = llvm::FunctionType::get(b.getInt32Ty(), types, false);
  function_ = llvm::Function::Create(
      type, internal ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage, name, module);
  if (internal) function_->addFnAttr(llvm::Attribute::NoInline);
  api()->setName("api");
  context()->setName("context");
  b.SetInsertPoint(NewBlock("entry"));
}

llvm::BasicBlock* HostFunction::NewBlock(const llvm::Twine& name) {
  return llvm::BasicBlock::Create(b.getContext(), name, function_);
}

llvm::Value* HostFunction::Address(llvm::Value* base, int64_t bytes) {
  return bytes == 0 ? base : b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, bytes);
}

llvm::Value* HostFunction::LoadI64(llvm::Value* base, int64_t bytes, const llvm::Twine& name) {
  return b.CreateAlignedLoad(b.getInt64Ty(), Address(base, bytes), llvm::Align(8), name);
}

llvm::Value* HostFunction::LoadPtr(llvm::Value* base, int64_t bytes, const llvm::Twine& name) {
  return b.CreateAlignedLoad(b.getPtrTy(), Address(base, bytes), llvm::Align(8), name);
}

void HostFunction::Store(llvm::Value* value, llvm::Value* base, int64_t bytes) {
  b.CreateStore(value, Address(base, bytes));
}

void HostFunction::FailIf(llvm::Value* condition, int32_t check, llvm::Value* lhs, llvm::Value* rhs) {
  FailIf(condition, b.getInt32(check), lhs, rhs);
}

void HostFunction::FailIf(llvm::Value* condition, llvm::Value* check, llvm::Value* lhs, llvm::Value* rhs) {
  llvm::BasicBlock* from = b.GetInsertBlock();
  llvm::BasicBlock* next = NewBlock("ok");
  if (fail_ == nullptr) {
    fail_ = NewBlock("fail");
    b.SetInsertPoint(fail_);
    fail_check_ = b.CreatePHI(b.getInt32Ty(), 0, "check");
    fail_lhs_ = b.CreatePHI(b.getInt64Ty(), 0, "lhs");
    fail_rhs_ = b.CreatePHI(b.getInt64Ty(), 0, "rhs");
    b.CreateRet(CallApi(offsetof(RtApi, fail), b.getInt32Ty(), {fail_check_, fail_lhs_, fail_rhs_}));
    b.SetInsertPoint(from);
  }
  b.CreateCondBr(condition, fail_, next, llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
  fail_check_->addIncoming(check, from);
  fail_lhs_->addIncoming(lhs, from);
  fail_rhs_->addIncoming(rhs, from);
  b.SetInsertPoint(next);
}

llvm::Value* HostFunction::CallApi(size_t offset, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
  std::vector<llvm::Value*> values = {context()};
  values.insert(values.end(), arguments.begin(), arguments.end());
  std::vector<llvm::Type*> types;
  for (const llvm::Value* value : values) types.push_back(value->getType());
  return b.CreateCall(llvm::FunctionType::get(result, types, false), LoadPtr(api(), offset), values);
}

void HostFunction::ReturnIfFailed(llvm::Value* code) {
  llvm::BasicBlock* failed = NewBlock("failed");
  llvm::BasicBlock* next = NewBlock("ok");
  b.CreateCondBr(b.CreateICmpNE(code, b.getInt32(0)), failed, next,
                 llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
  b.SetInsertPoint(failed);
  b.CreateRet(code);
  b.SetInsertPoint(next);
}

void HostFunction::If(llvm::Value* condition, bool likely, llvm::function_ref<void()> then) {
  llvm::BasicBlock* inside = NewBlock("then");
  llvm::BasicBlock* after = NewBlock("after");
  llvm::MDBuilder md(b.getContext());
  b.CreateCondBr(condition, inside, after, likely ? md.createLikelyBranchWeights() : md.createUnlikelyBranchWeights());
  b.SetInsertPoint(inside);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void HostFunction::IfElse(llvm::Value* condition, llvm::function_ref<void()> then,
                          llvm::function_ref<void()> otherwise) {
  llvm::BasicBlock* first = NewBlock("then");
  llvm::BasicBlock* second = NewBlock("else");
  llvm::BasicBlock* after = NewBlock("after");
  b.CreateCondBr(condition, first, second);
  b.SetInsertPoint(first);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(second);
  otherwise();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

llvm::Value* HostFunction::While(llvm::Value* state, llvm::function_ref<llvm::Value*(llvm::Value*)> go,
                                 llvm::function_ref<llvm::Value*(llvm::Value*)> turn) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* head = NewBlock("while");
  llvm::BasicBlock* inside = NewBlock("turn");
  llvm::BasicBlock* after = NewBlock("after");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* current = b.CreatePHI(state->getType(), 2, "state");
  current->addIncoming(state, before);
  b.CreateCondBr(go(current), inside, after);
  b.SetInsertPoint(inside);
  llvm::Value* next = turn(current);
  current->addIncoming(next, b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(after);
  return current;
}

}  // namespace tailor::host
