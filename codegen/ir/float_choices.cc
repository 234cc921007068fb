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

// The constant that all lanes of `value` have; null if there is none or it is NaN.
const llvm::APFloat* NumberOf(Value* value) {
  const llvm::APFloat* number = nullptr;
  if (!llvm::PatternMatch::match(value, llvm::PatternMatch::m_APFloat(number)) || number->isNaN()) return nullptr;
  return number;
}

// Max or min with a constant in one comparison: NaN fails the ordered comparison that would choose the constant. At
// equality the result is x, except where the constant is the zero that IEEE 754 prefers.
Value* EmitAgainstNumber(llvm::IRBuilderBase& b, bool is_max, Value* x, Value* number, const llvm::APFloat& value) {
  if (value.isZero() && value.isNegative() != is_max) {
    Value* wins = b.CreateFCmp(is_max ? CmpInst::FCMP_UGT : CmpInst::FCMP_ULT, x, number, "wins");
    return b.CreateSelect(wins, x, number);
  }
  Value* loses = b.CreateFCmp(is_max ? CmpInst::FCMP_OGT : CmpInst::FCMP_OLT, number, x, "loses");
  return b.CreateSelect(loses, number, x);
}

// NaN in x is kept by the last select, NaN in y because it fails the comparison.
Value* EmitExtreme(llvm::IRBuilderBase& b, bool is_max, Value* x, Value* y) {
  if (const llvm::APFloat* number = NumberOf(y)) return EmitAgainstNumber(b, is_max, x, y, *number);
  if (const llvm::APFloat* number = NumberOf(x)) return EmitAgainstNumber(b, is_max, y, x, *number);
  Value* wins = b.CreateFCmp(is_max ? CmpInst::FCMP_OGT : CmpInst::FCMP_OLT, x, y, "wins");
  Value* ordered = b.CreateSelect(wins, x, y, "ordered");
  return b.CreateSelect(b.CreateFCmpUNO(x, x, "is_nan"), x, ordered);
}

// The replacement of `call`; null if it stays.
Value* Lowered(llvm::CallInst& call, Extremes extremes) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) return nullptr;
  if (callee->getName().starts_with(kOpaqueCondition)) return call.getArgOperand(0);
  const llvm::Intrinsic::ID id = callee->getIntrinsicID();
  if (id != llvm::Intrinsic::maximum && id != llvm::Intrinsic::minimum) return nullptr;
  if (extremes == Extremes::kDoubles && !call.getType()->getScalarType()->isDoubleTy()) return nullptr;
  llvm::IRBuilder<> b(&call);
  return EmitExtreme(b, id == llvm::Intrinsic::maximum, call.getArgOperand(0), call.getArgOperand(1));
}

}  // namespace

Value* EmitOpaque(llvm::IRBuilderBase& b, Value* condition) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(condition->getType());
  const unsigned lanes = vector == nullptr ? 1 : vector->getNumElements();
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  auto* function = llvm::cast<llvm::Function>(
      module.getOrInsertFunction(kOpaqueCondition + std::to_string(lanes), condition->getType(), condition->getType())
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
    if (function.getName().starts_with(kOpaqueCondition) && function.use_empty()) function.eraseFromParent();
  }
}

}  // namespace tailor
