// How the accesses of a plan meet memory when neighbouring threads, or the lanes of one, take neighbouring elements.
#ifndef TAILOR_CODEGEN_CUDA_CUDA_ACCESS_H_
#define TAILOR_CODEGEN_CUDA_CUDA_ACCESS_H_

#include <cstdint>
#include <vector>

#include "codegen/kernel_plan.h"
#include "codegen/plan_queries.h"

namespace tailor {

// The plan's axes of that role, outer first.
std::vector<int> AxesOf(const KernelPlan& plan, AxisRole role);

// Each load that some statement needs, and each store.
std::vector<Access> AccessesOf(const KernelPlan& plan);

// Whether every run of elements along `axis` that begins at a multiple of a number which divides the axis's extent lies
// side by side and begins at a multiple of that number, counted in elements from the buffer's begin. `no_broadcast` as
// in Version.
bool LiesInRuns(const KernelPlan& plan, const Access& access, int axis, bool no_broadcast);

// How many elements along `axis` a thread should take at once: 1 where some access neither lies in runs nor is the same
// for all of them, or where lanes have a condition of their own; else as many as 16 bytes hold of the narrowest type
// that lies in runs, at most 8 and at most 32 bytes of the widest.
int LanesAlong(const KernelPlan& plan, int axis, bool no_broadcast);

// Whether `buffer` holds what one stage writes and a later one reads: a row buffer, or an output that is read back.
bool IsKept(const KernelPlan& plan, int buffer);

// Whether every element of such a buffer is read by the statements of that very element alone, so that no thread reads
// what another wrote.
bool KeptArePrivate(const KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_CUDA_ACCESS_H_
