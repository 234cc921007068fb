#include "codegen/scalar/scalar_ops.h"

#include <cassert>
#include <limits>
#include <numeric>

#include "codegen/ir/float_choices.h"
#include "codegen/math/functions.h"
#include "codegen/scalar/narrow_pairs.h"
#include "codegen/scalar/scalar_ops_cast.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Analysis/VectorUtils.h"

namespace tailor {
namespace {

using llvm::Value;

// One application of an op. The last column of the op table names the functions of `scalar` below.
struct Call {
  llvm::IRBuilderBase& b;
  const EmitTarget& target;
  DType operand;
  DType result;
  llvm::ArrayRef<Value*> args;

  Value* x() const { return args[0]; }
  Value* y() const { return args[1]; }
  bool on_floats() const { return IsFloat(operand); }
  bool on_signed() const { return IsSigned(operand); }
  bool on_pairs() const { return operand == result && ArePairs(b, result, args[0]->getType()); }
  Value* Rounded(Value* value) const { return RoundToDType(b, result, value); }
  math::LaneMath Math() const { return math::LaneMath(b, target, args[0]->getType()); }
};

llvm::Type* WithLanes(llvm::Type* type, int lanes) {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

llvm::Type* ScalarMemoryType(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::kF32) return llvm::Type::getFloatTy(context);
  if (dtype == DType::kF64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, 8 * SizeOf(dtype));
}

llvm::Type* ScalarRegisterType(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::kBool) return llvm::Type::getInt1Ty(context);
  if (dtype == DType::kF16 || dtype == DType::kBF16) return llvm::Type::getFloatTy(context);
  return ScalarMemoryType(context, dtype);
}

Value* PreferInteger(const Call& c, llvm::CmpInst::Predicate compare, const llvm::Twine& name) {
  return c.b.CreateSelect(c.b.CreateICmp(compare, c.x(), c.y(), name + ".wins"), c.x(), c.y(), name);
}

Value* Compare(const Call& c, llvm::CmpInst::Predicate floats, llvm::CmpInst::Predicate signed_integers,
               llvm::CmpInst::Predicate others, const llvm::Twine& name) {
  if (c.on_floats()) return c.b.CreateFCmp(floats, c.x(), c.y(), name);
  return c.b.CreateICmp(c.on_signed() ? signed_integers : others, c.x(), c.y(), name);
}

// x / 0 = 0 and INT_MIN / -1 = INT_MIN: in both cases, the division instruction divides by one.
Value* DivideIntegers(const Call& c) {
  llvm::Type* type = c.x()->getType();
  llvm::Constant* zero = llvm::Constant::getNullValue(type);
  Value* by_zero = c.b.CreateICmpEQ(c.y(), zero, "div.by_zero");
  Value* by_one = by_zero;
  if (c.on_signed()) {
    llvm::Constant* least = llvm::ConstantInt::get(type, llvm::APInt::getSignedMinValue(type->getScalarSizeInBits()));
    Value* is_least = c.b.CreateICmpEQ(c.x(), least, "div.is_least");
    Value* by_minus = c.b.CreateICmpEQ(c.y(), llvm::Constant::getAllOnesValue(type), "div.by_minus_one");
    by_one = c.b.CreateOr(by_zero, c.b.CreateAnd(is_least, by_minus, "div.overflows"), "div.by_one");
  }
  Value* divisor = c.b.CreateSelect(by_one, llvm::ConstantInt::get(type, 1), c.y(), "div.divisor");
  Value* quotient =
      c.on_signed() ? c.b.CreateSDiv(c.x(), divisor, "div.quotient") : c.b.CreateUDiv(c.x(), divisor, "div.quotient");
  return c.b.CreateSelect(by_zero, zero, quotient, "div");
}

// x rem 0 = 0 and INT_MIN rem -1 = 0: both are the remainder by one.
Value* RemainderOfIntegers(const Call& c) {
  llvm::Type* type = c.x()->getType();
  Value* by_one = c.b.CreateICmpEQ(c.y(), llvm::Constant::getNullValue(type), "rem.by_zero");
  if (c.on_signed()) {
    Value* by_minus = c.b.CreateICmpEQ(c.y(), llvm::Constant::getAllOnesValue(type), "rem.by_minus_one");
    by_one = c.b.CreateOr(by_one, by_minus, "rem.by_one");
  }
  Value* divisor = c.b.CreateSelect(by_one, llvm::ConstantInt::get(type, 1), c.y(), "rem.divisor");
  return c.on_signed() ? c.b.CreateSRem(c.x(), divisor, "rem") : c.b.CreateURem(c.x(), divisor, "rem");
}

// The shift count modulo the bit width.
Value* MaskedCount(const Call& c) {
  const unsigned width = c.y()->getType()->getScalarSizeInBits();
  return c.b.CreateAnd(c.y(), llvm::ConstantInt::get(c.y()->getType(), width - 1), "shift.count");
}

namespace scalar {

using P = llvm::CmpInst;

[[noreturn]] Value* None(const Call&) {
  assert(false && "the op has no scalar lowering");
  __builtin_unreachable();
}

Value* Neg(const Call& c) { return c.on_floats() ? c.b.CreateFNeg(c.x(), "neg") : c.b.CreateNeg(c.x(), "neg"); }

Value* Abs(const Call& c) {
  if (c.on_floats()) return c.b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, c.x(), nullptr, "abs");
  if (!c.on_signed()) return c.x();
  return c.b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, c.x(), c.b.getFalse(), nullptr, "abs");
}

Value* Exp(const Call& c) { return c.Rounded(math::Exp(c.Math(), c.x())); }
Value* Log(const Call& c) { return c.Rounded(math::Log(c.Math(), c.x())); }
Value* Tanh(const Call& c) { return c.Rounded(math::Tanh(c.Math(), c.x())); }
// Converts via memory forms. A bool byte other than 0 is true.
Value* Bitcast(const Call& c) {
  Value* memory = ToMemory(c.b, c.operand, c.x());
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(memory->getType());
  llvm::Type* type = MemoryType(c.b.getContext(), c.result, vector == nullptr ? 1 : vector->getNumElements());
  return FromMemory(c.b, c.result, c.b.CreateBitCast(memory, type, "bitcast"));
}

Value* Erf(const Call& c) {
  const bool narrow = c.result == DType::kF16 || c.result == DType::kBF16;
  return c.Rounded(narrow ? math::ErfOfNarrow(c.Math(), c.x()) : math::Erf(c.Math(), c.x()));
}
Value* Sigmoid(const Call& c) { return c.Rounded(math::Sigmoid(c.Math(), c.x())); }
Value* Pow(const Call& c) { return c.Rounded(math::Pow(c.Math(), c.x(), c.y())); }

Value* Sin(const Call& c) { return c.Rounded(math::Sin(c.Math(), c.x())); }
Value* Cos(const Call& c) { return c.Rounded(math::Cos(c.Math(), c.x())); }
Value* Tan(const Call& c) { return c.Rounded(math::Tan(c.Math(), c.x())); }
Value* Asin(const Call& c) { return c.Rounded(math::Asin(c.Math(), c.x())); }
Value* Acos(const Call& c) { return c.Rounded(math::Acos(c.Math(), c.x())); }
Value* Atan(const Call& c) { return c.Rounded(math::Atan(c.Math(), c.x())); }

// Exact for f16 and bf16 in f32: integers near a value of a float type are values of that type.
Value* Floor(const Call& c) { return c.b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, c.x(), nullptr, "floor"); }
Value* Ceil(const Call& c) { return c.b.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, c.x(), nullptr, "ceil"); }
Value* Round(const Call& c) { return c.b.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, c.x(), nullptr, "round"); }
Value* Trunc(const Call& c) { return c.b.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, c.x(), nullptr, "trunc"); }

Value* Sqrt(const Call& c) {
  return c.Rounded(c.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, c.x(), nullptr, "sqrt"));
}

Value* Rsqrt(const Call& c) {
  Value* root = c.b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, c.x(), nullptr, "rsqrt.root");
  return c.Rounded(c.b.CreateFDiv(llvm::ConstantFP::get(root->getType(), 1.0), root, "rsqrt"));
}

Value* Not(const Call& c) { return c.b.CreateNot(c.x(), "not"); }
Value* Cast(const Call& c) { return EmitCast(c.b, c.operand, c.result, c.x()); }

Value* Add(const Call& c) {
  if (!c.on_floats()) return c.b.CreateAdd(c.x(), c.y(), "add");
  if (c.on_pairs()) return EmitPairOp(c.b, PairOp::kAdd, c.result, c.x(), c.y());
  return c.Rounded(c.b.CreateFAdd(c.x(), c.y(), "add"));
}

Value* Sub(const Call& c) {
  if (!c.on_floats()) return c.b.CreateSub(c.x(), c.y(), "sub");
  if (c.on_pairs()) return EmitPairOp(c.b, PairOp::kSub, c.result, c.x(), c.y());
  return c.Rounded(c.b.CreateFSub(c.x(), c.y(), "sub"));
}

Value* Mul(const Call& c) {
  if (!c.on_floats()) return c.b.CreateMul(c.x(), c.y(), "mul");
  if (c.on_pairs()) return EmitPairOp(c.b, PairOp::kMul, c.result, c.x(), c.y());
  return c.Rounded(c.b.CreateFMul(c.x(), c.y(), "mul"));
}

// Whether division by `divisor` equals multiplication by its inverse.
bool HasExactInverse(Value* divisor) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(divisor);
  return constant != nullptr && constant->getValueAPF().getExactInverse(nullptr);
}

Value* Div(const Call& c) {
  if (!c.on_floats()) return DivideIntegers(c);
  Value* uniform = c.y()->getType()->isVectorTy() ? llvm::getSplatValue(c.y()) : nullptr;
  if (uniform != nullptr && c.target.fma && !HasExactInverse(uniform)) {
    return c.Rounded(math::DivideAll(c.Math(), c.x(), uniform));
  }
  return c.Rounded(c.b.CreateFDiv(c.x(), c.y(), "div"));
}

Value* Rem(const Call& c) { return c.on_floats() ? math::Rem(c.Math(), c.x(), c.y()) : RemainderOfIntegers(c); }

Value* Mod(const Call& c) {
  if (c.on_floats()) return c.Rounded(math::Mod(c.Math(), c.x(), c.y()));
  Value* rem = RemainderOfIntegers(c);
  if (!c.on_signed()) return rem;
  llvm::Constant* zero = llvm::Constant::getNullValue(rem->getType());
  Value* differs = c.b.CreateICmpSLT(c.b.CreateXor(rem, c.y(), "mod.signs"), zero, "mod.sign_differs");
  Value* moves = c.b.CreateAnd(differs, c.b.CreateICmpNE(rem, zero, "mod.is_rest"), "mod.moves");
  return c.b.CreateSelect(moves, c.b.CreateAdd(rem, c.y(), "mod.sum"), rem, "mod");
}

Value* ShiftLeft(const Call& c) { return c.b.CreateShl(c.x(), MaskedCount(c), "shift_left"); }

Value* ShiftRight(const Call& c) {
  Value* count = MaskedCount(c);
  return c.on_signed() ? c.b.CreateAShr(c.x(), count, "shift_right") : c.b.CreateLShr(c.x(), count, "shift_right");
}

Value* Max(const Call& c) {
  if (c.on_floats()) return c.b.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, c.x(), c.y(), nullptr, "max");
  return PreferInteger(c, c.on_signed() ? P::ICMP_SGT : P::ICMP_UGT, "max");
}

Value* Min(const Call& c) {
  if (c.on_floats()) return c.b.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, c.x(), c.y(), nullptr, "min");
  return PreferInteger(c, c.on_signed() ? P::ICMP_SLT : P::ICMP_ULT, "min");
}

Value* Eq(const Call& c) { return Compare(c, P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ, "eq"); }
Value* Ne(const Call& c) { return Compare(c, P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE, "ne"); }
Value* Lt(const Call& c) { return Compare(c, P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT, "lt"); }
Value* Le(const Call& c) { return Compare(c, P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE, "le"); }
Value* Gt(const Call& c) { return Compare(c, P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT, "gt"); }
Value* Ge(const Call& c) { return Compare(c, P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE, "ge"); }
Value* And(const Call& c) { return c.b.CreateAnd(c.x(), c.y(), "and"); }
Value* Or(const Call& c) { return c.b.CreateOr(c.x(), c.y(), "or"); }
Value* Xor(const Call& c) { return c.b.CreateXor(c.x(), c.y(), "xor"); }

// Conditions that may be float comparisons are hidden from InstCombine (codegen/ir/float_choices.h).
Value* Select(const Call& c) {
  Value* condition = c.args[0];
  const bool hides = c.on_floats() && !llvm::isa<llvm::Constant>(condition) && !llvm::isa<llvm::ICmpInst>(condition);
  return c.b.CreateSelect(hides ? EmitOpaque(c.b, condition) : condition, c.args[1], c.args[2], "select");
}

}  // namespace scalar

bool Accepts(DTypeRule rule, DType dtype) {
  switch (rule) {
    case DTypeRule::kFloat:
      return IsFloat(dtype);
    case DTypeRule::kNumeric:
      return IsFloat(dtype) || IsInteger(dtype);
    case DTypeRule::kInteger:
      return IsInteger(dtype);
    case DTypeRule::kLogic:
      return dtype == DType::kBool || IsInteger(dtype);
    default:
      return IsValid(dtype);
  }
}

}  // namespace

llvm::Type* RegisterType(llvm::LLVMContext& context, DType dtype, int lanes) {
  return WithLanes(ScalarRegisterType(context, dtype), lanes);
}

llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype, int lanes) {
  return WithLanes(ScalarMemoryType(context, dtype), lanes);
}

Value* FromMemory(llvm::IRBuilderBase& b, DType dtype, Value* value) {
  if (dtype == DType::kBool) {
    return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()), "from_memory");
  }
  if (dtype == DType::kF16) return F16BitsToF32(b, value);
  if (dtype != DType::kBF16) return value;
  if (ArePairs(b, dtype, value->getType())) return EmitLanes(b, dtype, PairsInMemory(b, value));
  llvm::Type* i32 = value->getType()->getWithNewType(b.getInt32Ty());
  Value* wide = b.CreateShl(b.CreateZExt(value, i32, "from_memory.wide"), 16, "from_memory.bits");
  return b.CreateBitCast(wide, i32->getWithNewType(b.getFloatTy()), "from_memory");
}

Value* ToMemory(llvm::IRBuilderBase& b, DType dtype, Value* value) {
  llvm::Type* type = value->getType();
  if (dtype == DType::kBool) return b.CreateZExt(value, type->getWithNewType(b.getInt8Ty()), "to_memory");
  if (dtype == DType::kF16) return F32ToF16Bits(b, value);
  if (dtype != DType::kBF16) return value;
  if (ArePairs(b, dtype, type)) return MemoryOfPairs(b, EmitPairs(b, dtype, value));
  Value* bits = b.CreateBitCast(value, type->getWithNewType(b.getInt32Ty()), "to_memory.bits");
  return b.CreateTrunc(b.CreateLShr(bits, 16, "to_memory.high"), type->getWithNewType(b.getInt16Ty()), "to_memory");
}

Value* EmitLiteral(llvm::IRBuilderBase& b, DType dtype, uint64_t bits, int lanes) {
  llvm::Type* type = RegisterType(b.getContext(), dtype, lanes);
  if (dtype == DType::kBool) return llvm::ConstantInt::get(type, bits != 0);
  if (!IsFloat(dtype)) return llvm::ConstantInt::get(type, bits);
  const auto& semantics = dtype == DType::kF16    ? llvm::APFloat::IEEEhalf()
                          : dtype == DType::kBF16 ? llvm::APFloat::BFloat()
                          : dtype == DType::kF32  ? llvm::APFloat::IEEEsingle()
                                                  : llvm::APFloat::IEEEdouble();
  const unsigned width = 8 * SizeOf(dtype);
  llvm::APFloat value(semantics, llvm::APInt(64, bits).trunc(width));
  bool loses_info = false;
  value.convert(type->getScalarType()->getFltSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses_info);
  return llvm::ConstantFP::get(type, value);
}

Value* EmitScalarOp(llvm::IRBuilderBase& b, const EmitTarget& target, OpKind op, DType operand, DType result,
                    llvm::ArrayRef<Value*> args) {
  const Call call{b, target, operand, result, args};
  switch (op) {
#define TAILOR_OP_LOWER(id, kind, text, operands, attributes, shape, dtype, fusion, lowering, cost, formula) \
  case OpKind::k##kind:                                                                                      \
    return scalar::lowering(call);
    TAILOR_OP_TABLE(TAILOR_OP_LOWER)
#undef TAILOR_OP_LOWER
  }
  assert(false && "not an op of the table");
  return nullptr;
}

bool CanEmit(OpKind op, DType operand) {
  const OpInfo& info = InfoOf(op);
  return info.fusion == FusionClass::kElementwise && Accepts(info.dtype, operand);
}

Value* EmitNeutral(llvm::IRBuilderBase& b, OpKind combiner, DType dtype, int lanes) {
  llvm::Type* type = RegisterType(b.getContext(), dtype, lanes);
  if (combiner == OpKind::kAdd) return llvm::Constant::getNullValue(type);
  if (combiner == OpKind::kMul) {
    return IsFloat(dtype) ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
  }
  assert(combiner == OpKind::kMax || combiner == OpKind::kMin);
  const bool is_max = combiner == OpKind::kMax;
  if (IsFloat(dtype)) return llvm::ConstantFP::getInfinity(type, is_max);
  const unsigned width = type->getScalarSizeInBits();
  if (IsSigned(dtype)) {
    return llvm::ConstantInt::get(
        type, is_max ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width));
  }
  return llvm::ConstantInt::get(type, is_max ? llvm::APInt::getMinValue(width) : llvm::APInt::getMaxValue(width));
}

Value* EmitLaneReduction(llvm::IRBuilderBase& b, Value* value, llvm::function_ref<Value*(Value*, Value*)> combine) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (vector == nullptr) return value;
  for (unsigned lanes = vector->getNumElements(); lanes > 1; lanes /= 2) {
    assert(lanes % 2 == 0 && "lane counts are powers of two");
    llvm::SmallVector<int> low(lanes / 2), high(lanes / 2);
    std::iota(low.begin(), low.end(), 0);
    std::iota(high.begin(), high.end(), static_cast<int>(lanes / 2));
    Value* low_half = b.CreateShuffleVector(value, low, "reduce.low");
    value = combine(low_half, b.CreateShuffleVector(value, high, "reduce.high"));
  }
  return b.CreateExtractElement(value, uint64_t{0}, "reduce.lane");
}

Value* EmitLaneReduction(llvm::IRBuilderBase& b, const EmitTarget& target, OpKind combiner, DType dtype, Value* value) {
  return EmitLaneReduction(b, value, [&](Value* x, Value* y) {
    return EmitScalarOp(b, target, combiner, dtype, dtype, {x, y});
  });
}

Value* EmitLaneScan(llvm::IRBuilderBase& b, const EmitTarget& target, OpKind combiner, DType dtype, Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (vector == nullptr) return value;
  const int lanes = static_cast<int>(vector->getNumElements());
  Value* neutral = EmitNeutral(b, combiner, dtype, lanes);
  for (int distance = 1; distance < lanes; distance *= 2) {
    llvm::SmallVector<int> earlier(lanes);
    for (int i = 0; i < lanes; ++i) earlier[i] = i < distance ? i : lanes + i - distance;
    Value* shifted = b.CreateShuffleVector(neutral, value, earlier, "scan.earlier");
    value = EmitScalarOp(b, target, combiner, dtype, dtype, {shifted, value});
  }
  return value;
}

}  // namespace tailor
