#include "codegen/ir/emit_loop.h"

#include <string>

namespace tailor {

llvm::Value* EmitLoop(llvm::IRBuilderBase& b, llvm::Value* from, llvm::Value* to, int64_t step, const llvm::Twine& name,
                      llvm::function_ref<void(llvm::Value*)> body) {
  return EmitLoop(b, from, to, b.getInt64(step), name, body);
}

llvm::Value* EmitLoop(llvm::IRBuilderBase& b, llvm::Value* from, llvm::Value* to, llvm::Value* step,
                      const llvm::Twine& name, llvm::function_ref<void(llvm::Value*)> body) {
  return EmitLoop(b, from, to, name, [&](llvm::Value* index) {
    body(index);
    return b.CreateNSWAdd(index, step, name + ".next");
  });
}

llvm::Value* EmitLoop(llvm::IRBuilderBase& b, llvm::Value* from, llvm::Value* to, const llvm::Twine& name,
                      llvm::function_ref<llvm::Value*(llvm::Value*)> body) {
  llvm::LLVMContext& context = b.getContext();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  const std::string label = name.str();
  auto* head = llvm::BasicBlock::Create(context, label + ".head", function);
  auto* inside = llvm::BasicBlock::Create(context, label + ".body", function);
  auto* after = llvm::BasicBlock::Create(context, label + ".after", function);
  b.CreateBr(head);

  b.SetInsertPoint(head);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2, label);
  index->addIncoming(from, before);
  b.CreateCondBr(b.CreateICmpSLT(index, to, label + ".more"), inside, after);

  b.SetInsertPoint(inside);
  llvm::Value* next = body(index);
  index->addIncoming(next, b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(after);
  return index;
}

llvm::AllocaInst* OpenVariable(llvm::IRBuilderBase& b, llvm::Value* value, const llvm::Twine& name) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  auto* variable = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(value->getType(), nullptr, name);
  b.CreateStore(value, variable);
  return variable;
}

llvm::Value* EmitFirstLanes(llvm::IRBuilderBase& b, int lanes, llvm::Value* count) {
  llvm::SmallVector<llvm::Constant*, 16> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(b.getInt32(i));
  llvm::Value* limit = b.CreateVectorSplat(lanes, b.CreateTrunc(count, b.getInt32Ty()), "lanes.count");
  return b.CreateICmpULT(llvm::ConstantVector::get(numbers), limit, "first.lanes");
}

void EmitIf(llvm::IRBuilderBase& b, llvm::Value* condition, const llvm::Twine& name, llvm::function_ref<void()> then) {
  llvm::LLVMContext& context = b.getContext();
  llvm::Function* function = b.GetInsertBlock()->getParent();
  const std::string label = name.str();
  auto* inside = llvm::BasicBlock::Create(context, label, function);
  auto* after = llvm::BasicBlock::Create(context, label + ".done", function);
  b.CreateCondBr(condition, inside, after);
  b.SetInsertPoint(inside);
  then();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

llvm::Value* EmitChoice(llvm::IRBuilderBase& b, llvm::Value* condition, const llvm::Twine& name,
                        llvm::function_ref<llvm::Value*()> then, llvm::function_ref<llvm::Value*()> otherwise,
                        llvm::MDNode* weights) {
  llvm::LLVMContext& context = b.getContext();
  llvm::Function* function = b.GetInsertBlock()->getParent();
  const std::string label = name.str();
  llvm::BasicBlock* arms[] = {llvm::BasicBlock::Create(context, label + ".then", function),
                              llvm::BasicBlock::Create(context, label + ".else", function)};
  auto* after = llvm::BasicBlock::Create(context, label + ".done", function);
  b.CreateCondBr(condition, arms[0], arms[1], weights);
  llvm::Value* values[2];
  for (int i = 0; i < 2; ++i) {
    b.SetInsertPoint(arms[i]);
    values[i] = i == 0 ? then() : otherwise();
    arms[i] = b.GetInsertBlock();
    b.CreateBr(after);
  }
  b.SetInsertPoint(after);
  llvm::PHINode* value = b.CreatePHI(values[0]->getType(), 2, label);
  for (int i = 0; i < 2; ++i) value->addIncoming(values[i], arms[i]);
  return value;
}

}  // namespace tailor
