// FusionPlan: the partition of a graph's nodes into kernels (BladeDISC section 4, AStitch section 3, TSCompiler 4.2).
//
// Every node with code belongs to exactly one group, except views and cheap index-only nodes: several consumers may
// absorb one (repeating an index map is free). A group becomes one KernelPlan. ToText is exact and tested.
#ifndef TAILOR_FUSION_FUSION_PLAN_H_
#define TAILOR_FUSION_FUSION_PLAN_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "fusion/at_pass.h"
#include "fusion/target_traits.h"
#include "graph/graph.h"

namespace tailor {

enum class GroupKind : uint8_t {
  kLoop,         // one pass over one domain; no reduction
  kRow,          // reduction-rooted; all stages share the row ("group") dims and stitch over tile dims
  kContraction,  // one dot, its epilogue, and trailing views of the result
  kScan,         // one scan, its producers, and the elementwise nodes that follow it
  kScatter,      // one scatter: its operand is copied, then updated in order
  kControl,      // one loop, branch or continuation: no kernel; its regions are separate programs
};

// An axis of a group's iteration domain.
struct GroupAxis {
  DimExpr dim_size;
  bool tile = false;  // kRow: iterated within a row (reduced or mapped); kContraction: contracted; kScan: scanned;
                      // kScatter: numbers the updates. The axes of kScan and kScatter run in order
};

// The nodes of one kernel, and how their index spaces map onto its iteration domain.
struct FusionGroup {
  GroupKind kind = GroupKind::kLoop;
  std::vector<NodeId> nodes;    // ascending; absorbed views included
  std::vector<Value> inputs;    // values read from memory (graph inputs, constants, other groups' outputs)
  std::vector<Value> outputs;   // values written to memory, each with a use outside or a graph output
  NodeId dominant = -1;         // the reduction, matmul, scan, scatter or control node; -1 for kLoop
  std::vector<GroupAxis> axes;  // kLoop: dims of the outputs; kRow: group dims then tile dims;
                                // kContraction: batch..., m, n, then the contracted k; kScan: the other dims,
                                // then the scanned dim; kScatter: the dims of one update, then the dims
                                // that number the updates
  // For each node whose index space maps one to one onto axes (group-dim and tile-dim propagation, BladeDISC 4.2):
  // entry d is the axis of result dim d, or -1 for a dim of size 1. Reductions also have `reduce_axes`: the axis of
  // each reduced operand dim, in order. Absent: nodes absorbed as index maps, and kRow outputs that are transposes or
  // reshapes of a mapped node (the store index goes through these).
  std::map<NodeId, std::vector<int>> axis_of;
  std::map<NodeId, std::vector<int>> reduce_axes;
  // kLoop: outputs that nodes of the group also read at other indices, where they are recomputed; ascending.
  std::vector<NodeId> read_elsewhere;
  // kContraction: views of the value that the matmul computes in place, applied to the store index, in order. The last
  // one is the output, or elementwise nodes follow it and end in the output.
  std::vector<NodeId> trailing_views;
};

// An edge that was not fused, with the reason; printed by `explain`.
struct Refusal {
  NodeId producer = -1;
  NodeId consumer = -1;
  std::string pass;
  std::string reason;  // "dim sizes S and T are not provably equal; assume_equal(S, T) would allow it"
};

// The result of fusion: groups, chains of groups, and the refused edges.
struct FusionPlan {
  std::vector<FusionGroup> groups;  // in an executable (topological) order
  // Chains of groups (ascending) that run as one kernel at the place of the last group, one block of rows at a time. A
  // value passed within a chain is never in memory as a whole (AStitch section 3.1, the regional scheme).
  std::vector<std::vector<int>> chains;
  std::vector<Refusal> refusals;
  // One line per group, refusals last: "g0 row [B, S | 384] in(%x) out(%y) { %3 = reduce_max %x; ... }".
  std::string ToText(const Graph& graph) const;
};

// Runs every pass of fusion/pipeline.cc over one-node groups, and verifies the plan after each. Requires canonical
// types (Rewrite has run). `at_pass` reports progress, may cancel, and leaves optional passes out.
absl::StatusOr<FusionPlan> Fuse(const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                                const AtPass& at_pass = {});

// The names of the passes that may be left out: results agree within rounding.
std::vector<std::string> OptionalFusions();

// Checks the structural invariants: each node with code is in one group, the order is executable, inputs and outputs
// are exact.
absl::Status VerifyFusionPlan(const FusionPlan& plan, const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_FUSION_FUSION_PLAN_H_
