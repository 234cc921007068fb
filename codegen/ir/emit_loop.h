// Emits structured control flow in IR. On return the builder points after the construct.
#ifndef TAILOR_CODEGEN_IR_EMIT_LOOP_H_
#define TAILOR_CODEGEN_IR_EMIT_LOOP_H_

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// Emits `for (i64 i = from; i < to; i += step) body(i)`; zero trips are legal. `body` may create blocks
// but must not terminate. Returns the first i that is not below `to`.
llvm::Value* EmitLoop(llvm::IRBuilderBase& b, llvm::Value* from, llvm::Value* to, int64_t step, const llvm::Twine& name,
                      llvm::function_ref<void(llvm::Value*)> body);
// As above, with a step known at run time.
llvm::Value* EmitLoop(llvm::IRBuilderBase& b, llvm::Value* from, llvm::Value* to, llvm::Value* step,
                      const llvm::Twine& name, llvm::function_ref<void(llvm::Value*)> body);

// As above, where `body` returns the next i, which must be greater.
llvm::Value* EmitLoop(llvm::IRBuilderBase& b, llvm::Value* from, llvm::Value* to, const llvm::Twine& name,
                      llvm::function_ref<llvm::Value*(llvm::Value*)> body);

// A loop-carried variable: an alloca that is initialized to `value` here.
llvm::AllocaInst* OpenVariable(llvm::IRBuilderBase& b, llvm::Value* value, const llvm::Twine& name);

// The mask of a loop's last vector, <lanes x i1>: true in the first `count` lanes (i64, at most 2^32 - 1).
llvm::Value* EmitFirstLanes(llvm::IRBuilderBase& b, int lanes, llvm::Value* count);

// Emits `if (condition) then()`.
void EmitIf(llvm::IRBuilderBase& b, llvm::Value* condition, const llvm::Twine& name, llvm::function_ref<void()> then);

// Emits `condition ? then() : otherwise()` as a branch; `otherwise` is called after `then`. `weights`: of the branch.
llvm::Value* EmitChoice(llvm::IRBuilderBase& b, llvm::Value* condition, const llvm::Twine& name,
                        llvm::function_ref<llvm::Value*()> then, llvm::function_ref<llvm::Value*()> otherwise,
                        llvm::MDNode* weights = nullptr);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_EMIT_LOOP_H_
