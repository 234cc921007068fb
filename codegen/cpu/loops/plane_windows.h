// Reductions over windows whose lanes run across planes (channels). A task is a block of results of as many planes as a
// vector has lanes. The part of the image that their windows read is copied to a staging buffer on the stack in which
// the planes of an element are adjacent: transposed in registers, square by square, or as it is where channels are last
// in memory. So every vector of a window is aligned and whole, at any stride and in planes narrower than a vector, and
// padding is staged like other elements. The former's results are transposed back. Each result combines its window in
// the plan's order.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_PLANE_WINDOWS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_PLANE_WINDOWS_H_

#include <string>

#include "codegen/cpu/loops/windowed_reduction.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// The axis that numbers the planes: that of channels that are last in memory, or one that fills most lanes where
// nothing but the image and the result varies along both planes and sides; -1: none.
int PlaneAxisOf(const KernelPlan& plan, const WindowedReduction& windows, int lanes);

// Results of a task along a side of windows, at most.
int64_t PlaneBlock(const WindowedReduction& windows, size_t side, int lanes);

// Adds function `name`, a KernelFn. `plane` is PlaneAxisOf(plan).
void EmitPlaneWindows(const KernelPlan& plan, const WindowedReduction& windows, int plane, const Schedule& schedule,
                      const Version& version, const EmitTarget& target, const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_PLANE_WINDOWS_H_
