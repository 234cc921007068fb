// Finds matmuls that may become one (BladeDISC 4.3, dot merging): they share the lhs and have constant rhs. Their
// columns lie side by side in one result; readers take slices of it.
#ifndef TAILOR_FUSION_MATMUL_MERGES_H_
#define TAILOR_FUSION_MATMUL_MERGES_H_

#include <vector>

#include "fusion/fusion_plan.h"

namespace tailor {

// Matmuls that become one, and the elementwise steps that follow all of them.
struct MatmulMerge {
  // One elementwise op applied to every matmul. `nodes` has one node per matmul, whose other operands are constants
  // over columns. -1: that matmul has no such op, and a neutral operand leaves its columns unchanged (x + -0, x * 1).
  struct Step {
    OpKind op;
    std::vector<NodeId> nodes;
  };
  std::vector<NodeId> matmuls;  // ascending
  std::vector<NodeId> weights;  // per matmul: the constant, a matrix
  bool transposed = false;      // the matrices are [N, K]
  std::vector<Step> steps;      // in order
  std::vector<NodeId> ends;     // per matmul: the value of its columns after all steps
};

struct MatmulMerges {
  std::vector<MatmulMerge> merges;
  std::vector<Refusal> refusals;  // of matmuls that share their lhs but stay separate
};

// Requires: MergeEqualNodes has run. A matmul is merged only where no fusion is lost: its followers remain an epilogue,
// and readers find its columns by a linear index.
MatmulMerges FindMatmulMerges(const Graph& graph, const ShapeFacts& facts);

// The rhs with which `op` returns its lhs bit for bit; nullopt if `op` has none.
std::optional<double> NeutralOperand(OpKind op, DType dtype);

// The number of columns of a matmul or of a node that follows it.
int64_t ColumnsOf(const Graph& graph, NodeId id);

}  // namespace tailor

#endif  // TAILOR_FUSION_MATMUL_MERGES_H_
