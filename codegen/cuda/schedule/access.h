// How the accesses of a plan map to memory when neighbouring threads, or the lanes of one thread, take neighbouring
// elements.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_ACCESS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_ACCESS_H_

#include <cstdint>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cuda {

// Let n divide the dim size of `axis`. True if, for every such n, n elements along `axis` from a multiple of n on are
// contiguous and begin at a multiple of n, in elements from the start of the buffer. `no_broadcast` as in Version.
bool LiesInRuns(const KernelPlan& plan, const Access& access, int axis, bool no_broadcast);

// Elements along `axis` that a thread should take at once. 1 if an access that depends on `axis` does not lie in runs,
// or if lanes have their own predicate. Else as many of the narrowest type as 16 bytes hold, at most 8, and at most 32
// bytes of the widest type.
int LanesAlong(const KernelPlan& plan, int axis, bool no_broadcast);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_ACCESS_H_
