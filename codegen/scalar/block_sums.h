// Blocked sums and products of floats: chains of additions are short for any number of elements n, so the rounding
// error grows with log(n) (docs/decisions/sums-in-blocks.md).
//
// A slot accumulates one block. Behind it are totals of several levels: a full block is added to the first level, and
// kBlock blocks of a level are one of the next. The grouping of elements depends only on dim sizes.
#ifndef TAILOR_CODEGEN_SCALAR_BLOCK_SUMS_H_
#define TAILOR_CODEGEN_SCALAR_BLOCK_SUMS_H_

#include <cstdint>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

class BlockSums {
 public:
  // Steps per block, and blocks per block of the next level. Nested loops may end a block late: a chain has fewer than
  // 2 * kBlock steps.
  static constexpr int64_t kBlock = 64;

  // The maximum number of levels. The last one adds any number of blocks of 2^24 steps: few, in a loop that ends within
  // minutes.
  static constexpr size_t kMostLevels = 4;

  // For loops that add at most `most_steps` times to each slot, with at most `most_levels` levels. Up to kBlock steps
  // need no blocks, and no code for them. `b` and `target` must outlive this.
  BlockSums(llvm::IRBuilderBase& b, const EmitTarget& target, int64_t most_steps, size_t most_levels = kMostLevels);

  // Registers `slot` as the accumulator of `s`. A combiner that does not round keeps one chain.
  void Add(const Statement& s, llvm::AllocaInst* slot);
  // As EmitLoop (codegen/ir/emit_loop.h), where each iteration adds `additions` times, a divisor of kBlock. Emits a
  // loop over blocks around a loop over iterations.
  llvm::Value* EmitSteps(llvm::Value* from, llvm::Value* to, int64_t step, const llvm::Twine& name,
                         llvm::function_ref<void(llvm::Value*)> body, int64_t additions = 1);
  // The induction variable of the last innermost loop of EmitSteps; its second incoming value is from the last block of
  // the loop.
  llvm::PHINode* counter() const { return counter_; }
  // Adds `steps` that earlier emitted code has made.
  void Count(int64_t steps);
  // Combines the totals of each slot into the slot.
  void Close();

 private:
  struct Sum {
    const Statement* statement;
    llvm::AllocaInst* slot;
    std::vector<llvm::AllocaInst*> totals;  // by level; undefined while `blocks_` implies that they are empty
  };

  bool InBlocks() const { return !sums_.empty(); }
  void Open();
  void CountValue(llvm::Value* steps);
  void EmitEndOfBlock();
  // Adds each slot's block, or its total of the previous level, to its total of `level`.
  void EmitCarry(size_t level, llvm::Value* blocks);
  llvm::Value* Load(llvm::AllocaInst* variable);
  llvm::Value* Combine(const Sum& sum, llvm::Value* x, llvm::Value* y);

  llvm::IRBuilderBase& b_;
  const EmitTarget& target_;
  size_t levels_ = 0;
  std::vector<Sum> sums_;
  llvm::AllocaInst* steps_ = nullptr;   // in the current block
  llvm::AllocaInst* blocks_ = nullptr;  // completed blocks
  llvm::PHINode* counter_ = nullptr;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_BLOCK_SUMS_H_
