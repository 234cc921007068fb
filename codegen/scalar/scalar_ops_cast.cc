#include "codegen/scalar/scalar_ops_cast.h"

#include <cassert>

#include "codegen/scalar/narrow_pairs.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor {
namespace {

using llvm::Value;

llvm::Constant* Bits32(llvm::IRBuilderBase& b, Value* like, uint32_t bits) {
  return llvm::ConstantInt::get(like->getType()->getWithNewType(b.getInt32Ty()), bits);
}

llvm::Constant* Bits64(llvm::IRBuilderBase& b, Value* like, uint64_t bits) {
  return llvm::ConstantInt::get(like->getType()->getWithNewType(b.getInt64Ty()), bits);
}

Value* AsBits(llvm::IRBuilderBase& b, Value* value, const llvm::Twine& name) {
  return b.CreateBitCast(value, value->getType()->getWithNewType(b.getInt32Ty()), name);
}

Value* AsFloat(llvm::IRBuilderBase& b, Value* bits, const llvm::Twine& name) {
  return b.CreateBitCast(bits, bits->getType()->getWithNewType(b.getFloatTy()), name);
}

constexpr char kHalfConversions[] = "tailor.half_conversions";  // a module flag

// Whether LLVM lowers f16 conversions to instructions (F16C).
bool HasHalfConversions(llvm::IRBuilderBase& b) {
  return b.GetInsertBlock()->getModule()->getModuleFlag(kHalfConversions) != nullptr;
}

// Calls device intrinsic `name` on each lane.
Value* EmitNarrow(llvm::IRBuilderBase& b, const char* name, llvm::Type* result, Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (vector == nullptr) return EmitDeviceCall(b, name, result, {value});
  Value* lanes = llvm::PoisonValue::get(result);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    Value* lane = EmitDeviceCall(b, name, result->getScalarType(), {b.CreateExtractElement(value, i, "lane")});
    lanes = b.CreateInsertElement(lanes, lane, i, "narrow.lanes");
  }
  return lanes;
}

Value* RoundToBF16(llvm::IRBuilderBase& b, Value* value) {
  if (IsGpuKernel(b)) {
    Value* half = EmitNarrow(b, "tailor.device.bf16_bits", value->getType()->getWithNewType(b.getInt32Ty()), value);
    return AsFloat(b, b.CreateShl(half, Bits32(b, half, 16), "bf16.high"), "bf16");
  }
  Value* bits = AsBits(b, value, "bf16.bits");
  Value* odd = b.CreateAnd(b.CreateLShr(bits, Bits32(b, bits, 16), "bf16.kept"), Bits32(b, bits, 1), "bf16.odd");
  Value* bias = b.CreateAdd(odd, Bits32(b, bits, 0x7fff), "bf16.bias");
  Value* rounded = b.CreateAnd(b.CreateAdd(bits, bias, "bf16.sum"), Bits32(b, bits, 0xffff0000), "bf16.rounded");
  // A NaN keeps its sign and high payload, made quiet, so that no carry turns it into inf.
  Value* payload = b.CreateAnd(bits, Bits32(b, bits, 0xffff0000), "bf16.payload");
  Value* quiet = b.CreateOr(payload, Bits32(b, bits, 0x00400000), "bf16.quiet");
  Value* is_nan = b.CreateFCmpUNO(value, value, "bf16.is_nan");
  return AsFloat(b, b.CreateSelect(is_nan, quiet, rounded, "bf16.result"), "bf16");
}

// Rounds f64 lanes to f32 so that a second rounding to f16 or bf16 equals a single rounding: an inexact result gets an
// odd last bit (the neighbour towards zero, or-ed with one).
Value* RoundToOdd(llvm::IRBuilderBase& b, Value* value) {
  llvm::Type* f64 = value->getType();
  Value* nearest = b.CreateFPTrunc(value, f64->getWithNewType(b.getFloatTy()), "odd.nearest");
  Value* back = b.CreateFPExt(nearest, f64, "odd.back");
  Value* is_inexact = b.CreateFCmpONE(back, value, "odd.is_inexact");
  Value* back_magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back, nullptr, "odd.back_magnitude");
  Value* magnitude = b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value, nullptr, "odd.magnitude");
  Value* is_away = b.CreateFCmpOGT(back_magnitude, magnitude, "odd.is_away");
  Value* bits = AsBits(b, nearest, "odd.bits");
  Value* lower = b.CreateSub(bits, Bits32(b, bits, 1), "odd.lower");
  Value* towards_zero = b.CreateSelect(is_away, lower, bits, "odd.towards_zero");
  Value* sticky = b.CreateOr(towards_zero, Bits32(b, bits, 1), "odd.sticky");
  return AsFloat(b, b.CreateSelect(is_inexact, sticky, bits, "odd.result"), "odd");
}

// Integers to f64 so that a later rounding to at most 24 bits is the only one: beyond 2^53 the low 12 bits collapse
// into one sticky bit.
Value* IntegerToWide(llvm::IRBuilderBase& b, DType from, Value* value) {
  llvm::Type* f64 = value->getType()->getWithNewType(b.getDoubleTy());
  if (SizeOf(from) == 8) {
    Value* low = b.CreateAnd(value, Bits64(b, value, 0xfff), "wide.low");
    Value* has_low = b.CreateICmpNE(low, Bits64(b, value, 0), "wide.has_low");
    Value* sticky = b.CreateSelect(has_low, Bits64(b, value, 0x800), Bits64(b, value, 0), "wide.sticky");
    Value* collapsed = b.CreateOr(b.CreateXor(value, low, "wide.high"), sticky, "wide.collapsed");
    Value* magnitude = value;
    if (IsSigned(from)) {
      magnitude = b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, value, b.getFalse(), nullptr, "wide.magnitude");
    }
    Value* is_large = b.CreateICmpUGT(magnitude, Bits64(b, value, uint64_t{1} << 53), "wide.is_large");
    value = b.CreateSelect(is_large, collapsed, value, "wide.integer");
  }
  return IsSigned(from) ? b.CreateSIToFP(value, f64, "wide") : b.CreateUIToFP(value, f64, "wide");
}

Value* CastToFloat(llvm::IRBuilderBase& b, DType from, DType to, Value* value) {
  const bool narrow = to == DType::kF16 || to == DType::kBF16;
  llvm::Type* type = value->getType()->getWithNewType(to == DType::kF64 ? b.getDoubleTy() : b.getFloatTy());
  if (from == DType::kBool) {
    return b.CreateSelect(value, llvm::ConstantFP::get(type, 1.0), llvm::ConstantFP::get(type, 0.0), "cast");
  }
  if (IsInteger(from)) {
    if (narrow && SizeOf(from) >= 4) return RoundToDType(b, to, RoundToOdd(b, IntegerToWide(b, from, value)));
    Value* converted = IsSigned(from) ? b.CreateSIToFP(value, type, "cast") : b.CreateUIToFP(value, type, "cast");
    return RoundToDType(b, to, converted);
  }
  if (from == DType::kF64) {
    if (to == DType::kF64) return value;
    return narrow ? RoundToDType(b, to, RoundToOdd(b, value)) : b.CreateFPTrunc(value, type, "cast");
  }
  if (to == DType::kF64) return b.CreateFPExt(value, type, "cast");
  return from == to ? value : RoundToDType(b, to, value);
}

// On CPUs, LLVM's saturating conversions are scalarized. So floats are clamped first, NaN to 0. `limit` is a power of
// two: the largest integer may not be a float, but all floats from `limit` on exceed it.
Value* SaturateToInteger(llvm::IRBuilderBase& b, DType to, Value* value, llvm::Type* type) {
  const bool is_signed = IsSigned(to);
  if (IsGpuKernel(b)) {
    const auto convert = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(convert, {type, value->getType()}, {value}, nullptr, "cast");
  }
  const int bits = 8 * SizeOf(to) - (is_signed ? 1 : 0);
  const llvm::fltSemantics& semantics = value->getType()->getScalarType()->getFltSemantics();
  const auto number = [&](const llvm::APFloat& x) { return llvm::ConstantFP::get(value->getType(), x); };
  const llvm::APFloat limit = scalbn(llvm::APFloat(semantics, 1), bits, llvm::APFloat::rmTowardZero);
  const llvm::APFloat least = is_signed ? neg(limit) : llvm::APFloat::getZero(semantics);
  llvm::APFloat most = limit;
  most.subtract(llvm::APFloat(semantics, 1), llvm::APFloat::rmTowardZero);
  const bool exact = bits <= static_cast<int>(llvm::APFloat::semanticsPrecision(semantics));

  // NaN becomes 0; for unsigned types, clamping from below does this.
  Value* known = value;
  if (is_signed) {
    Value* is_nan = b.CreateFCmpUNO(value, value, "cast.is_nan");
    known = b.CreateSelect(is_nan, llvm::Constant::getNullValue(value->getType()), value, "cast.known");
  }
  Value* low = b.CreateSelect(b.CreateFCmpOGT(known, number(least)), known, number(least), "cast.low");
  Value* within = b.CreateSelect(b.CreateFCmpOGT(low, number(most)), number(most), low, "cast.within");
  // Converts via i32 if it holds the integer: vectors have no conversion to narrower integers.
  llvm::Type* wide = bits < 32 && type->getScalarSizeInBits() < 32 ? type->getWithNewType(b.getInt32Ty()) : type;
  const bool as_signed = is_signed || wide != type;
  Value* integer = as_signed ? b.CreateFPToSI(within, wide, "cast") : b.CreateFPToUI(within, wide, "cast");
  if (wide != type) return b.CreateTrunc(integer, type, "cast.narrow");
  if (exact) return integer;
  const llvm::APInt largest =
      is_signed ? llvm::APInt::getSignedMaxValue(8 * SizeOf(to)) : llvm::APInt::getMaxValue(8 * SizeOf(to));
  Value* beyond = b.CreateFCmpOGE(value, number(limit), "cast.beyond");
  return b.CreateSelect(beyond, llvm::ConstantInt::get(type, largest), integer, "cast.saturated");
}

}  // namespace

void SetHalfConversions(llvm::Module& module) { module.addModuleFlag(llvm::Module::Override, kHalfConversions, 1); }

Value* F32ToF16Bits(llvm::IRBuilderBase& b, Value* value) {
  if (ArePairs(b, DType::kF16, value->getType())) return MemoryOfPairs(b, EmitPairs(b, DType::kF16, value));
  if (IsGpuKernel(b)) {
    Value* half = EmitNarrow(b, "tailor.device.f16_bits", value->getType()->getWithNewType(b.getInt32Ty()), value);
    return b.CreateTrunc(half, half->getType()->getWithNewType(b.getInt16Ty()), "f16");
  }
  if (HasHalfConversions(b)) {
    // Arithmetic fences here and below: without them, LLVM computes in f16 between two conversions, which CPUs do
    // element by element.
    Value* exact = b.CreateArithmeticFence(value, value->getType(), "f16.exact");
    Value* half = b.CreateFPTrunc(exact, value->getType()->getWithNewType(b.getHalfTy()), "f16.half");
    return b.CreateBitCast(half, value->getType()->getWithNewType(b.getInt16Ty()), "f16");
  }
  Value* bits = AsBits(b, value, "f16.bits");
  Value* magnitude = b.CreateAnd(bits, Bits32(b, bits, 0x7fffffff), "f16.magnitude");
  // Normal results: rebias the exponent and round at bit 13; a carry out of the largest value gives inf.
  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, Bits32(b, bits, 13), "f16.kept"), Bits32(b, bits, 1), "f16.odd");
  Value* rebias = b.CreateAdd(magnitude, Bits32(b, bits, 0xc8000fff), "f16.rebias");
  Value* normal = b.CreateLShr(b.CreateAdd(rebias, odd, "f16.sum"), Bits32(b, bits, 13), "f16.normal");
  // Subnormal results: adding 0.5 aligns the last place of f16 with the last bits.
  Value* half = Bits32(b, bits, 0x3f000000);
  Value* shifted = b.CreateFAdd(AsFloat(b, magnitude, "f16.abs"), AsFloat(b, half, "f16.half"), "f16.shifted");
  Value* tiny = b.CreateSub(AsBits(b, shifted, "f16.shifted_bits"), half, "f16.tiny");
  Value* is_tiny = b.CreateICmpULT(magnitude, Bits32(b, bits, 0x38800000), "f16.is_tiny");
  Value* finite = b.CreateSelect(is_tiny, tiny, normal, "f16.finite");
  Value* is_nan = b.CreateICmpUGT(magnitude, Bits32(b, bits, 0x7f800000), "f16.is_nan");
  Value* special = b.CreateSelect(is_nan, Bits32(b, bits, 0x7e00), Bits32(b, bits, 0x7c00), "f16.special");
  Value* is_special = b.CreateICmpUGE(magnitude, Bits32(b, bits, 0x47800000), "f16.is_special");
  Value* unsigned_result = b.CreateSelect(is_special, special, finite, "f16.unsigned");
  Value* sign = b.CreateAnd(b.CreateLShr(bits, Bits32(b, bits, 16), "f16.high"), Bits32(b, bits, 0x8000), "f16.sign");
  Value* result = b.CreateOr(unsigned_result, sign, "f16.signed");
  return b.CreateTrunc(result, result->getType()->getWithNewType(b.getInt16Ty()), "f16");
}

Value* F16BitsToF32(llvm::IRBuilderBase& b, Value* value) {
  if (ArePairs(b, DType::kF16, value->getType())) return EmitLanes(b, DType::kF16, PairsInMemory(b, value));
  if (HasHalfConversions(b)) {
    Value* half = b.CreateBitCast(value, value->getType()->getWithNewType(b.getHalfTy()), "half.value");
    Value* wide = b.CreateFPExt(half, half->getType()->getWithNewType(b.getFloatTy()), "half.wide");
    return b.CreateArithmeticFence(wide, wide->getType(), "half");
  }
  Value* bits = b.CreateZExt(value, value->getType()->getWithNewType(b.getInt32Ty()), "half.bits");
  if (IsGpuKernel(b)) {
    return EmitNarrow(b, "tailor.device.f16_value", bits->getType()->getWithNewType(b.getFloatTy()), bits);
  }
  Value* low = b.CreateAnd(bits, Bits32(b, bits, 0x7fff), "half.low");
  Value* magnitude = b.CreateShl(low, Bits32(b, bits, 13), "half.magnitude");
  Value* rebias = Bits32(b, bits, 112u << 23);
  Value* normal = b.CreateAdd(magnitude, rebias, "half.normal");
  Value* special = b.CreateAdd(normal, rebias, "half.special");
  // A subnormal m * 2^-24 is (2^-14 + m * 2^-24) - 2^-14: both are normal f32 numbers.
  Value* least = Bits32(b, bits, 113u << 23);
  Value* with_one = AsFloat(b, b.CreateAdd(magnitude, least, "half.with_one_bits"), "half.with_one");
  Value* tiny = AsBits(b, b.CreateFSub(with_one, AsFloat(b, least, "half.one"), "half.tiny"), "half.tiny_bits");
  Value* is_special = b.CreateICmpUGE(low, Bits32(b, bits, 0x7c00), "half.is_special");
  Value* is_tiny = b.CreateICmpULT(low, Bits32(b, bits, 0x0400), "half.is_tiny");
  Value* result = b.CreateSelect(is_tiny, tiny, b.CreateSelect(is_special, special, normal, "half.large"), "half.any");
  Value* sign = b.CreateShl(b.CreateAnd(bits, Bits32(b, bits, 0x8000), "half.sign"), Bits32(b, bits, 16), "half.top");
  return AsFloat(b, b.CreateOr(result, sign, "half.signed"), "half");
}

Value* RoundToDType(llvm::IRBuilderBase& b, DType dtype, Value* value) {
  if (ArePairs(b, dtype, value->getType())) return EmitLanes(b, dtype, EmitPairs(b, dtype, value));
  if (dtype == DType::kBF16) return RoundToBF16(b, value);
  if (dtype == DType::kF16) return F16BitsToF32(b, F32ToF16Bits(b, value));
  return value;
}

Value* EmitCast(llvm::IRBuilderBase& b, DType from, DType to, Value* value) {
  if (to == from) return value;
  if (IsFloat(to)) return CastToFloat(b, from, to, value);
  if (to == DType::kBool) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return IsFloat(from) ? b.CreateFCmpUNE(value, zero, "cast") : b.CreateICmpNE(value, zero, "cast");
  }
  llvm::Type* type = value->getType()->getWithNewType(b.getIntNTy(8 * SizeOf(to)));
  if (!IsFloat(from)) return b.CreateIntCast(value, type, IsSigned(from), "cast");
  return SaturateToInteger(b, to, value, type);
}

}  // namespace tailor
