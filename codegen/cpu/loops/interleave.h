// Independent computations, emitted one after another, are put in turns: an instruction of each, then the next of each.
// A core looks only some hundred instructions ahead, which a few long chains fill while each of them waits for itself.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_INTERLEAVE_H_
#define TAILOR_CODEGEN_CPU_LOOPS_INTERLEAVE_H_

#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

// Emits chain(0), ..., chain(count - 1) where `b` stands, at the end of a block, and leaves `b` behind them. Chains may
// use what was emitted before, but nothing of each other, nor memory that another one writes. Where one of them opens
// blocks all stay as emitted.
void EmitInTurns(llvm::IRBuilderBase& b, int count, llvm::function_ref<void(int)> chain);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_INTERLEAVE_H_
