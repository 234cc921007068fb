// How much work the tasks of matmuls are.
#ifndef TAILOR_CODEGEN_CPU_SCHEDULE_TASKS_H_
#define TAILOR_CODEGEN_CPU_SCHEDULE_TASKS_H_

#include <cstdint>

#include "codegen/plan/slot_expr.h"

namespace tailor::cpu {

// A thread takes several small tasks at a time, a chunk of at least about this work, so that each grab is worth its
// cost.
inline constexpr int64_t kChunkMultiplyAdds = 1 << 19;

// Number of blocks of rows (Schedule::row_blocks): `least`, or up to `most` if a launch would have too few tasks for its
// workers. `others`: tasks per block. With one worker it is `least`, since more blocks read the rhs more often.
inline SlotExpr RowBlocks(const SlotExpr& least, const SlotExpr& most, const SlotExpr& others) {
  constexpr int64_t kTasksPerWorker = 8;
  const SlotExpr wanted = kTasksPerWorker * (SlotExpr::Workers() - 1), divisor = SlotExpr::Max(others, 1);
  return SlotExpr::Max(least, SlotExpr::Min(most, SlotExpr::FloorDiv(wanted + divisor - 1, divisor)));
}

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_SCHEDULE_TASKS_H_
