// Where workspace blocks go (DISC section 4.2.2, AStitch section 4.4). Lifetimes are static, sizes are not: the
// compiler fixes the order in which blocks are placed, and generated code puts each at the lowest offset that
// is free during its life, with the sizes of the run. PlaceBlocks does the same, as reference.
#ifndef TAILOR_CODEGEN_HOST_MEMORY_PLAN_H_
#define TAILOR_CODEGEN_HOST_MEMORY_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "analysis/liveness.h"
#include "analysis/shape_facts.h"

namespace tailor::host {

struct WorkspaceBlock {
  DimExpr bytes;  // a multiple of the alignment, >= 0
  LiveInterval live;
};

struct MemoryPlan {
  std::vector<int> order;  // every block once
  // For each entry of `order`: the blocks placed before it that are live together with it.
  std::vector<std::vector<int>> conflicts;
};

// Starts with the largest block over sample shapes first, ties by index, and moves equal blocks (those of equal
// layers) together while that lowers the worst waste over the samples, for 1024 trials at most, fewer
// where many blocks are live together. Samples combine likely values with steps through the ranges; most trials are
// rejected at a few of them. Deterministic.
// Requires: every block is live at some step.
MemoryPlan PlanMemory(absl::Span<const WorkspaceBlock> blocks, const ShapeFacts& facts);

struct Placement {
  std::vector<int64_t> offsets;  // by block
  int64_t bytes = 0;             // that all blocks span
};

// First fit in the plan's order; `sizes` by block.
Placement PlaceBlocks(const MemoryPlan& plan, absl::Span<const int64_t> sizes);

// The most bytes live at any one step: no placement needs less.
int64_t LiveMaximum(absl::Span<const WorkspaceBlock> blocks, absl::Span<const int64_t> sizes);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_MEMORY_PLAN_H_
