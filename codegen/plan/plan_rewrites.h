// Rewrites of a KernelPlan that keep its meaning and bring it to canonical form, so that equal kernels
// have equal text.
#ifndef TAILOR_CODEGEN_PLAN_PLAN_REWRITES_H_
#define TAILOR_CODEGEN_PLAN_PLAN_REWRITES_H_

#include <vector>

#include "analysis/shape_facts.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor {

// Merges neighbouring axes of one role that all accesses walk as if they were one ([B, S, C] row-major with
// a bias of [C] becomes [B*S, C]). The n axis of a contraction, contract axes and those of a box stay, with `keep_m`
// its m axis too.
void CollapseAxes(KernelPlan& plan, const ShapeFacts& facts, bool keep_m = false);

// Drops what no statement uses and renumbers: buffers by kind (inputs, outputs, row, local) in their
// order, dim slots and expressions by first use. Returns for each new buffer the old number.
std::vector<int> Canonicalize(KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_PLAN_REWRITES_H_
