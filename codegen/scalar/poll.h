// Polls within long tasks (codegen/plan/long_tasks.h).
#ifndef TAILOR_CODEGEN_SCALAR_POLL_H_
#define TAILOR_CODEGEN_SCALAR_POLL_H_

#include "codegen/scalar/scalar_emitter.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// Emits `body` such that it is skipped once the run is interrupted; without KernelParameter::kContext, `body` alone.
void EmitUnlessInterrupted(llvm::IRBuilderBase& b, const KernelFrame& frame, llvm::function_ref<void()> body);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_POLL_H_
