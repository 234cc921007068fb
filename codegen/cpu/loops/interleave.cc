#include "codegen/cpu/loops/interleave.h"

#include <algorithm>

namespace tailor::cpu {

void EmitInTurns(llvm::IRBuilderBase& b, int count, llvm::function_ref<void(int)> chain) {
  llvm::BasicBlock* block = b.GetInsertBlock();
  std::vector<std::vector<llvm::Instruction*>> chains(count);
  for (int i = 0; i < count; ++i) {
    llvm::Instruction* before = block->empty() ? nullptr : &block->back();
    chain(i);
    if (b.GetInsertBlock() != block) continue;
    auto next = before == nullptr ? block->begin() : std::next(before->getIterator());
    for (; next != block->end(); ++next) chains[i].push_back(&*next);
  }
  if (b.GetInsertBlock() != block) return;
  size_t longest = 0;
  for (const auto& instructions : chains) longest = std::max(longest, instructions.size());
  for (size_t step = 0; step < longest; ++step) {
    for (const auto& instructions : chains) {
      if (step < instructions.size()) instructions[step]->moveBefore(*block, block->end());
    }
  }
}

}  // namespace tailor::cpu
