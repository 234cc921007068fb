// The choice of a matmul's cut as code of the host program: every candidate is scored in a lane of one vector, by the
// formula of tiling_cost.h from the table at RtContext::costs (MikPoly section 3.5, in tens of nanoseconds). It runs
// when dim sizes change; the session's shape cache keeps what came out (host_unit.h).
#ifndef TAILOR_CODEGEN_CPU_TILING_EMIT_TILING_CHOICE_H_
#define TAILOR_CODEGEN_CPU_TILING_EMIT_TILING_CHOICE_H_

#include "codegen/plan/schedule.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor::gemm {

// Adds to `module` the internal function
//   {i64, i64, i64} @name(ptr costs, i64 threads, i64 m, i64 n, i64 k, i64 batch)
// which returns the cut (TilingWord), the number of tasks and the chunk size. `costs` points to a CostProfile. It chooses as
// ChooseTiling does. Where `tile` has no cuts it gives the rule's.
llvm::Function* EmitTilingChoice(const ContractionTile& tile, int pieces, const llvm::Twine& name,
                                 llvm::Module& module);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_EMIT_TILING_CHOICE_H_
