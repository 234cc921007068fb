#include "codegen/math/registers.h"

#include <cassert>
#include <numeric>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tailor::math {
namespace {

using llvm::Value;

int LanesOf(llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

// `count` lanes of `x` from lane `first`; lanes beyond its last are poison.
Value* Lanes(llvm::IRBuilderBase& b, Value* x, int first, int count) {
  const int lanes = LanesOf(x->getType());
  if (first == 0 && lanes == count) return x;
  if (!x->getType()->isVectorTy()) {
    return b.CreateInsertElement(llvm::PoisonValue::get(llvm::FixedVectorType::get(x->getType(), count)), x,
                                 uint64_t{0});
  }
  llvm::SmallVector<int> places(count, llvm::PoisonMaskElem);
  for (int i = 0; i < count && first + i < lanes; ++i) places[i] = first + i;
  return b.CreateShuffleVector(x, places, "lanes");
}

}  // namespace

Value* ByRegister(llvm::IRBuilderBase& b, int bits, llvm::Type* type, Registers operands, const llvm::Twine& name,
                  llvm::function_ref<Value*(Registers)> f) {
  const int lanes = LanesOf(type), wide = bits / static_cast<int>(type->getScalarSizeInBits());
  Value* all = nullptr;
  for (int first = 0; first < lanes; first += wide) {
    llvm::SmallVector<Value*> registers;
    for (Value* operand : operands) registers.push_back(Lanes(b, operand, first, wide));
    Value* part = f(registers);
    if (all == nullptr) {
      all = part;
      continue;
    }
    llvm::SmallVector<int> places(first + wide);
    std::iota(places.begin(), places.end(), 0);
    all = b.CreateShuffleVector(all, Lanes(b, part, 0, first), places, "registers");
  }
  if (!type->isVectorTy()) return b.CreateExtractElement(all, uint64_t{0}, name);
  return Lanes(b, all, 0, lanes);
}

Value* LookUp(const LaneMath& m, llvm::ArrayRef<float> table, Value* index, const llvm::Twine& name) {
  assert(!m.is_double() && (table.size() == 8 ? m.avx2() : m.avx512()));
  auto& b = m.builder();
  const size_t width = table.size() == 8 ? 8 : 16;
  assert(table.size() == width || table.size() == 2 * width);
  const auto entries = [&](size_t first) {
    return llvm::ConstantDataVector::get(b.getContext(), table.slice(first, width));
  };
  const int bits = static_cast<int>(width) * 32;
  return ByRegister(b, bits, m.type(), {index}, name, [&](Registers r) {
    if (table.size() == 8) return b.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permps, {}, {entries(0), r[0]});
    if (table.size() == 16)
      return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {entries(0), r[0]});
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {}, {entries(0), r[0], entries(width)});
  });
}

}  // namespace tailor::math
