// How the accesses of a plan meet memory when neighbouring threads, or the lanes of one, take neighbouring elements.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_ACCESS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_ACCESS_H_

#include <cstdint>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cuda {

// Whether every run of elements along `axis` that begins at a multiple of a number which divides the axis's dim size
// lies side by side and begins at a multiple of that number, counted in elements from the buffer's begin.
// `no_broadcast` as in Version.
bool LiesInRuns(const KernelPlan& plan, const Access& access, int axis, bool no_broadcast);

// How many elements along `axis` a thread should take at once: 1 where some access neither lies in runs nor is the same
// for all of them, or where lanes have a condition of their own; else as many as 16 bytes hold of the narrowest type
// that lies in runs, at most 8 and at most 32 bytes of the widest.
int LanesAlong(const KernelPlan& plan, int axis, bool no_broadcast);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_ACCESS_H_
