#include "codegen/scalar/block_sums.h"

#include "codegen/ir/emit_loop.h"
#include "llvm/IR/DerivedTypes.h"

namespace tailor {
namespace {

using llvm::Value;

constexpr int kBlockBits = 6;
static_assert(BlockSums::kBlock == 1 << kBlockBits);

bool Rounds(const Statement& s) {
  return IsFloat(s.accumulate) && (s.combiner == OpKind::kAdd || s.combiner == OpKind::kMul);
}

}  // namespace

BlockSums::BlockSums(llvm::IRBuilderBase& b, const EmitTarget& target, int64_t most_steps, size_t most_levels)
    : b_(b), target_(target) {
  for (; most_steps > kBlock && levels_ < most_levels; most_steps /= kBlock) ++levels_;
}

void BlockSums::Add(const Statement& s, llvm::AllocaInst* slot) {
  if (levels_ == 0 || !Rounds(s)) return;
  if (sums_.empty()) Open();
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  Sum& sum = sums_.emplace_back(Sum{&s, slot, {}});
  for (size_t level = 0; level < levels_; ++level) {
    sum.totals.push_back(
        llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(slot->getAllocatedType(), nullptr, "blocks.total"));
  }
}

void BlockSums::Open() {
  steps_ = OpenVariable(b_, b_.getInt64(0), "block.steps");
  blocks_ = OpenVariable(b_, b_.getInt64(0), "blocks");
}

Value* BlockSums::EmitSteps(Value* from, Value* to, int64_t step, const llvm::Twine& name,
                            llvm::function_ref<void(Value*)> body, int64_t additions) {
  const auto emit_turns = [&](Value* first, Value* end) {
    counter_ = llvm::cast<llvm::PHINode>(EmitLoop(b_, first, end, step, name, body));
    return counter_;
  };
  if (!InBlocks()) return emit_turns(from, to);
  const int64_t turns = kBlock / additions;
  return EmitLoop(b_, from, to, name + ".block", [&](Value* first) {
    Value* full = b_.CreateNSWAdd(first, b_.getInt64(turns * step), "block.full");
    Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, full, to, nullptr, "block.end");
    Value* next = emit_turns(first, end);
    Value* made = b_.CreateExactSDiv(b_.CreateSub(next, first), b_.getInt64(step), "block.turns");
    CountValue(b_.CreateMul(made, b_.getInt64(additions), "block.added"));
    return next;
  });
}

void BlockSums::Count(int64_t steps) {
  if (InBlocks()) CountValue(b_.getInt64(steps));
}

void BlockSums::CountValue(Value* steps) {
  Value* all = b_.CreateAdd(Load(steps_), steps, "block.so_far");
  b_.CreateStore(all, steps_);
  EmitIf(b_, b_.CreateICmpSGE(all, b_.getInt64(kBlock), "block.is_full"), "block.ends", [&] { EmitEndOfBlock(); });
}

void BlockSums::EmitEndOfBlock() {
  Value* before = Load(blocks_);
  EmitCarry(0, before);
  b_.CreateStore(b_.CreateAdd(before, b_.getInt64(1), "blocks.next"), blocks_);
  b_.CreateStore(b_.getInt64(0), steps_);
}

// `blocks`: number of earlier blocks of the size that `level` adds.
void BlockSums::EmitCarry(size_t level, Value* blocks) {
  const bool last = level + 1 == levels_;
  Value* number = last ? blocks : b_.CreateAnd(blocks, b_.getInt64(kBlock - 1), "blocks.of_level");
  Value* is_first = b_.CreateICmpEQ(number, b_.getInt64(0), "is_first");
  for (const Sum& sum : sums_) {
    Value* block = Load(level == 0 ? sum.slot : sum.totals[level - 1]);
    Value* both = Combine(sum, Load(sum.totals[level]), block);
    b_.CreateStore(b_.CreateSelect(is_first, block, both, "total"), sum.totals[level]);
    if (level > 0) continue;
    auto* lanes = llvm::dyn_cast<llvm::FixedVectorType>(block->getType());
    const int count = lanes == nullptr ? 1 : static_cast<int>(lanes->getNumElements());
    b_.CreateStore(EmitNeutral(b_, sum.statement->combiner, sum.statement->accumulate, count), sum.slot);
  }
  if (last) return;
  EmitIf(b_, b_.CreateICmpEQ(number, b_.getInt64(kBlock - 1), "level.is_full"), "level.ends",
         [&] { EmitCarry(level + 1, b_.CreateLShr(blocks, kBlockBits, "blocks.above")); });
}

void BlockSums::Close() {
  if (!InBlocks()) return;
  Value* blocks = Load(blocks_);
  EmitIf(b_, b_.CreateICmpSGT(blocks, b_.getInt64(0), "has_blocks"), "blocks.close", [&] {
    for (size_t level = 0; level < levels_; ++level) {
      const bool last = level + 1 == levels_;
      Value* number = last ? blocks : b_.CreateAnd(blocks, b_.getInt64(kBlock - 1), "blocks.of_level");
      Value* has_any = b_.CreateICmpNE(number, b_.getInt64(0), "has_any");
      for (const Sum& sum : sums_) {
        Value* below = Load(sum.slot);
        Value* both = Combine(sum, Load(sum.totals[level]), below);
        b_.CreateStore(b_.CreateSelect(has_any, both, below, "total"), sum.slot);
      }
      if (!last) blocks = b_.CreateLShr(blocks, kBlockBits, "blocks.above");
    }
  });
}

Value* BlockSums::Load(llvm::AllocaInst* variable) {
  return b_.CreateLoad(variable->getAllocatedType(), variable, "loaded");
}

Value* BlockSums::Combine(const Sum& sum, Value* x, Value* y) {
  const DType dtype = sum.statement->accumulate;
  return EmitScalarOp(b_, target_, sum.statement->combiner, dtype, dtype, {x, y});
}

}  // namespace tailor
