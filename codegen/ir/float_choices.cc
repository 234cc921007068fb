#include "codegen/ir/float_choices.h"

#include <string>
#include <vector>

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PatternMatch.h"

namespace tailor {
namespace {

using llvm::CmpInst;
using llvm::Value;

// The number that all lanes of `value` are, or null: not for NaN.
const llvm::APFloat* NumberOf(Value* value) {
  const llvm::APFloat* number = nullptr;
  if (!llvm::PatternMatch::match(value, llvm::PatternMatch::m_APFloat(number)) || number->isNaN()) return nullptr;
  return number;
}

// One comparison where an operand is a number: NaN fails an ordered comparison that would choose the number. At
// equality the choice is x, unless the number is the zero that x must give way to.
Value* EmitAgainstNumber(llvm::IRBuilderBase& b, bool is_max, Value* x, Value* number, const llvm::APFloat& value) {
  if (value.isZero() && value.isNegative() != is_max) {
    Value* wins = b.CreateFCmp(is_max ? CmpInst::FCMP_UGT : CmpInst::FCMP_ULT, x, number, "wins");
    return b.CreateSelect(wins, x, number);
  }
  Value* loses = b.CreateFCmp(is_max ? CmpInst::FCMP_OGT : CmpInst::FCMP_OLT, number, x, "loses");
  return b.CreateSelect(loses, number, x);
}

// A NaN x is kept by the last select, a NaN y because it fails the comparison.
Value* EmitExtreme(llvm::IRBuilderBase& b, bool is_max, Value* x, Value* y) {
  if (const llvm::APFloat* number = NumberOf(y)) return EmitAgainstNumber(b, is_max, x, y, *number);
  if (const llvm::APFloat* number = NumberOf(x)) return EmitAgainstNumber(b, is_max, y, x, *number);
  Value* wins = b.CreateFCmp(is_max ? CmpInst::FCMP_OGT : CmpInst::FCMP_OLT, x, y, "wins");
  Value* ordered = b.CreateSelect(wins, x, y, "ordered");
  return b.CreateSelect(b.CreateFCmpUNO(x, x, "is_nan"), x, ordered);
}

// Null where `call` stays.
Value* Lowered(llvm::CallInst& call, Extremes extremes) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return nullptr;
  if (callee->getName().starts_with(kHiddenCondition)) return call.getArgOperand(0);
  const llvm::Intrinsic::ID id = callee->getIntrinsicID();
  if (id != llvm::Intrinsic::maximum && id != llvm::Intrinsic::minimum) return nullptr;
  if (extremes == Extremes::kDoubles && !call.getType()->getScalarType()->isDoubleTy()) return nullptr;
  llvm::IRBuilder<> b(&call);
  return EmitExtreme(b, id == llvm::Intrinsic::maximum, call.getArgOperand(0), call.getArgOperand(1));
}

}  // namespace

Value* EmitHidden(llvm::IRBuilderBase& b, Value* condition) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(condition->getType());
  const unsigned lanes = vector == nullptr ? 1 : vector->getNumElements();
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  auto* function = llvm::cast<llvm::Function>(
      module.getOrInsertFunction(kHiddenCondition + std::to_string(lanes), condition->getType(), condition->getType())
          .getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setSpeculatable();
  function->setNoSync();
  function->addFnAttr(llvm::Attribute::NoCallback);
  return b.CreateCall(function, {condition}, "condition");
}

void LowerFloatChoices(llvm::Module& module, Extremes extremes) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        Value* value = call == nullptr ? nullptr : Lowered(*call, extremes);
        if (value == nullptr) continue;
        if (llvm::isa<llvm::Instruction>(value) && !value->hasName()) value->takeName(call);
        call->replaceAllUsesWith(value);
        call->eraseFromParent();
      }
    }
  }
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (function.getName().starts_with(kHiddenCondition) && function.use_empty()) function.eraseFromParent();
  }
}

}  // namespace tailor
