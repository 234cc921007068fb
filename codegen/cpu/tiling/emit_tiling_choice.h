// Emits the choice of a matmul's tiling, as code of the host program. Each candidate is scored in one lane of a vector,
// by the formula of tiling_cost.h and the cost profile at RtContext::costs (MikPoly section 3.5; takes tens of
// nanoseconds). It runs when dim sizes change; the session's shape cache keeps the result (host_unit.h).
#ifndef TAILOR_CODEGEN_CPU_TILING_EMIT_TILING_CHOICE_H_
#define TAILOR_CODEGEN_CPU_TILING_EMIT_TILING_CHOICE_H_

#include "codegen/plan/schedule.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor::gemm {

struct TilingChoice {
  // {i64, i64, i64} (ptr costs, ptr candidates, i64 threads, i64 m, i64 n, i64 k, i64 batch)
  // returns the tiling (TilingWord), the number of tasks and the tasks per chunk. `costs` points to a CostProfile.
  llvm::Function* function;
  llvm::Constant* candidates;  // the tile's numbers
};

// The choice for `tile` in `module`, internal to it. It chooses as ChooseTiling does. If `tile` has no candidate
// tilings, it returns the rule's. Tiles with equal limits by the rule, and nearly as many candidates, share the
// function: the candidates are constants that it loads.
TilingChoice EmitTilingChoice(const ContractionTile& tile, int pieces, llvm::Module& module);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_EMIT_TILING_CHOICE_H_
