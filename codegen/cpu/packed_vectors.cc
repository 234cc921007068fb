#include "codegen/cpu/packed_vectors.h"

#include <algorithm>

namespace tailor {

PackedVectors::PackedVectors(llvm::IRBuilderBase& b, const EmitTarget& target, const PackedRows& packed, int lanes,
                             const std::deque<KernelFrame>& frames)
    : b_(b), target_(target), packed_(packed), lanes_(lanes) {
  for (const KernelFrame& frame : frames) heads_.emplace_back(b, target, packed.plan, frame);
}

void PackedVectors::Enter(int u, llvm::Value* first, llvm::Value* mask) {
  llvm::Value* row = b_.CreateExactUDiv(first, b_.getInt64(packed_.width), "first.row");
  heads_[u].SetLanes(PackedRows::kRowAxis, row, lanes_ / packed_.width, mask != nullptr ? HeadsOf(mask) : nullptr);
}

bool PackedVectors::Emit(int u, ScalarEmitter& elements, const Statement& s) {
  if (!s.reduce_axes.empty()) {
    llvm::Value* result = Reduce(s, elements.EmitLanes(s.value));
    elements.SetLocal(s.buffer, result);
    heads_[u].SetLocal(s.buffer, HeadsOf(result));
  } else if (packed_.plan.buffers[s.buffer].kind == BufferKind::kLocal) {
    SetLocal(u, elements, s);
  } else if (StoresOncePerRow(s)) {
    heads_[u].Store(s.buffer, s.indices, HeadsOf(elements.Emit(s.value)));
  } else {
    return false;
  }
  return true;
}

// What follows from heads alone is computed of heads.
void PackedVectors::SetLocal(int u, ScalarEmitter& elements, const Statement& s) {
  if (!packed_.of_row[s.buffer]) {
    elements.SetLocal(s.buffer, elements.Emit(s.value));
  } else if (DependsOn(packed_.plan, s.value, PackedRows::kElementAxis)) {
    llvm::Value* value = elements.Emit(s.value);
    elements.SetLocal(s.buffer, value);
    heads_[u].SetLocal(s.buffer, HeadsOf(value));
  } else {
    llvm::Value* value = heads_[u].Emit(s.value);
    heads_[u].SetLocal(s.buffer, value);
    elements.SetLocal(s.buffer, FromHeads(value));
  }
}

bool PackedVectors::StoresOncePerRow(const Statement& s) const {
  return std::none_of(s.indices.begin(), s.indices.end(),
                      [&](ExprId id) { return DependsOn(packed_.plan, id, PackedRows::kElementAxis); });
}

llvm::Value* PackedVectors::HeadsOf(llvm::Value* lanes) {
  if (!lanes->getType()->isVectorTy()) return lanes;
  llvm::SmallVector<int> places;
  for (int i = 0; i < lanes_; i += packed_.width) places.push_back(i);
  return b_.CreateShuffleVector(lanes, places, "heads");
}

llvm::Value* PackedVectors::FromHeads(llvm::Value* heads) {
  if (!heads->getType()->isVectorTy()) return heads;
  llvm::SmallVector<int> places(lanes_);
  for (int i = 0; i < lanes_; ++i) places[i] = i / packed_.width;
  return b_.CreateShuffleVector(heads, places, "of.row");
}

// In the type of its buffer, and in all lanes of its row: each lane meets the one `distance` away.
llvm::Value* PackedVectors::Reduce(const Statement& s, llvm::Value* value) {
  for (int distance = 1; distance < packed_.width; distance *= 2) {
    llvm::SmallVector<int> places(lanes_);
    for (int i = 0; i < lanes_; ++i) places[i] = i ^ distance;
    llvm::Value* other = b_.CreateShuffleVector(value, places, "row.other");
    value = EmitScalarOp(b_, target_, s.combiner, s.accumulate, s.accumulate, {value, other});
  }
  const DType stored = packed_.plan.buffers[s.buffer].dtype;
  if (stored == s.accumulate) return value;
  return EmitScalarOp(b_, target_, OpKind::kCast, s.accumulate, stored, {value});
}

}  // namespace tailor
