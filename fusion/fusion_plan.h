// FusionPlan: which nodes share a kernel (BladeDISC section 4, AStitch section 3, TSCompiler 4.2).
//
// Every node with code belongs to exactly one group, except views and cheap index-only nodes, which
// may be absorbed by several consumers (an index map costs nothing to repeat). A group becomes one
// KernelPlan. Printable, exact-text tested.
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
  kScan,         // one scan, what it is computed from, and what follows it element by element
  kScatter,      // one scatter: its operand is copied, then updated in order
  kControl,      // one loop, branch or continuation: no kernel, its regions are programs of their own
};

// An axis of a group's iteration domain.
struct GroupAxis {
  DimExpr dim_size;
  bool tile = false;  // kRow: iterated within a row (reduced or mapped); kContraction: contracted; kScan: the
                      // scanned one; kScatter: the updates' numbers. The last two run in order
};

struct FusionGroup {
  GroupKind kind = GroupKind::kLoop;
  std::vector<NodeId> nodes;    // ascending; absorbed views included
  std::vector<Value> inputs;    // values read from memory (graph inputs, constants, other groups' outputs)
  std::vector<Value> outputs;   // values written to memory, each with a use outside or a graph output
  NodeId dominant = -1;         // the node that the others follow, or the only one; -1 for kLoop
  std::vector<GroupAxis> axes;  // kLoop: dims of the outputs; kRow: group dims then tile dims;
                                // kContraction: batch..., m, n, then the contracted k; kScan: the other dims,
                                // then the scanned one; kScatter: the dims of one update, then those that
                                // number the updates
  // For each node of the group whose own index space maps one to one onto axes (group-dim and tile-dim
  // propagation, BladeDISC 4.2): entry d is the axis of result dim d, or -1 for a dim size-1 dim. Reductions
  // additionally have `reduce_axes` (the axis of each reduced operand dim, in order). Nodes absorbed as index
  // maps are absent, and so are kRow outputs that are transposes or reshapes of a mapped node: the store
  // index goes through those.
  std::map<NodeId, std::vector<int>> axis_of;
  std::map<NodeId, std::vector<int>> reduce_axes;
  // kLoop: outputs that nodes of the group also read at other indices, where they are computed again; ascending.
  std::vector<NodeId> read_elsewhere;
  // kContraction: views of what the matmul computes in place, applied to the store index, in order. The last of them
  // is the output, or else elementwise nodes follow it and end in the output.
  std::vector<NodeId> trailing_views;
};

// An edge that was not fused, and why; what `explain` prints.
struct Refusal {
  NodeId producer = -1;
  NodeId consumer = -1;
  std::string pass;
  std::string reason;  // "dim sizes S and T are not provably equal; assume_equal(S, T) would allow it"
};

struct FusionPlan {
  std::vector<FusionGroup> groups;  // in an executable (topological) order
  // Groups, ascending, that run as one kernel where the last of them stands, a block of rows at a time: what one hands
  // the next is never in memory as a whole (AStitch section 3.1, the regional scheme, between kernels).
  std::vector<std::vector<int>> chains;
  std::vector<Refusal> refusals;
  // "g0 row [B, S | 384] in(%x) out(%y) { %3 = reduce_max %x; ... }", a line each, refusals last.
  std::string ToText(const Graph& graph) const;
};

// Runs every pass of fusion/pipeline.cc over one-node groups. Requires canonical types
// (rewrites have run). Each pass is verified; with a non-empty `dump_dir` each result is written there.
absl::StatusOr<FusionPlan> Fuse(const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                                const AtPass& at_pass = {});

// Structural invariants: each coded node in one group, order executable, inputs/outputs exact.
absl::Status VerifyFusionPlan(const FusionPlan& plan, const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_FUSION_FUSION_PLAN_H_
