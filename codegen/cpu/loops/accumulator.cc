#include "codegen/cpu/loops/accumulator.h"

#include "codegen/ir/emit_loop.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"

namespace tailor::cpu {
namespace {

bool SeeksExtreme(const Statement& s) {
  return (s.combiner == OpKind::kMax || s.combiner == OpKind::kMin) && IsFloat(s.accumulate);
}

}  // namespace

Accumulator::Accumulator(llvm::IRBuilderBase& b, const EmitTarget& target, const Statement& s, bool scans, int partials,
                         int lanes)
    : b_(b), target_(target), statement_(s) {
  for (int i = 0; i < partials; ++i) {
    slots_.push_back(OpenVariable(b_, EmitNeutral(b_, s.combiner, s.accumulate, lanes), "accumulator"));
  }
  if (partials > 0 && !scans && lanes > 1 && SeeksExtreme(s)) {
    llvm::Type* wide = b_.getIntNTy(RegisterType(b_.getContext(), s.accumulate, 1)->getScalarSizeInBits());
    llvm::Type* flags = llvm::FixedVectorType::get(target.avx512 ? b_.getInt1Ty() : wide, lanes);
    ordered_ = OpenVariable(b_, llvm::Constant::getAllOnesValue(flags), "ordered");
  }
}

llvm::Value* Accumulator::Combine(llvm::Value* x, llvm::Value* y) {
  const Statement& s = statement_;
  if (ordered_ == nullptr) return EmitScalarOp(b_, target_, s.combiner, s.accumulate, s.accumulate, {x, y});
  const auto wins = s.combiner == OpKind::kMax ? llvm::CmpInst::FCMP_OGT : llvm::CmpInst::FCMP_OLT;
  return b_.CreateSelect(b_.CreateFCmp(wins, x, y, "wins"), x, y, "preferred");
}

llvm::BinaryOperator* Accumulator::AsProduct(llvm::Value* value) const {
  if (statement_.combiner != OpKind::kAdd || !target_.fma) return nullptr;
  auto* product = llvm::dyn_cast<llvm::BinaryOperator>(value);
  const bool is_product = product != nullptr && product->getOpcode() == llvm::Instruction::FMul;
  return is_product && product->use_empty() ? product : nullptr;
}

void Accumulator::Add(llvm::Value* value, int partial, llvm::Value* mask) {
  llvm::AllocaInst* slot = slots_[partial];
  llvm::Value* before = b_.CreateLoad(slot->getAllocatedType(), slot, "partial");
  if (llvm::BinaryOperator* product = AsProduct(value)) {
    llvm::Value* sum = b_.CreateIntrinsic(llvm::Intrinsic::fma, {product->getType()},
                                          {product->getOperand(0), product->getOperand(1), before}, nullptr, "sum");
    if (mask != nullptr) sum = b_.CreateSelect(mask, sum, before, "active");
    b_.CreateStore(sum, slot);
    return;
  }
  if (mask != nullptr) {
    const auto lanes = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
    llvm::Value* neutral = EmitNeutral(b_, statement_.combiner, statement_.accumulate, static_cast<int>(lanes));
    value = b_.CreateSelect(mask, value, neutral, "active");
  }
  b_.CreateStore(Combine(before, value), slot);
  if (ordered_ == nullptr) return;
  if (unchecked_ == nullptr) {
    unchecked_ = value;
  } else {
    Check(unchecked_, value);
  }
}

void Accumulator::Check(llvm::Value* x, llvm::Value* y) {
  llvm::Type* flags = ordered_->getAllocatedType();
  llvm::Value* before = b_.CreateLoad(flags, ordered_, "ordered.before");
  llvm::Value* both = b_.CreateSExt(b_.CreateFCmpORD(x, y, "both.ordered"), flags, "both.flags");
  b_.CreateStore(b_.CreateAnd(before, both, "ordered.all"), ordered_);
  unchecked_ = nullptr;
}

void Accumulator::EndStep() {
  if (unchecked_ != nullptr) Check(unchecked_, unchecked_);
}

llvm::Value* Accumulator::Close(bool across_lanes) {
  std::vector<llvm::Value*> parts;
  for (llvm::AllocaInst* slot : slots_) parts.push_back(b_.CreateLoad(slot->getAllocatedType(), slot, "part"));
  while (parts.size() > 1) {
    const size_t half = parts.size() / 2;
    for (size_t i = 0; i < half; ++i) parts[i] = Combine(parts[i], parts[i + half]);
    parts.resize(half);
  }
  llvm::Value* result = parts[0];
  if (across_lanes) result = EmitLaneReduction(b_, result, [&](auto* x, auto* y) { return Combine(x, y); });
  if (ordered_ == nullptr) return result;
  llvm::Value* ordered = b_.CreateLoad(ordered_->getAllocatedType(), ordered_, "ordered");
  if (across_lanes) ordered = b_.CreateAndReduce(ordered);
  ordered = b_.CreateICmpNE(ordered, llvm::Constant::getNullValue(ordered->getType()), "is_ordered");
  return b_.CreateSelect(ordered, result, llvm::ConstantFP::getNaN(result->getType()), "extreme");
}

}  // namespace tailor::cpu
