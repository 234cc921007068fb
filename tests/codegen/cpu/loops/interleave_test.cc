#include "codegen/cpu/loops/interleave.h"

#include "codegen/ir/emit_loop.h"
#include "gtest/gtest.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

namespace tailor::cpu {
namespace {

class InterleaveTest : public testing::Test {
 protected:
  InterleaveTest() : module_("m", context_), b_(context_) {
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt64Ty()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "f", module_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
  }

  // load, add, store of word number `i`.
  void Increment(int i) {
    llvm::Value* word = b_.CreateConstGEP1_64(b_.getInt64Ty(), function_->getArg(0), i, "word");
    llvm::Value* sum = b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), word), function_->getArg(1));
    b_.CreateStore(sum, word);
  }

  std::string OpcodesOf(const llvm::BasicBlock& block) {
    std::string text;
    for (const llvm::Instruction& i : block) text += std::string(i.getOpcodeName()) + " ";
    return text;
  }

  llvm::LLVMContext context_;
  llvm::Module module_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_;
};

TEST_F(InterleaveTest, AnInstructionOfEachInTurn) {
  EmitInTurns(b_, 3, [&](int i) {
    for (int n = 0; n < (i == 1 ? 2 : 1); ++n) Increment(i + 1);  // the second chain is longer
  });
  b_.CreateRetVoid();
  EXPECT_EQ(OpcodesOf(function_->getEntryBlock()),
            "getelementptr getelementptr getelementptr load load load add add add store store store "
            "getelementptr load add store ret ");
  EXPECT_FALSE(llvm::verifyFunction(*function_));
}

TEST_F(InterleaveTest, ChainsThatOpenBlocksStayAsTheyAre) {
  EmitInTurns(b_, 2, [&](int i) {
    Increment(i + 1);
    EmitIf(b_, b_.CreateICmpEQ(function_->getArg(1), b_.getInt64(i)), "if", [&] { Increment(0); });
  });
  b_.CreateRetVoid();
  EXPECT_EQ(OpcodesOf(function_->getEntryBlock()), "getelementptr load add store icmp br ");
  EXPECT_FALSE(llvm::verifyFunction(*function_));
}

}  // namespace
}  // namespace tailor::cpu
