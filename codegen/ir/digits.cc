#include "codegen/ir/digits.h"

#include <utility>

#include "codegen/ir/emit_loop.h"

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
  if (digits_.empty()) return;
  llvm::Value* last = b_.CreateLoad(b_.getInt64Ty(), digits_.back(), "digit.before");
  EmitCarry(digits_.size() - 1, b_.CreateAdd(last, b_.getInt64(1), "digit.next"));
}

void Digits::EmitCarry(size_t digit, llvm::Value* next) {
  for (size_t i = digit;; --i) {
    llvm::Value* carry = b_.CreateICmpEQ(next, dim_sizes_[i], "carry");
    b_.CreateStore(b_.CreateSelect(carry, b_.getInt64(0), next), digits_[i]);
    if (i == 0) return;
    llvm::Value* before = b_.CreateLoad(b_.getInt64Ty(), digits_[i - 1], "digit.before");
    next = b_.CreateAdd(before, b_.CreateZExt(carry, b_.getInt64Ty()), "digit.next");
  }
}

void Digits::EmitRuns(llvm::Value* first, llvm::Value* end,
                      llvm::function_ref<void(std::vector<llvm::Value*> digits)> body) {
  EmitLoop(b_, first, end, "run", [&](llvm::Value* number) {
    std::vector<llvm::Value*> digits = Emit();
    llvm::Value* begin = digits.back();
    llvm::Value* left = b_.CreateAdd(begin, b_.CreateSub(end, number), "left");
    llvm::Value* run_end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, dim_sizes_.back(), nullptr, "run.end");
    EmitLoop(b_, begin, run_end, 1, "digit", [&](llvm::Value* digit) {
      digits.back() = digit;
      body(digits);
    });
    EmitCarry(digits_.size() - 1, run_end);
    return b_.CreateAdd(number, b_.CreateSub(run_end, begin), "run.next");
  });
}

}  // namespace tailor
