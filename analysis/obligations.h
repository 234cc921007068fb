// Requirements of ops on the dim sizes of their operands and attributes, from op semantics only. Nothing is proved
// here: ShapeFacts turns the unproved ones into runtime checks.
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
  std::string location;         // the op, id and name of the node: `dot %5 ("ffn")`
  std::string lhs_description;  // "contracted dim of lhs"
  std::string rhs_description;  // "of rhs"
  std::string requirement;      // for Fact::source: "contracted dims"
  std::string node;             // the node's name
  bool assumed = false;         // an assumption; the descriptions are the expressions
  bool assured = false;         // a fact without a check
};

// Obligations that every non-constant divisor of floordiv and mod is >= 1: those of the assumptions, then those of
// every node's attributes and results. Each divisor occurs once, inner ones before the expression around them.
std::vector<Obligation> CollectDivisors(const Graph& graph);
// Whether `e` contains a floordiv or mod with a non-constant divisor.
bool HasDivisor(const DimExpr& e);

// The assumptions, then the obligations of every node, in node order.
std::vector<Obligation> CollectObligations(const Graph& graph);

// The message of a runtime check; the runtime substitutes {lhs} and {rhs}: `dot %5 ("ffn"): contracted dim of lhs (S)
// is {lhs}, but of rhs (T) is {rhs}`
std::string CheckMessage(const Obligation& obligation, const Graph& graph);

// The message of a compile-time error: `dot %5 ("ffn"): contracted dim of lhs is 3, but of rhs is S in [0, 2]; they can
// never be equal`. `describe` prints an expression with its known range and divisor.
std::string ContradictionMessage(const Obligation& obligation,
                                 const std::function<std::string(const DimExpr&)>& describe);

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_OBLIGATIONS_H_
