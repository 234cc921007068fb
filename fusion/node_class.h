// The properties of one node that fusion uses, from the op table.
#ifndef TAILOR_FUSION_NODE_CLASS_H_
#define TAILOR_FUSION_NODE_CLASS_H_

#include "graph/graph.h"

namespace tailor {

inline FusionClass ClassOf(const Node& node) { return InfoOf(node.op).fusion; }

inline bool IsReduction(const Node& node) { return ClassOf(node) == FusionClass::kReduction; }
inline bool IsContraction(const Node& node) { return ClassOf(node) == FusionClass::kContraction; }
inline bool IsScan(const Node& node) { return ClassOf(node) == FusionClass::kScan; }
inline bool IsScatter(const Node& node) { return ClassOf(node) == FusionClass::kScatter; }

// Loops, branches and continuations: they run between kernels, and their operands are in memory.
inline bool IsControl(const Node& node) { return ClassOf(node) == FusionClass::kControl; }

// Views and iota: an index map without work, so every group that reads one may hold its own copy.
inline bool IsFree(const Node& node) { return ClassOf(node) == FusionClass::kView || node.op == OpKind::kIota; }

// Inputs and constants have no code; everything else belongs to a group.
inline bool HasCode(const Node& node) { return ClassOf(node) != FusionClass::kStructural; }

// A rank-0 constant: a literal in kernels.
inline bool IsLiteral(const Graph& graph, Value v) {
  return graph.node(v.node).op == OpKind::kConstant && graph.type(v).shape.empty();
}

// Whether recomputing the node for every read costs more than reading it from memory.
inline bool IsExpensive(const Node& node) {
  constexpr int kManyCycles = 12;
  if (InfoOf(node.op).cost >= kManyCycles) return true;
  if (node.op == OpKind::kGather || node.op == OpKind::kConcat) return true;
  return IsReduction(node) || IsContraction(node) || IsScan(node) || IsScatter(node);
}

}  // namespace tailor

#endif  // TAILOR_FUSION_NODE_CLASS_H_
