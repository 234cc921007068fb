// Rewrites of a KernelPlan into canonical form, so that equal kernels have equal text.
#ifndef TAILOR_CODEGEN_PLAN_PLAN_REWRITES_H_
#define TAILOR_CODEGEN_PLAN_PLAN_REWRITES_H_

#include <vector>

#include "analysis/shape_facts.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor {

// Merges neighbouring axes of one role that all accesses traverse like one axis: [B, S, C] row-major with a bias of [C]
// becomes [B*S, C]. Never merged: the n axis of a contraction, contract axes, axes of a staging buffer, and with
// `keep_m` the m axis.
void CollapseAxes(KernelPlan& plan, const ShapeFacts& facts, bool keep_m = false);

// Merges the m axis of a contraction with batch axes before it along which the rhs does not move, if the lhs stays
// affine: heads of queries that share keys and values, or the batch under a bias of [S, N], become rows of one matmul,
// which reads its rhs once for all. Other indices may become quotients and remainders of the new m. Only where results
// are stored along n.
void MergeRowsOfOneRhs(KernelPlan& plan);

// Drops all parts that no statement uses. Renumbers buffers by kind (inputs, outputs, row, local) in their order, and
// dim slots and expressions by first use. Returns the old number of each new buffer.
std::vector<int> Canonicalize(KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_PLAN_REWRITES_H_
