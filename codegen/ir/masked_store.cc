#include "codegen/ir/masked_store.h"

#include "codegen/ir/emit_loop.h"

namespace tailor {
namespace {

using llvm::Value;

// Lanes [first, first + count) of a vector; one lane is a scalar.
Value* Lanes(llvm::IRBuilderBase& b, Value* vector, int first, int count) {
  if (count == 1) return b.CreateExtractElement(vector, first, "lane");
  llvm::SmallVector<int> lanes;
  for (int i = 0; i < count; ++i) lanes.push_back(first + i);
  return b.CreateShuffleVector(vector, lanes, "lanes");
}

}  // namespace

void EmitStoreOfFirstLanes(llvm::IRBuilderBase& b, const EmitTarget& target, Value* value, Value* address,
                           llvm::Align align, Value* mask, llvm::function_ref<void(llvm::Instruction*)> stored) {
  auto* type = llvm::cast<llvm::FixedVectorType>(value->getType());
  const int lanes = static_cast<int>(type->getNumElements());
  const bool is_wide = type->getScalarSizeInBits() >= 32 && lanes <= 16 && (lanes & (lanes - 1)) == 0;
  if (!target.avx2 || target.avx512 || !is_wide) {
    stored(b.CreateMaskedStore(value, address, align, mask));
    return;
  }
  Value* bits = b.CreateZExt(b.CreateBitCast(mask, b.getIntNTy(lanes), "lanes.bits"), b.getInt32Ty());
  Value* all = b.CreateICmpEQ(bits, b.getInt32((1u << lanes) - 1), "lanes.all");
  EmitIf(b, all, "store.whole", [&] { stored(b.CreateAlignedStore(value, address, align)); });
  EmitIf(b, b.CreateNot(all), "store.part", [&] {
    Value* count = b.CreateZExt(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), b.getInt64Ty(), "lanes.count");
    Value *rest = value, *place = address;
    for (int half = lanes / 2; half > 0; half /= 2) {
      Value* low = Lanes(b, rest, 0, half);
      Value* taken = b.CreateAnd(count, b.getInt64(half), "lanes.taken");
      Value* takes = b.CreateICmpNE(taken, b.getInt64(0), "lanes.take");
      EmitIf(b, takes, "store.lanes", [&] { stored(b.CreateAlignedStore(low, place, align)); });
      if (half == 1) break;
      rest = b.CreateSelect(takes, Lanes(b, rest, half, half), low, "lanes.rest");
      place = b.CreateInBoundsGEP(type->getElementType(), place, taken, "lanes.place");
    }
  });
}

}  // namespace tailor
