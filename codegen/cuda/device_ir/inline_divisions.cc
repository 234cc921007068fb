#include "codegen/cuda/device_ir/inline_divisions.h"

#include <vector>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/IntegerDivision.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

bool MultipliesInWarpgroups(const llvm::Function& function) {
  return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    return callee != nullptr && callee->getName().starts_with((device::kPrefix + "wgmma_m").str());
  });
}

Value* MultiplyAdd(llvm::IRBuilderBase& b, Value* x, Value* y, Value* z) {
  return b.CreateIntrinsic(llvm::Intrinsic::fma, {b.getDoubleTy()}, {x, y, z});
}
Value* Double(llvm::IRBuilderBase& b, double value) { return llvm::ConstantFP::get(b.getDoubleTy(), value); }

// x / y: a reciprocal of 20 bits, improved by two Newton iterations, then the quotient corrected by its remainder.
Value* EmitQuotient(llvm::IRBuilderBase& b, Value* x, Value* y) {
  x = b.CreateFPExt(x, b.getDoubleTy());
  y = b.CreateFPExt(y, b.getDoubleTy());
  Value* reciprocal = b.CreateIntrinsic(llvm::Intrinsic::nvvm_rcp_approx_ftz_d, {}, {y}, nullptr, "reciprocal");
  Value* rough = b.CreateFMul(x, reciprocal, "quotient.rough");
  for (int i = 0; i < 2; ++i) {
    Value* error = MultiplyAdd(b, b.CreateFNeg(y), reciprocal, Double(b, 1));
    reciprocal = MultiplyAdd(b, reciprocal, error, reciprocal);
  }
  Value* quotient = b.CreateFMul(x, reciprocal, "quotient");
  quotient = MultiplyAdd(b, MultiplyAdd(b, b.CreateFNeg(y), quotient, x), reciprocal, quotient);
  // A quotient that is zero, infinite or NaN is so in the rough result already.
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, rough);
  Value* usual = b.CreateAnd(b.CreateFCmpOGT(magnitude, Double(b, 0)),
                             b.CreateFCmpOLT(magnitude, llvm::ConstantFP::getInfinity(b.getDoubleTy())));
  return b.CreateFPTrunc(b.CreateSelect(usual, quotient, rough), b.getFloatTy(), "quotient");
}

// Square root of x: 1 / root to 20 bits, improved by Newton's iteration, then the root corrected by its remainder.
Value* EmitRoot(llvm::IRBuilderBase& b, Value* x) {
  Value* wide = b.CreateFPExt(x, b.getDoubleTy());
  Value* inverse = b.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_d, {}, {wide}, nullptr, "inverse.root");
  Value* error = MultiplyAdd(b, b.CreateFNeg(b.CreateFMul(wide, inverse)), inverse, Double(b, 1));
  inverse = MultiplyAdd(b, b.CreateFMul(inverse, Double(b, 0.5)), error, inverse);
  Value* root = b.CreateFMul(wide, inverse, "root");
  Value* rest = MultiplyAdd(b, b.CreateFNeg(root), root, wide);
  root = MultiplyAdd(b, rest, b.CreateFMul(inverse, Double(b, 0.5)), root);
  Value* narrow = b.CreateFPTrunc(root, b.getFloatTy(), "root");
  Value* zero = llvm::ConstantFP::get(b.getFloatTy(), 0);
  Value* usual = b.CreateAnd(b.CreateFCmpOGT(x, zero),
                             b.CreateFCmpOLT(x, llvm::ConstantFP::getInfinity(b.getFloatTy())), "is.usual");
  Value* own = b.CreateSelect(b.CreateFCmpOGE(x, zero), x, llvm::ConstantFP::getNaN(b.getFloatTy()));
  return b.CreateSelect(usual, narrow, own, "root");
}

// Vectors are processed lane by lane.
template <class Emit>
void ReplaceFloats(llvm::Instruction& instruction, const Emit& emit) {
  llvm::IRBuilder<> b(&instruction);
  auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
  Value* result = lanes == nullptr ? emit(b, [&](unsigned i) { return instruction.getOperand(i); })
                                   : static_cast<Value*>(llvm::PoisonValue::get(lanes));
  for (unsigned lane = 0; lanes != nullptr && lane < lanes->getNumElements(); ++lane) {
    Value* value = emit(b, [&](unsigned i) { return b.CreateExtractElement(instruction.getOperand(i), lane); });
    result = b.CreateInsertElement(result, value, lane);
  }
  instruction.replaceAllUsesWith(result);
  instruction.eraseFromParent();
}

// Operands below 2^32 are divided as 32-bit integers, others bit by bit.
void ReplaceInteger(llvm::BinaryOperator& division) {
  llvm::IRBuilder<> b(&division);
  Value *x = division.getOperand(0), *y = division.getOperand(1);
  Value* high = b.CreateLShr(b.CreateOr(x, y), 32, "high");
  llvm::Instruction *narrow_end = nullptr, *wide_end = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(b.CreateICmpEQ(high, b.getInt64(0), "is.narrow"), &division, &narrow_end,
                                      &wide_end);
  const bool divides =
      division.getOpcode() == llvm::Instruction::UDiv || division.getOpcode() == llvm::Instruction::SDiv;
  b.SetInsertPoint(narrow_end);
  Value *narrow_x = b.CreateTrunc(x, b.getInt32Ty()), *narrow_y = b.CreateTrunc(y, b.getInt32Ty());
  Value* narrow = divides ? b.CreateUDiv(narrow_x, narrow_y) : b.CreateURem(narrow_x, narrow_y);
  narrow = b.CreateZExt(narrow, b.getInt64Ty(), "narrow");
  b.SetInsertPoint(wide_end);
  auto* wide = llvm::cast<llvm::BinaryOperator>(b.Insert(division.clone(), "wide"));
  b.SetInsertPoint(&division);
  llvm::PHINode* result = b.CreatePHI(b.getInt64Ty(), 2, "divided");
  result->addIncoming(narrow, narrow_end->getParent());
  result->addIncoming(wide, wide_end->getParent());
  division.replaceAllUsesWith(result);
  division.eraseFromParent();
  divides ? llvm::expandDivision(wide) : llvm::expandRemainder(wide);
}

// A division of less than 32 bits becomes one of 32.
void Widen(llvm::BinaryOperator& division) {
  llvm::IRBuilder<> b(&division);
  const auto opcode = division.getOpcode();
  const bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
  const auto wide = [&](Value* value) { return b.CreateIntCast(value, b.getInt32Ty(), is_signed); };
  Value* divided = b.CreateBinOp(opcode, wide(division.getOperand(0)), wide(division.getOperand(1)), "divided");
  division.replaceAllUsesWith(b.CreateTrunc(divided, division.getType()));
  division.eraseFromParent();
}

// Divisions of 32 bits are not calls.
bool IsCall(const llvm::Instruction& instruction) {
  return instruction.isIntDivRem() && instruction.getType()->isIntegerTy() && !instruction.getType()->isIntegerTy(32) &&
         !llvm::isa<llvm::Constant>(instruction.getOperand(1));
}

void Rewrite(llvm::Function& function) {
  std::vector<llvm::Instruction*> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    const bool root = intrinsic != nullptr && intrinsic->getIntrinsicID() == llvm::Intrinsic::sqrt;
    const bool floats = root || instruction.getOpcode() == llvm::Instruction::FDiv;
    if (floats ? instruction.getType()->getScalarType()->isFloatTy() : IsCall(instruction)) {
      found.push_back(&instruction);
    }
  }
  for (llvm::Instruction* instruction : found) {
    if (instruction->isIntDivRem() && instruction->getType()->isIntegerTy(64)) {
      ReplaceInteger(llvm::cast<llvm::BinaryOperator>(*instruction));
    } else if (instruction->isIntDivRem()) {
      Widen(llvm::cast<llvm::BinaryOperator>(*instruction));
    } else if (llvm::isa<llvm::IntrinsicInst>(instruction)) {
      ReplaceFloats(*instruction, [](auto& b, const auto& operand) { return EmitRoot(b, operand(0)); });
    } else {
      ReplaceFloats(*instruction, [](auto& b, const auto& operand) { return EmitQuotient(b, operand(0), operand(1)); });
    }
  }
}

}  // namespace

void InlineDivisions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && MultipliesInWarpgroups(function)) Rewrite(function);
  }
}

}  // namespace tailor::cuda
