#include "fusion/joins.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "fusion/node_class.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

class JoinedDims {
 public:
  explicit JoinedDims(const ShapeFacts& facts) : facts_(facts) {}

  bool In(const Shape& shape) {
    return std::any_of(shape.begin(), shape.end(), [&](const DimExpr& dim) { return Holds(facts_.Canonical(dim)); });
  }

 private:
  bool Holds(const DimExpr& e) {
    const auto [known, added] = holds_.try_emplace(e, false);
    if (!added) return known->second;
    bool holds = false;
    for (const DimExpr::Term& term : e.terms()) {
      for (const DimExpr::Factor& factor : term.factors) {
        const DimExpr::Atom& atom = *factor.atom;
        if (atom.kind == DimExpr::AtomKind::kSymbol) continue;
        holds = holds || atom.kind == DimExpr::AtomKind::kBcast || Holds(atom.lhs) || Holds(atom.rhs);
      }
    }
    return holds_[e] = holds;
  }

  const ShapeFacts& facts_;
  absl::flat_hash_map<DimExpr, bool> holds_;
};

// Whether a kernel of the node needs operand dim sizes for more than one address per element.
bool AddressesWithDimSizes(const Node& node) {
  switch (node.op) {
    case OpKind::kWindow:
    case OpKind::kPad:
    case OpKind::kConcat:
    case OpKind::kGather:
      return true;
    default:
      return IsContraction(node) || IsScan(node) || IsScatter(node) || IsControl(node);
  }
}

}  // namespace

absl::StatusOr<std::optional<JoinedVersion>> VersionWithoutJoins(const Graph& graph, const ShapeFacts& facts) {
  std::vector<std::pair<DimExpr, DimExpr>> equal;
  for (const ShapeCheck& check : facts.checks()) {
    const bool joins =
        check.relation == ShapeCheck::Relation::kBroadcasts && !check.lhs.constant() && !check.rhs.constant();
    if (joins) equal.emplace_back(check.lhs, check.rhs);
  }
  if (equal.empty()) return std::nullopt;
  JoinedDims joined(facts);
  const auto gains = [&](const Node& node) {
    return AddressesWithDimSizes(node) && std::any_of(node.operands.begin(), node.operands.end(),
                                                      [&](Value v) { return joined.In(graph.type(v).shape); });
  };
  if (std::none_of(graph.nodes().begin(), graph.nodes().end(), gains)) return std::nullopt;
  JoinedVersion version{graph, std::move(equal)};
  for (const auto& [a, b] : version.equal) TAILOR_RETURN_IF_ERROR(version.graph.AssumeEqual(a, b));
  if (!ShapeFacts::Collect(version.graph).ok()) return std::nullopt;
  return version;
}

std::string JoinsText(const Graph& graph, const JoinedVersion& version) {
  return absl::StrJoin(version.equal, ", ", [&](std::string* out, const std::pair<DimExpr, DimExpr>& pair) {
    absl::StrAppend(out, graph.DimText(pair.first), " == ", graph.DimText(pair.second));
  });
}

}  // namespace tailor
