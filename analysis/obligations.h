// What ops demand of the dim sizes of their operands and attributes, straight from op semantics. Nothing is
// proved here; ShapeFacts turns what it cannot prove into runtime checks.
#ifndef TAILOR_ANALYSIS_OBLIGATIONS_H_
#define TAILOR_ANALYSIS_OBLIGATIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

struct Obligation {
  ShapeCheck::Relation relation;
  DimExpr lhs, rhs;
  std::string where;     // `dot %5 ("ffn")`
  std::string lhs_what;  // "contracted dim of lhs"
  std::string rhs_what;  // "of rhs"
  std::string topic;     // "contracted dims"
  std::string node;      // the node's name
  bool assumed = false;  // by the caller: lhs_what and rhs_what are the expressions
};

// That every divisor of floordiv and mod which is no constant is at least 1: those of the assumptions, then
// of every node's attributes and results; an inner divisor before the expression around it, each once.
std::vector<Obligation> CollectDivisors(const Graph& graph);
// Whether a floordiv or mod within `e` has a divisor that is no constant.
bool HasDivisor(const DimExpr& e);

// The assumptions, then those of every node in order.
std::vector<Obligation> CollectObligations(const Graph& graph);

// `dot %5 ("ffn"): contracted dim of lhs (S) is {lhs}, but of rhs (T) is {rhs}`
std::string CheckMessage(const Obligation& obligation, const Graph& graph);

// `dot %5 ("ffn"): contracted dim of lhs is 3, but of rhs is S in [0, 2]; they can never be equal`. `describe`
// gives an expression with what is known of it.
std::string ContradictionMessage(const Obligation& obligation,
                                 const std::function<std::string(const DimExpr&)>& describe);

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_OBLIGATIONS_H_
