#include "codegen/math_avx512.h"

#include <cassert>
#include <numeric>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tailor::math {
namespace {

using llvm::Value;

constexpr int kRegisterBits = 512;
constexpr int kCurrentRounding = 4;  // the operand that stands for the mode of MXCSR
constexpr int kTableEntries = 32;    // of f32 in two registers

int RegisterLanes(llvm::Type* type) { return kRegisterBits / static_cast<int>(type->getScalarSizeInBits()); }

// `x` in the low lanes of a register, where it does not fill one.
Value* Widened(llvm::IRBuilderBase& b, Value* x) {
  const int wide = RegisterLanes(x->getType());
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  if (vector == nullptr) {
    return b.CreateInsertElement(llvm::PoisonValue::get(llvm::FixedVectorType::get(x->getType(), wide)), x,
                                 uint64_t{0});
  }
  const int lanes = static_cast<int>(vector->getNumElements());
  assert(lanes <= wide);
  if (lanes == wide) return x;
  llvm::SmallVector<int> places(wide, llvm::PoisonMaskElem);
  std::iota(places.begin(), places.begin() + lanes, 0);
  return b.CreateShuffleVector(x, places, "widened");
}

// The low lanes of the register `wide`, as many as `type` has.
Value* Narrowed(llvm::IRBuilderBase& b, Value* wide, llvm::Type* type, const llvm::Twine& name) {
  if (wide->getType() == type) return wide;
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) return b.CreateExtractElement(wide, uint64_t{0}, name);
  llvm::SmallVector<int> places(vector->getNumElements());
  std::iota(places.begin(), places.end(), 0);
  return b.CreateShuffleVector(wide, places, name);
}

// What lanes keep that a mask leaves out: there are none.
Value* Kept(const LaneMath& m) {
  return llvm::PoisonValue::get(llvm::FixedVectorType::get(m.type()->getScalarType(), RegisterLanes(m.type())));
}

// Calls `single` or `twofold`, an intrinsic whose operands end with a mask, here of all lanes, and a rounding mode.
Value* CallMasked(const LaneMath& m, llvm::Intrinsic::ID single, llvm::Intrinsic::ID twofold,
                  llvm::ArrayRef<Value*> operands, const llvm::Twine& name) {
  auto& b = m.builder();
  llvm::SmallVector<Value*> arguments(operands.begin(), operands.end());
  arguments.push_back(llvm::ConstantInt::getAllOnesValue(b.getIntNTy(RegisterLanes(m.type()))));
  arguments.push_back(b.getInt32(kCurrentRounding));
  Value* result = b.CreateIntrinsic(m.is_double() ? twofold : single, {}, arguments, nullptr, name + ".wide");
  return Narrowed(b, result, m.type(), name);
}

}  // namespace

Value* ScaleByPower(const LaneMath& m, Value* x, Value* exponent, const llvm::Twine& name) {
  auto& b = m.builder();
  return CallMasked(m, llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, llvm::Intrinsic::x86_avx512_mask_scalef_pd_512,
                    {Widened(b, x), Widened(b, exponent), Kept(m)}, name);
}

Value* BoundMagnitude(const LaneMath& m, Value* x, double bound, const llvm::Twine& name) {
  constexpr int kLesserMagnitudeSignOfFirst = 0b0010;
  auto& b = m.builder();
  Value* wide = Widened(b, x);
  Value* bounds = llvm::ConstantFP::get(wide->getType(), bound);
  return CallMasked(m, llvm::Intrinsic::x86_avx512_mask_range_ps_512, llvm::Intrinsic::x86_avx512_mask_range_pd_512,
                    {wide, bounds, b.getInt32(kLesserMagnitudeSignOfFirst), Kept(m)}, name);
}

Value* RestOfFraction(const LaneMath& m, Value* x, int bits, const llvm::Twine& name) {
  assert(bits >= 0 && bits < 16);
  constexpr int kToNearest = 0b0000;
  auto& b = m.builder();
  return CallMasked(m, llvm::Intrinsic::x86_avx512_mask_reduce_ps_512, llvm::Intrinsic::x86_avx512_mask_reduce_pd_512,
                    {Widened(b, x), b.getInt32(bits << 4 | kToNearest), Kept(m)}, name);
}

Value* UnlessSpecial(const LaneMath& m, Value* x, Value* other, const llvm::Twine& name) {
  // Four bits for each class of `other`, from the lowest: quiet and signalling NaN, zero, one, -inf, inf, less than and
  // greater than zero. 0 stands for x, 1 for `other`.
  constexpr uint64_t kChoice = 0x00110111;
  auto& b = m.builder();
  Value* wide = Widened(b, x);
  llvm::Type* bits = wide->getType()->getWithNewType(b.getIntNTy(m.type()->getScalarSizeInBits()));
  return CallMasked(m, llvm::Intrinsic::x86_avx512_mask_fixupimm_ps_512,
                    llvm::Intrinsic::x86_avx512_mask_fixupimm_pd_512,
                    {wide, Widened(b, other), llvm::ConstantInt::get(bits, kChoice), b.getInt32(0)}, name);
}

Value* LookUp(const LaneMath& m, llvm::ArrayRef<float> table, Value* index, const llvm::Twine& name) {
  assert(!m.is_double() && table.size() == kTableEntries);
  auto& b = m.builder();
  const auto half = [&](size_t first) {
    return llvm::ConstantDataVector::get(b.getContext(), table.slice(first, kTableEntries / 2));
  };
  Value* found = b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {},
                                   {half(0), Widened(b, index), half(kTableEntries / 2)}, nullptr, name + ".wide");
  return Narrowed(b, found, m.type(), name);
}

}  // namespace tailor::math
