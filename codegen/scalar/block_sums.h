// Sums and products of floats in blocks: a chain of additions is short however many elements there are, so that what
// rounding loses grows with the logarithm of their number (docs/decisions/sums-in-blocks.md).
//
// Slots take the steps of one block. Behind each are totals of some levels: a full block is added to the first, and
// kBlock of a level make one of the next. Which elements meet in which block depends on dim sizes alone.
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
  // Steps of a block, and blocks that make one of the next level. Loops inside of others may end a block late: a chain
  // has less than twice as many steps.
  static constexpr int64_t kBlock = 64;

  // The last of four levels takes all blocks of 2^24 steps, of which a loop that ends within minutes has few.
  static constexpr size_t kMostLevels = 4;

  // Loops that add at most `most_steps` times to each slot; no more than kBlock need no blocks, and emit none. There
  // are at most `most_levels`. `b` and `target` must outlive this.
  BlockSums(llvm::IRBuilderBase& b, const EmitTarget& target, int64_t most_steps, size_t most_levels = kMostLevels);

  // `slot` holds what `s` has combined. Where that does not round, it stays one chain.
  void Add(const Statement& s, llvm::AllocaInst* slot);
  // As EmitLoop (codegen/ir/emit_loop.h), each turn of which adds `additions` times, a divisor of kBlock: a loop over
  // blocks around one over turns.
  llvm::Value* EmitSteps(llvm::Value* from, llvm::Value* to, int64_t step, const llvm::Twine& name,
                         llvm::function_ref<void(llvm::Value*)> body, int64_t additions = 1);
  // The counter of the innermost loop that EmitSteps emitted last; its second value comes from the loop's last block.
  llvm::PHINode* counter() const { return counter_; }
  // Emitted code before made so many steps.
  void Count(int64_t steps);
  // Leaves in each slot what all of its blocks come to.
  void Close();

 private:
  struct Sum {
    const Statement* statement;
    llvm::AllocaInst* slot;
    std::vector<llvm::AllocaInst*> totals;  // by level; undefined where `blocks_` says that they have nothing
  };

  bool InBlocks() const { return !sums_.empty(); }
  void Open();
  void CountValue(llvm::Value* steps);
  void EmitEndOfBlock();
  // Each slot's block, or total of the level before, goes to its total of `level`.
  void EmitCarry(size_t level, llvm::Value* blocks);
  llvm::Value* Load(llvm::AllocaInst* variable);
  llvm::Value* Combine(const Sum& sum, llvm::Value* x, llvm::Value* y);

  llvm::IRBuilderBase& b_;
  const EmitTarget& target_;
  size_t levels_ = 0;
  std::vector<Sum> sums_;
  llvm::AllocaInst* steps_ = nullptr;   // of the block at hand
  llvm::AllocaInst* blocks_ = nullptr;  // that have ended
  llvm::PHINode* counter_ = nullptr;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_BLOCK_SUMS_H_
