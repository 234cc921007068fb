#include "codegen/ir/digits.h"

#include <utility>

namespace tailor {

Digits::Digits(llvm::IRBuilderBase& b, llvm::Value* first, std::vector<llvm::Value*> dim_sizes)
    : b_(b), dim_sizes_(std::move(dim_sizes)) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  for (size_t i = 0; i < dim_sizes_.size(); ++i) {
    digits_.push_back(at_entry.CreateAlloca(b.getInt64Ty(), nullptr, "digit"));
  }
  for (size_t i = dim_sizes_.size(); i-- > 0;) {
    if (i == 0) {
      b.CreateStore(first, digits_[i]);
    } else {
      b.CreateStore(b.CreateURem(first, dim_sizes_[i], "first.digit"), digits_[i]);
      first = b.CreateUDiv(first, dim_sizes_[i], "first.rest");
    }
  }
}

std::vector<llvm::Value*> Digits::Emit() {
  std::vector<llvm::Value*> out;
  for (llvm::AllocaInst* digit : digits_) out.push_back(b_.CreateLoad(b_.getInt64Ty(), digit, "index"));
  return out;
}

void Digits::EmitAdvance() {
  llvm::Value* carry = b_.getTrue();
  for (size_t i = digits_.size(); i-- > 0;) {
    llvm::Value* digit = b_.CreateLoad(b_.getInt64Ty(), digits_[i], "digit.before");
    llvm::Value* next = b_.CreateAdd(digit, b_.CreateZExt(carry, b_.getInt64Ty()), "digit.next");
    carry = b_.CreateICmpEQ(next, dim_sizes_[i], "carry");
    b_.CreateStore(b_.CreateSelect(carry, b_.getInt64(0), next), digits_[i]);
  }
}

}  // namespace tailor
