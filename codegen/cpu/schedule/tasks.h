// How much work the tasks of matmuls are.
#ifndef TAILOR_CODEGEN_CPU_SCHEDULE_TASKS_H_
#define TAILOR_CODEGEN_CPU_SCHEDULE_TASKS_H_

#include <cstdint>

#include "codegen/cpu/tiling/tiling_cost.h"
#include "codegen/plan/slot_expr.h"

namespace tailor::cpu {

using gemm::kChunkMultiplyAdds;

// a / max(b, 1), rounded up.
inline SlotExpr CeilDivBy(const SlotExpr& a, const SlotExpr& b) {
  const SlotExpr divisor = SlotExpr::Max(b, 1);
  return SlotExpr::FloorDiv(a + divisor - 1, divisor);
}

// Number of blocks of rows (Schedule::row_blocks): `least`, or up to `most` if a launch would have too few tasks for
// its workers. `others`: tasks per block. With one worker it is `least`, since more blocks read the rhs more often.
inline SlotExpr RowBlocks(const SlotExpr& least, const SlotExpr& most, const SlotExpr& others) {
  constexpr int64_t kTasksPerWorker = 8;
  const SlotExpr wanted = kTasksPerWorker * (SlotExpr::Workers() - 1);
  return SlotExpr::Max(least, SlotExpr::Min(most, CeilDivBy(wanted, others)));
}

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_SCHEDULE_TASKS_H_
