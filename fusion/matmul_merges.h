// Which matmuls may become one (BladeDISC 4.3, dot merging): those that share their left operand and have constant
// right operands. Their columns lie side by side in one result, of which slices are read.
#ifndef TAILOR_FUSION_MATMUL_MERGES_H_
#define TAILOR_FUSION_MATMUL_MERGES_H_

#include <vector>

#include "fusion/fusion_plan.h"

namespace tailor {

struct MatmulMerge {
  // One elementwise op that follows every matmul: the node of each, whose other operands are constants over columns.
  // -1: that matmul has none, and the op leaves its columns as they are (x + -0, x * 1).
  struct Step {
    OpKind op;
    std::vector<NodeId> nodes;
  };
  std::vector<NodeId> matmuls;  // ascending
  std::vector<NodeId> weights;  // per matmul: the constant, a matrix
  bool transposed = false;      // the matrices are [N, K]
  std::vector<Step> steps;      // in order
  std::vector<NodeId> ends;     // per matmul: whose value is its columns after all steps
};

struct MatmulMerges {
  std::vector<MatmulMerge> merges;
  std::vector<Refusal> refusals;  // of matmuls that share their left operand, and stay apart
};

// Requires: equal nodes are one. A matmul joins others only where its kernel does nothing less for it: what
// follows must not be lost as its epilogue, and readers must find its columns by a linear index.
MatmulMerges FindMatmulMerges(const Graph& graph, const ShapeFacts& facts);

// What neutral operand of `op` on the right returns the left operand bit for bit; none for other ops.
std::optional<double> NeutralOperand(OpKind op, DType dtype);

// The number of columns of a matmul or of what follows it.
int64_t ColumnsOf(const Graph& graph, NodeId id);

}  // namespace tailor

#endif  // TAILOR_FUSION_MATMUL_MERGES_H_
