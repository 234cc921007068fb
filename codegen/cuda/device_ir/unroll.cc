#include "codegen/cuda/device_ir/unroll.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"

namespace tailor::cuda {

void SetUnroll(llvm::BasicBlock* latch, int count) {
  llvm::LLVMContext& context = latch->getContext();
  auto* number = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), count));
  llvm::Metadata* wish[] = {llvm::MDString::get(context, "llvm.loop.unroll.count"), number};
  llvm::MDNode* loop = llvm::MDNode::getDistinct(context, {nullptr, llvm::MDNode::get(context, wish)});
  loop->replaceOperandWith(0, loop);
  latch->getTerminator()->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

}  // namespace tailor::cuda
