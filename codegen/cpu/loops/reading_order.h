// The order of a kernel's axes in which consecutive tasks read consecutive memory.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_READING_ORDER_H_
#define TAILOR_CODEGEN_CPU_LOOPS_READING_ORDER_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor::cpu {

// Reorders `axes`, outermost digit of the task number first: last come the axes that the innermost index of some load
// depends on. Only loads that depend on `lane_axis` count; `other` keeps its place.
std::vector<int> ReadingOrder(const KernelPlan& plan, std::vector<int> axes, int lane_axis, int other = -1);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_READING_ORDER_H_
