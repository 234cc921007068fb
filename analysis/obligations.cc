#include "analysis/obligations.h"

#include <algorithm>
#include <functional>
#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "graph/region_rules.h"

namespace tailor {
namespace {

using Relation = ShapeCheck::Relation;

// `dot %5 ("ffn")`
std::string NodeText(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string text = absl::StrCat(InfoOf(node.op).text, " %", id);
  if (!node.name.empty()) absl::StrAppend(&text, " (\"", node.name, "\")");
  return text;
}

// Calls `visit` for each floordiv and mod within `e` with a non-constant divisor, inner ones first.
void ForEachDivision(const DimExpr& e, const std::function<void(const DimExpr::Atom&)>& visit) {
  for (const DimExpr::Term& term : e.terms()) {
    for (const DimExpr::Factor& factor : term.factors) {
      const DimExpr::Atom& atom = *factor.atom;
      if (atom.kind == DimExpr::AtomKind::kSymbol) continue;
      ForEachDivision(atom.lhs, visit);
      ForEachDivision(atom.rhs, visit);
      const bool divides = atom.kind == DimExpr::AtomKind::kFloorDiv || atom.kind == DimExpr::AtomKind::kMod;
      if (divides && !atom.rhs.constant()) visit(atom);
    }
  }
}

// Appends the obligations of one node.
class NodeObligations {
 public:
  NodeObligations(const Graph& graph, NodeId id, std::vector<Obligation>* out)
      : graph_(graph), node_(graph.node(id)), out_(out), location_(NodeText(graph, id)) {}

  void Append() {
    switch (InfoOf(node_.op).shape) {
      case ShapeRule::kBroadcast:
        return Broadcast(0, "dim");
      case ShapeRule::kBroadcastTo:
        return BroadcastTo();
      case ShapeRule::kReshape:
        return Reshape();
      case ShapeRule::kSlice:
        return Slice();
      case ShapeRule::kConcat:
        return Concat();
      case ShapeRule::kContract:
        return Contract();
      case ShapeRule::kScatter:
        return Scatter();
      case ShapeRule::kWindow:
        return NonNegative(node_.dims("sizes"), "window size of dim ");
      case ShapeRule::kRegion:
        return Region();
      case ShapeRule::kStated:
        return NonNegative(node_.dims("shapes"), "dim size ");
      case ShapeRule::kPad:
      case ShapeRule::kFromShape:
        return NonNegative(node_.results[0].shape, "size of dim ");
      default:
        return;  // inputs are checked by SignatureChecks; the others require nothing
    }
  }

 private:
  const Shape& operand(size_t i) const { return graph_.type(node_.operands[i]).shape; }

  std::string OperandName(size_t i) const {
    const std::vector<OperandInfo>& row = InfoOf(node_.op).operands;
    size_t last = row.size() - 1;
    if (!row[std::min(i, last)].variadic) return std::string(row[i].name);
    return absl::StrCat(row[last].name, "[", i - last, "]");
  }

  void Add(Relation relation, const DimExpr& lhs, const DimExpr& rhs, std::string lhs_description,
           std::string rhs_description, std::string requirement) {
    out_->push_back({relation, lhs, rhs, location_, std::move(lhs_description), std::move(rhs_description),
                     std::move(requirement), node_.name});
  }

  // Broadcasts the operands' dims, aligned to the last dim, without the last `skip` ones.
  void Broadcast(size_t skip, const std::string& kind) {
    Shape result;
    for (size_t i = 0; i < node_.operands.size(); ++i) {
      const Shape& shape = operand(i);
      size_t rank = shape.size() - skip;
      if (rank > result.size()) result.insert(result.begin(), rank - result.size(), DimExpr(1));
      for (size_t d = 0; d < rank; ++d) {
        DimExpr& dim_size = result[result.size() - rank + d];
        std::string requirement = absl::StrCat("broadcast of ", kind, "s");
        std::string description = absl::StrCat(kind, " ", d, " of ", OperandName(i));
        size_t missing = result.size() - operand(0).size() + skip;  // leading dims that operand 0 lacks
        if (i == 1 && result.size() - rank + d >= missing) {
          std::string before = absl::StrCat(kind, " ", result.size() - rank + d - missing, " of ", OperandName(0));
          Add(Relation::kBroadcasts, dim_size, shape[d], before, description, requirement);
        } else if (i > 1) {
          Add(Relation::kBroadcasts, shape[d], dim_size, description, "of the operands before it", requirement);
        }
        dim_size = DimExpr::Bcast(dim_size, shape[d]);
      }
    }
  }

  // The operand's dim is 1 or the target's. (Plain broadcasting would also allow a target of 1.)
  void BroadcastTo() {
    const Shape &from = operand(0), &to = node_.results[0].shape;
    NonNegative(to, "target dim ");
    for (size_t d = 0; d < from.size(); ++d) {
      const DimExpr& target = to[to.size() - from.size() + d];
      std::string description = absl::StrCat("dim ", d, " of ", OperandName(0));
      Add(Relation::kBroadcasts, from[d], target, description, "the target", "broadcast to the target");
      Add(Relation::kEqual, DimExpr::Bcast(from[d], target), target, description, "the target",
          "broadcast to the target");
    }
  }

  void Reshape() {
    const Shape& to = node_.results[0].shape;
    NonNegative(to, "target dim ");
    Add(Relation::kEqual, ElementCount(operand(0)), ElementCount(to), "element count", "of the target shape",
        "element counts");
  }

  void Slice() {
    const Shape &dim_sizes = operand(0), &starts = node_.dims("starts"), &sizes = node_.dims("sizes");
    const std::vector<int64_t>& steps = node_.i64s("steps");
    NonNegative(sizes, "size of dim ");
    for (size_t d = 0; d < dim_sizes.size(); ++d) {
      int64_t step = steps.empty() ? 1 : steps[d];
      DimExpr last = starts[d] + (sizes[d] - 1) * step;
      // An empty slice is rejected only if its start is `step` or more past the dim size.
      DimExpr low = step > 0 ? starts[d] : last;
      DimExpr end = step > 0 ? last + 1 : starts[d] + DimExpr::Min(sizes[d], 1);
      Add(Relation::kAtLeast, low, 0, absl::StrCat("lowest index in dim ", d), "the bound", "slice bounds");
      Add(Relation::kAtMost, end, dim_sizes[d], absl::StrCat("end in dim ", d),
          absl::StrCat("the dim size of ", OperandName(0)), "slice bounds");
    }
  }

  void Concat() {
    int64_t axis = node_.i64("axis");
    if (axis < 0) axis += static_cast<int64_t>(operand(0).size());
    for (size_t i = 1; i < node_.operands.size(); ++i) {
      for (size_t d = 0; d < operand(i).size(); ++d) {
        if (static_cast<int64_t>(d) == axis) continue;
        Add(Relation::kEqual, operand(i)[d], operand(0)[d], absl::StrCat("dim ", d, " of ", OperandName(i)),
            absl::StrCat("of ", OperandName(0)), "dims off the axis");
      }
    }
  }

  // A dim of size 0 has no position for an update.
  void Scatter() {
    const Shape &x = operand(0), &indices = operand(1), &updates = operand(2);
    const size_t depth = *indices.back().constant(), count = indices.size() - 1;
    const DimExpr some = DimExpr::Min(1, ElementCount(Shape(indices.begin(), indices.end() - 1)));
    for (size_t d = 0; d < depth; ++d) {
      Add(Relation::kAtLeast, x[d], some, absl::StrCat("dim ", d, " of x"), "the bound", "scattered dims");
    }
    for (size_t d = 0; d < updates.size(); ++d) {
      const bool of_indices = d < count;
      Add(Relation::kEqual, updates[d], of_indices ? indices[d] : x[d - count + depth],
          absl::StrCat("dim ", d, " of updates"),
          absl::StrCat("dim ", of_indices ? d : d - count + depth, of_indices ? " of indices" : " of x"),
          "dims of the updates");
    }
  }

  // Result dims inferred from the branches must not be negative.
  void Region() {
    if (node_.op != OpKind::kIf) return;
    const std::vector<std::vector<bool>> data_dependent = DataDependentDims(graph_, node_);
    for (size_t r = 0; r < data_dependent.size(); ++r) {
      for (size_t d = 0; d < data_dependent[r].size(); ++d) {
        if (data_dependent[r][d]) continue;
        Add(Relation::kAtLeast, node_.results[r].shape[d], 0, absl::StrCat("dim size ", d, " of result ", r),
            "the bound", "dim sizes");
      }
    }
  }

  void Contract() {
    const Shape &lhs = operand(0), &rhs = operand(1);
    const DimExpr& lhs_k = lhs[lhs.size() - (node_.i64("transpose_lhs") != 0 ? 2 : 1)];
    const DimExpr& rhs_k = rhs[rhs.size() - (node_.i64("transpose_rhs") != 0 ? 1 : 2)];
    Add(Relation::kEqual, lhs_k, rhs_k, "contracted dim of lhs", "of rhs", "contracted dims");
    Broadcast(2, "batch dim");
  }

  void NonNegative(const Shape& shape, absl::string_view description) {
    for (size_t d = 0; d < shape.size(); ++d) {
      Add(Relation::kAtLeast, shape[d], 0, absl::StrCat(description, d), "the bound", "dim sizes");
    }
  }

  const Graph& graph_;
  const Node& node_;
  std::vector<Obligation>* out_;
  std::string location_;
};

std::string Expression(const DimExpr& e, const Graph& graph) {
  return e.constant() ? "" : absl::StrCat(" (", graph.DimText(e), ")");
}

absl::string_view Never(Relation relation) {
  switch (relation) {
    case Relation::kEqual:
      return "they can never be equal";
    case Relation::kBroadcasts:
      return "they can never broadcast";
    case Relation::kAtLeast:
      return "it can never be so large";
    default:
      return "it can never be so small";
  }
}

}  // namespace

std::vector<Obligation> CollectDivisors(const Graph& graph) {
  std::vector<Obligation> all;
  std::set<DimExpr> seen;
  const auto add = [&](const DimExpr& e, const std::string& location, const std::string& node) {
    ForEachDivision(e, [&](const DimExpr::Atom& atom) {
      if (!seen.insert(atom.rhs).second) return;
      const std::string division = graph.DimText(DimExpr::Make(atom.kind, atom.lhs, atom.rhs));
      all.push_back({Relation::kAtLeast, atom.rhs, 1, location, absl::StrCat("divisor of ", division), "the bound",
                     "divisors", node});
    });
  };
  for (const Assumption& assumption : graph.assumptions()) {
    add(assumption.lhs, "the caller's assumption", "");
    add(assumption.rhs, "the caller's assumption", "");
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    for (const auto& [name, value] : node.attributes) {
      const Shape* dims = std::get_if<Shape>(&value);
      if (dims == nullptr) continue;
      for (const DimExpr& dim : *dims) add(dim, NodeText(graph, id), node.name);
    }
    for (const TensorType& result : node.results) {
      for (const DimExpr& dim : result.shape) add(dim, NodeText(graph, id), node.name);
    }
  }
  return all;
}

bool HasDivisor(const DimExpr& e) {
  bool found = false;
  ForEachDivision(e, [&](const DimExpr::Atom&) { found = true; });
  return found;
}

std::vector<Obligation> CollectObligations(const Graph& graph) {
  std::vector<Obligation> all;
  for (const auto& [relation, lhs, rhs, what, assured] : graph.assumptions()) {
    const bool equal = relation == Assumption::Relation::kEqual;
    const std::string location = !what.empty() ? what : equal ? "assumed equality" : "assumed bound";
    all.push_back({equal ? Relation::kEqual : Relation::kAtLeast, lhs, rhs, location, graph.DimText(lhs),
                   graph.DimText(rhs), assured ? "assured" : "by the caller", "", true, assured});
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) NodeObligations(graph, id, &all).Append();
  return all;
}

std::string CheckMessage(const Obligation& o, const Graph& graph) {
  std::string lhs = o.assumed ? "" : Expression(o.lhs, graph), rhs = o.assumed ? "" : Expression(o.rhs, graph);
  std::string prefix = absl::StrCat(o.location, ": ", o.lhs_description, lhs, " is {lhs}, but ");
  if (o.relation == Relation::kAtLeast) return absl::StrCat(prefix, "must be at least {rhs}");
  absl::string_view suffix = o.relation == Relation::kBroadcasts ? ", which do not broadcast" : "";
  return absl::StrCat(prefix, o.rhs_description, rhs, " is {rhs}", suffix);
}

std::string ContradictionMessage(const Obligation& o, const std::function<std::string(const DimExpr&)>& describe) {
  std::string prefix = absl::StrCat(o.location, ": ", o.lhs_description, " is ", describe(o.lhs), ", but ");
  if (o.relation == Relation::kAtLeast) return absl::StrCat(prefix, "must be at least ", describe(o.rhs));
  return absl::StrCat(prefix, o.rhs_description, " is ", describe(o.rhs), "; ", Never(o.relation));
}

}  // namespace tailor
