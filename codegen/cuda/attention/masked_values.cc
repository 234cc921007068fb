#include "codegen/cuda/attention/masked_values.h"

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

constexpr int kWords = 4;  // per 16 bytes

// Per word: the exponent bits of its elements, the addend that carries into the sign bit if all of them are set, and
// the sign bits.
struct ExponentBits {
  uint32_t all, carry, signs;
};
ExponentBits ExponentBitsOf(DType dtype) {
  if (dtype == DType::kF32) return {0x7f800000, 0x00800000, 0x80000000};
  if (dtype == DType::kBF16) return {0x7f807f80, 0x00800080, 0x80008000};
  return {0x7c007c00, 0x04000400, 0x80008000};
}

}  // namespace

MaskedValues::MaskedValues(AttentionFrame& frame)
    : f_(frame),
      b_(frame.b),
      chunks_(frame.tile.columns * frame.tile.element_bytes() / 16),
      rows_(frame.tile.threads() / chunks_),
      chunk_(b_.CreateURem(frame.thread, frame.I32(chunks_), "masked.chunk")),
      row_(b_.CreateUDiv(frame.thread, frame.I32(chunks_), "masked.row")),
      seen_(b_.CreateAlloca(b_.getInt32Ty(), nullptr, "masked.seen")) {
  b_.CreateStore(f_.I32(0), seen_);
}

// Surplus threads repeat the rows of others.
void MaskedValues::EmitCheck(Value* values) {
  const ExponentBits bits = ExponentBitsOf(f_.attention.operand);
  auto* words = llvm::FixedVectorType::get(b_.getInt32Ty(), kWords);
  const auto splat = [&](uint32_t word) { return b_.CreateVectorSplat(kWords, b_.getInt32(word)); };
  Value* carried = splat(0);
  for (int first = 0; first < f_.tile.keys; first += rows_) {
    Value* row = b_.CreateAdd(row_, f_.I32(first));
    row = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, row, f_.I32(f_.tile.keys - 1));
    Value* at = b_.CreateMul(row, f_.I32(StagedRowBytes(f_.tile.columns, f_.tile.element_bytes())));
    at = b_.CreateAdd(at, b_.CreateMul(chunk_, f_.I32(16)), "masked.at");
    Value* chunk = b_.CreateAlignedLoad(words, b_.CreateInBoundsGEP(b_.getInt8Ty(), values, at), llvm::Align(16));
    carried = b_.CreateOr(carried, b_.CreateAdd(b_.CreateAnd(chunk, splat(bits.all)), splat(bits.carry)), "carried");
  }
  carried = b_.CreateAnd(carried, splat(bits.signs));
  Value* seen = b_.CreateLoad(b_.getInt32Ty(), seen_, "seen");
  const int sign = f_.tile.element_bytes() == 2 ? 15 : 31;
  for (int i = 0; i < kWords; ++i) {
    Value* word = b_.CreateLShr(b_.CreateExtractElement(carried, uint64_t(i)), sign - i, "signs");
    seen = b_.CreateOr(seen, word, "seen.next");
  }
  b_.CreateStore(seen, seen_);
}

Value* MaskedValues::Cell(Value* number) {
  return f_.Shared(b_.CreateAdd(b_.CreateMul(number, f_.I32(4)), f_.I32(MaskedValuesOffset(f_.tile)), "masked.cell"));
}

void MaskedValues::EmitPublish() {
  b_.CreateAlignedStore(b_.CreateLoad(b_.getInt32Ty(), seen_), Cell(f_.thread), llvm::Align(4));
}

// The bits of threads with equal columns are combined by the first of them.
void MaskedValues::EmitGather() {
  EmitIf(b_, b_.CreateICmpULT(f_.thread, f_.I32(chunks_)), "masked.gather", [&] {
    Value* seen = f_.I32(0);
    for (int row = 0; row < rows_; ++row) {
      Value* cell = Cell(b_.CreateAdd(f_.thread, f_.I32(row * chunks_)));
      seen = b_.CreateOr(seen, b_.CreateAlignedLoad(b_.getInt32Ty(), cell, llvm::Align(4)), "seen.all");
    }
    b_.CreateAlignedStore(seen, Cell(f_.thread), llvm::Align(4));
  });
}

Value* MaskedValues::EmitIsNonFinite(Value* column) {
  const int in_chunk = 16 / f_.tile.element_bytes();
  Value* cell = Cell(b_.CreateUDiv(column, f_.I32(in_chunk)));
  Value* seen = b_.CreateAlignedLoad(b_.getInt32Ty(), cell, llvm::Align(4), "seen");
  Value* bit = b_.CreateURem(column, f_.I32(in_chunk), "masked.bit");
  if (in_chunk == 8) bit = b_.CreateAdd(b_.CreateLShr(bit, 1), b_.CreateMul(b_.CreateAnd(bit, 1), f_.I32(16)));
  return b_.CreateICmpNE(b_.CreateAnd(b_.CreateLShr(seen, bit), 1), f_.I32(0), "masked.touched");
}

}  // namespace tailor::cuda
