// Placement of workspace blocks (DISC section 4.2.2, AStitch section 4.4). Lifetimes are static, sizes are not. The
// compiler fixes the order in which blocks are placed. Generated code puts each block at the lowest offset that is free
// during its lifetime, for the sizes of the run. PlaceBlocks is the reference implementation.
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
  // For each entry of `order`: the blocks placed earlier whose live intervals overlap with it.
  std::vector<std::vector<int>> conflicts;
};

// Chooses the order. Starts with blocks by size over sample shapes, largest first, ties by index. Then moves equal
// blocks (those of equal layers) together while that lowers the worst waste over the samples: at most 1024 trials,
// fewer if many blocks overlap. Samples combine likely values with steps through the ranges; most trials are rejected
// after a few samples. Deterministic. Requires: every block is live at some step.
MemoryPlan PlanMemory(absl::Span<const WorkspaceBlock> blocks, const ShapeFacts& facts);

struct Placement {
  std::vector<int64_t> offsets;  // by block
  int64_t bytes = 0;             // total
};

// First fit in the plan's order; `sizes` by block.
Placement PlaceBlocks(const MemoryPlan& plan, absl::Span<const int64_t> sizes);

// The maximum of live bytes over all steps: a lower bound of every placement.
int64_t LiveMaximum(absl::Span<const WorkspaceBlock> blocks, absl::Span<const int64_t> sizes);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_MEMORY_PLAN_H_
