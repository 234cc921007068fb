// Interleaves independent computations that are emitted one after another: one instruction of each in turn. A core
// looks only some hundred instructions ahead; a few long dependency chains would fill that window, each waiting for
// itself.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_INTERLEAVE_H_
#define TAILOR_CODEGEN_CPU_LOOPS_INTERLEAVE_H_

#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

// Emits chain(0), ..., chain(count - 1) where `b` stands, at the end of a block, and leaves `b` after them. A chain may
// use values emitted before, but no value of another chain and no memory that another one writes. If any chain opens
// blocks, the order of emission is kept.
void EmitInTurns(llvm::IRBuilderBase& b, int count, llvm::function_ref<void(int)> chain);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_INTERLEAVE_H_
