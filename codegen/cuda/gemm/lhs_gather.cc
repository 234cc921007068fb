#include "codegen/cuda/gemm/lhs_gather.h"

#include <algorithm>
#include <cassert>

#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

// Elements that a thread loads per turn, one register each: in chunks, one by one, and of any step. A single warp
// gathers if TMA copies are the rule; then few registers are left.
constexpr int kMostInChunks = 64, kMostSingle = 16;
int MostAny(int threads) { return threads > 32 ? 4 : 2; }

}  // namespace

LhsGather::LhsGather(MatmulFrame& matmul, LhsChunks& lhs, int threads, Value* thread)
    : matmul_(matmul),
      b_(matmul.b()),
      lhs_(lhs),
      tile_(matmul.tile()),
      element_(MemoryType(b_.getContext(), matmul.types().operand, 1)),
      chunk_elements_(kChunkBytes / SizeOf(matmul.types().operand)),
      along_rows_(RowsLieSideBySide(matmul.plan(), matmul.contraction())),
      threads_(threads),
      thread_(thread) {
  FindStrides();
  const int elements = tile_.rows * tile_.depth / threads_;
  // Single elements take more than one turn: otherwise each element's place would be kept from step to step.
  whole_ = {along_rows_, std::min(along_rows_ ? elements : elements / 2, along_rows_ ? kMostInChunks : kMostSingle)};
  any_ = {false, MostAny(threads_)};
  assert(elements % whole_.elements == 0 && elements % any_.elements == 0);
  for (int i = 0; i < whole_.elements; ++i) values_.push_back(matmul_.Variable(element_, "gathered"));
}

void LhsGather::FindStrides() {
  const Contraction& c = matmul_.contraction();
  KernelPlan& plan = matmul_.plan();
  if (c.fill >= 0 || plan.buffers[c.lhs.ref].layout != ConstantLayout::kRowMajor) return;
  if (!along_rows_ && threads_ < tile_.depth) return;  // consecutive elements of a thread would not be one stride apart
  const AccessMap rows = MapOf(plan, c.lhs, c.m), depth = MapOf(plan, c.lhs, c.k);
  if (!rows.IsAffine() || !depth.IsAffine()) return;
  row_stride_ = matmul_.scalars().EmitStride(rows, c.lhs.ref, "row.stride");
  depth_stride_ = matmul_.scalars().EmitStride(depth, c.lhs.ref, "depth.stride");
  matmul_.scalars().SetAxis(c.m, matmul_.first_row());
  matmul_.scalars().SetAxis(c.k, b_.getInt64(0));
  first_ = matmul_.scalars().AddressOf(c.lhs.ref, c.lhs.args);
  Value* last = b_.CreateSub(b_.CreateSub(matmul_.rows(), matmul_.first_row()), b_.getInt64(1));
  last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, b_.getInt64(tile_.rows));
  last_row_ = b_.CreateTrunc(last, b_.getInt32Ty(), "row.last");
}

int LhsGather::Turns(const Sharing& sharing) const { return tile_.rows * tile_.depth / threads_ / sharing.elements; }

// Neighbouring threads take neighbouring units along the fast axis, which has `fast_units` units.
LhsGather::Unit LhsGather::UnitAt(Value* number, int fast_units) {
  if (threads_ >= fast_units) {
    Value* before = b_.CreateMul(number, I32(threads_ / fast_units));
    return {b_.CreateURem(thread_, I32(fast_units)), b_.CreateAdd(b_.CreateUDiv(thread_, I32(fast_units)), before)};
  }
  const int across = fast_units / threads_;
  Value* before = b_.CreateMul(b_.CreateURem(number, I32(across)), I32(threads_));
  return {b_.CreateAdd(before, thread_), b_.CreateUDiv(number, I32(across))};
}

LhsGather::Element LhsGather::At(const Sharing& sharing, Value* turn, int i) {
  const int of_unit = sharing.in_chunks ? chunk_elements_ : 1;
  Value* number = b_.CreateAdd(b_.CreateMul(turn, I32(sharing.elements / of_unit)), I32(i / of_unit));
  const Unit unit = UnitAt(number, along_rows_ ? tile_.rows : tile_.depth);
  if (sharing.in_chunks) {
    Value* depth = b_.CreateAdd(b_.CreateMul(unit.slow, I32(chunk_elements_)), I32(i % of_unit), "depth");
    return {unit.fast, depth, unit.slow, I32(i % of_unit)};
  }
  Value *row = along_rows_ ? unit.fast : unit.slow, *depth = along_rows_ ? unit.slow : unit.fast;
  return {row, depth, b_.CreateUDiv(depth, I32(chunk_elements_)), b_.CreateURem(depth, I32(chunk_elements_))};
}

// In chunks, the last existing row stands in for rows beyond it; single elements require that all rows exist.
Value* LhsGather::EmitIsWhole(Value* k) {
  if (row_stride_ == nullptr) return b_.getFalse();
  const Contraction& c = matmul_.contraction();
  Value* whole = b_.getTrue();
  if (!matmul_.IsMultiple(c.k, tile_.depth)) {
    whole = b_.CreateICmpSLE(b_.CreateAdd(k, b_.getInt64(tile_.depth)), matmul_.depth(), "depth.is_whole");
  }
  if (whole_.in_chunks || matmul_.IsMultiple(c.m, tile_.rows)) return whole;
  Value* rows = b_.CreateICmpSGE(last_row_, I32(tile_.rows - 1), "rows.are_whole");
  return b_.CreateAnd(whole, rows, "step.is_whole");
}

// Within a chunk, and along the rows of single elements, each address is the previous one plus a stride. So a few
// addresses are in registers, not one per element.
void LhsGather::EmitLoadWhole(Value* k, Value* turn) {
  const bool chunks = whole_.in_chunks;
  const int run = chunks ? chunk_elements_ : whole_.elements;
  Value* pitch = chunks ? depth_stride_ : row_stride_;
  if (!chunks) pitch = b_.CreateMul(pitch, b_.getInt64(threads_ / tile_.depth), "pitch");
  Value* address = nullptr;
  for (int i = 0; i < whole_.elements; ++i) {
    if (i % run > 0) {
      address = b_.CreateGEP(element_, address, pitch, "element.address");
    } else {
      const Element element = At(whole_, turn, i);
      Value* row = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, element.row, last_row_, nullptr, "row.existing");
      Value* step = b_.CreateAdd(k, Wide(element.depth), "k.element");
      address = b_.CreateGEP(element_, first_, b_.CreateMul(Wide(row), row_stride_), "row.address");
      address = b_.CreateGEP(element_, address, b_.CreateMul(step, depth_stride_), "element.address");
    }
    const llvm::Align align(SizeOf(matmul_.types().operand));
    b_.CreateStore(b_.CreateAlignedLoad(element_, address, align, "lhs.bits"), values_[i]);
  }
}

void LhsGather::EmitLoadAny(Value* k, Value* turn) {
  for (int i = 0; i < any_.elements; ++i) {
    const Element element = At(any_, turn, i);
    Value* m = matmul_.Existing(matmul_.first_row(), element.row, matmul_.rows());
    b_.CreateStore(lhs_.EmitElement(m, b_.CreateAdd(k, Wide(element.depth), "k.element")), values_[i]);
  }
}

void LhsGather::EmitStore(const Sharing& sharing, const Place& place, Value* turn) {
  const auto value = [&](int i) { return b_.CreateLoad(element_, values_[i], "gathered"); };
  for (int i = 0; i < sharing.elements; i += sharing.in_chunks ? chunk_elements_ : 1) {
    const Element element = At(sharing, turn, i);
    Value* chunk = place(element.row, element.chunk);
    if (!sharing.in_chunks) {
      Value* to = b_.CreateInBoundsGEP(element_, chunk, element.within, "element.place");
      b_.CreateAlignedStore(value(i), to, llvm::Align(SizeOf(matmul_.types().operand)));
      continue;
    }
    Value* whole = llvm::PoisonValue::get(llvm::FixedVectorType::get(element_, chunk_elements_));
    for (int j = 0; j < chunk_elements_; ++j) whole = b_.CreateInsertElement(whole, value(i + j), j, "chunk");
    b_.CreateAlignedStore(whole, chunk, llvm::Align(kChunkBytes));
  }
}

void LhsGather::EmitTurns(const Sharing& sharing, const Place& place, llvm::function_ref<void(Value* turn)> load) {
  llvm::BasicBlock* latch = nullptr;
  EmitLoop(b_, b_.getInt64(0), b_.getInt64(Turns(sharing)), 1, "turn", [&](Value* number) {
    Value* turn = b_.CreateTrunc(number, b_.getInt32Ty(), "turn");
    load(turn);
    EmitStore(sharing, place, turn);
    latch = b_.GetInsertBlock();
  });
  SetUnroll(latch, 1);
}

void LhsGather::EmitAny(Value* k, const Place& place) {
  EmitTurns(any_, place, [&](Value* turn) { EmitLoadAny(k, turn); });
}

void LhsGather::Emit(Value* k, const Place& place) {
  if (row_stride_ == nullptr) return EmitAny(k, place);
  Value* whole = EmitIsWhole(k);
  EmitIf(b_, whole, "whole", [&] { EmitTurns(whole_, place, [&](Value* turn) { EmitLoadWhole(k, turn); }); });
  EmitIf(b_, b_.CreateNot(whole), "any", [&] { EmitAny(k, place); });
}

}  // namespace tailor::cuda
