// The per-element data dependence of a node on one operand, dim by dim: the propagation rule of BladeDISC 4.2 step 3,
// for every op.
#ifndef TAILOR_FUSION_OPERAND_MAP_H_
#define TAILOR_FUSION_OPERAND_MAP_H_

#include <optional>
#include <utility>
#include <vector>

#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

inline constexpr int kUnitDim = -1;     // dim size 1: always index 0
inline constexpr int kReducedDim = -2;  // reduced away by the node
inline constexpr int kOtherDim = -3;    // an offset, a lookup, part of a linear index, or an unproved broadcast

// Element `r` of the node's result reads operand elements whose index in dim d is r[dims[d]], or as the constants above
// say.
struct OperandMap {
  std::vector<int> dims;
  // Several result elements may read one operand element.
  bool replicates = false;
  // The pairs of dim sizes that are not provably equal, where this is why dims has kOtherDim.
  std::vector<std::pair<DimExpr, DimExpr>> unproved;

  bool aligned() const;  // no kOtherDim
};

// The map of operand number `operand` of `node`.
OperandMap MapOperand(const Graph& graph, const ShapeFacts& facts, NodeId node, int operand);

// A lazily filled cache of a graph's operand maps. Borrows its arguments. Single-threaded.
class OperandMaps {
 public:
  OperandMaps(const Graph& graph, const ShapeFacts& facts)
      : graph_(graph), facts_(facts), known_(graph.nodes().size()) {}

  const OperandMap& of(NodeId node, int operand) const;

 private:
  const Graph& graph_;
  const ShapeFacts& facts_;
  mutable std::vector<std::vector<std::optional<OperandMap>>> known_;  // by node and operand
};

// ReshapeOnlySplits: whether every operand dim becomes one or more whole result dims, so that each operand index is a
// linear function of result indices. ReshapeOnlyJoins: the converse.
bool ReshapeOnlySplits(const Graph& graph, const ShapeFacts& facts, NodeId reshape);
bool ReshapeOnlyJoins(const Graph& graph, const ShapeFacts& facts, NodeId reshape);

// Whether `node` is a transposition that makes another dim the last one.
bool MovesLastDim(const Node& node);
// Whether neighbours along the last dim of `view`, a chain of transpositions and reshapes, are apart in its source.
bool SpreadsLastDim(const Graph& graph, NodeId view);

// Whether the dim size is provably 1.
bool ProvablyOne(const ShapeFacts& facts, const DimExpr& dim_size);
// The message "dim sizes S and T are not provably equal; assume_equal(S, T) would allow it", or one that says that they
// differ.
std::string UnequalDimSizes(const Graph& graph, const DimExpr& a, const DimExpr& b);

}  // namespace tailor

#endif  // TAILOR_FUSION_OPERAND_MAP_H_
