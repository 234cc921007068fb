#include "fusion/group_queries.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/reshape_groups.h"
#include "fusion/graph_rebuild.h"
#include "fusion/node_class.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

Shape BatchOf(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

Shape With(const Shape& batch, const Shape& shape, size_t skipped) {
  Shape result = batch;
  result.insert(result.end(), shape.begin() + static_cast<int64_t>(skipped), shape.end());
  return result;
}

// A rhs as a broadcast of matrices: reshapes of its batch, and swaps of its last two dims, aside.
struct Repeated {
  Value matrices;           // the broadcast's operand
  Shape batch;              // of the broadcast's result
  bool transposed = false;  // whether the swaps are odd in number
};

class Grouper {
 public:
  explicit Grouper(const ShapeFacts& facts) : facts_(facts) {}

  absl::StatusOr<std::optional<Value>> Rewrite(const NodeRewrite& r) {
    if (r.node().op == OpKind::kDot) return RewriteDot(r);
    const bool follows =
        std::any_of(r.operands.begin(), r.operands.end(), [&](Value v) { return grouped_.contains(v); });
    if (!follows || r.node().results.size() != 1) return std::nullopt;
    if (ClassOf(r.node()) == FusionClass::kElementwise) return RewriteElementwise(r);
    if (ClassOf(r.node()) == FusionClass::kReduction) return RewriteReduction(r);
    return std::nullopt;
  }

 private:
  // A value of the new graph and the same with batch dims `batch`: `value` is its reshape.
  struct Grouped {
    Value value;
    Shape batch;
  };

  bool Same(const Shape& a, const Shape& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const DimExpr& x, const DimExpr& y) { return facts_.ProvablyEqual(x, y); });
  }
  bool IsOne(const DimExpr& dim) const { return facts_.Canonical(dim) == DimExpr(1); }

  std::optional<Repeated> FindRepeated(const Graph& graph, Value rhs) const {
    Repeated found;
    for (Value v = rhs;;) {
      const Node& node = graph.node(v.node);
      if (node.operands.empty() || graph.type(node.operands[0]).rank() < 2) return std::nullopt;
      const Shape &from = graph.type(node.operands[0]).shape, &to = graph.type(v).shape;
      const auto kept = [&](size_t i) { return facts_.ProvablyEqual(from[from.size() - i], to[to.size() - i]); };
      if (node.op == OpKind::kBroadcast) {
        if (from.size() != to.size() || !kept(1) || !kept(2)) return std::nullopt;
        found.matrices = node.operands[0];
        found.batch = BatchOf(to);
        return found;
      }
      if (node.op == OpKind::kTranspose) {
        std::vector<int64_t> swap(to.size());
        std::iota(swap.begin(), swap.end(), 0);
        std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
        if (node.i64s("permutation") != swap) return std::nullopt;
        found.transposed = !found.transposed;
      } else if (node.op != OpKind::kReshape || !kept(1) || !kept(2)) {
        return std::nullopt;
      }
      v = node.operands[0];
    }
  }

  absl::StatusOr<Value> Reshaped(Graph& graph, Value v, const Shape& shape) const {
    if (Same(graph.type(v).shape, shape)) return v;
    TAILOR_ASSIGN_OR_RETURN(const NodeId id, graph.Append(OpKind::kReshape, {v}, {{"shape", shape}}));
    return Value{id, 0};
  }

  // The result of the node that is rewritten, `value` with the batch dims of the original. Readers that are rewritten
  // too read `value`.
  absl::StatusOr<std::optional<Value>> Result(const NodeRewrite& r, Value value, const Shape& batch, bool last) {
    r.to.SetNodeName(value.node, r.node().name);
    const Shape& shape = r.node().results[0].shape;
    TAILOR_ASSIGN_OR_RETURN(const NodeId id, r.to.Append(OpKind::kReshape, {value}, {{"shape", shape}}));
    const Value result{id, 0};
    if (!last) grouped_[result] = {value, batch};
    return result;
  }

  absl::StatusOr<std::optional<Value>> RewriteDot(const NodeRewrite& r) {
    const Node& node = r.node();
    const Shape& lhs = r.to.type(r.operands[0]).shape;
    const Shape batch = BatchOf(node.results[0].shape);
    if (!Same(BatchOf(lhs), batch) || !Same(BatchOf(r.to.type(r.operands[1]).shape), batch)) return std::nullopt;
    const std::optional<Repeated> repeated = FindRepeated(r.to, r.operands[1]);
    if (!repeated || Same(repeated->batch, batch)) return std::nullopt;
    const auto known = grouped_.find(r.operands[0]);
    const bool last = known != grouped_.end() && Same(known->second.batch, repeated->batch);
    Value queries = last ? known->second.value : Value{};
    if (!last) {
      TAILOR_ASSIGN_OR_RETURN(queries, Reshaped(r.to, r.operands[0], With(repeated->batch, lhs, batch.size())));
    }
    Attributes attributes = node.attributes;
    attributes["transpose_rhs"] = int64_t{(node.i64("transpose_rhs") != 0) != repeated->transposed};
    TAILOR_ASSIGN_OR_RETURN(const NodeId dot,
                            r.to.Append(OpKind::kDot, {queries, repeated->matrices}, std::move(attributes)));
    return Result(r, {dot, 0}, repeated->batch, last);
  }

  // The batch dims and the grouped batch dims of the operands of a node that are grouped, if these are alike.
  std::optional<std::pair<Shape, Shape>> BatchesOf(const NodeRewrite& r) const {
    std::optional<std::pair<Shape, Shape>> found;
    for (Value operand : r.operands) {
      const auto it = grouped_.find(operand);
      if (it == grouped_.end()) continue;
      const Shape &shape = r.to.type(operand).shape, &batch = it->second.batch;
      const size_t trailing = r.to.type(it->second.value).shape.size() - batch.size();
      const Shape before(shape.begin(), shape.end() - static_cast<int64_t>(trailing));
      if (found && (!Same(found->first, before) || !Same(found->second, batch))) return std::nullopt;
      found = {before, batch};
    }
    return found;
  }

  // The shape of an operand that broadcasts to the result, with grouped batch dims: each group of dims that a reshape
  // of the batch matches is all ones, or whole.
  std::optional<Shape> GroupedShape(const Shape& shape, const Shape& before, const Shape& batch, size_t rank) const {
    const size_t missing = rank - shape.size();
    if (missing >= before.size()) return shape;
    Shape all(missing, DimExpr(1)), result;
    all.insert(all.end(), shape.begin(), shape.end());
    for (const ReshapeGroup& group : MatchReshape(before, batch, facts_)) {
      const auto dims = [&](const Shape& of, int begin, int end) {
        return Shape(of.begin() + begin, of.begin() + end);
      };
      const Shape own = dims(all, group.from_begin, group.from_end);
      if (std::all_of(own.begin(), own.end(), [&](const DimExpr& dim) { return IsOne(dim); })) {
        result.insert(result.end(), group.to_end - group.to_begin, DimExpr(1));
      } else if (Same(own, dims(before, group.from_begin, group.from_end))) {
        const Shape grouped = dims(batch, group.to_begin, group.to_end);
        result.insert(result.end(), grouped.begin(), grouped.end());
      } else {
        return std::nullopt;
      }
    }
    return With(result, all, before.size());
  }

  absl::StatusOr<std::optional<Value>> RewriteElementwise(const NodeRewrite& r) {
    const auto batches = BatchesOf(r);
    if (!batches) return std::nullopt;
    const auto& [before, batch] = *batches;
    const Shape& result = r.node().results[0].shape;
    std::vector<Shape> shapes;
    for (Value operand : r.operands) {
      if (grouped_.contains(operand)) {
        if (r.to.type(operand).shape.size() != result.size()) return std::nullopt;
        shapes.emplace_back();
        continue;
      }
      std::optional<Shape> shape = GroupedShape(r.to.type(operand).shape, before, batch, result.size());
      if (!shape) return std::nullopt;
      shapes.push_back(*std::move(shape));
    }
    std::vector<Value> operands;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const auto it = grouped_.find(r.operands[i]);
      if (it != grouped_.end()) {
        operands.push_back(it->second.value);
      } else {
        TAILOR_ASSIGN_OR_RETURN(const Value operand, Reshaped(r.to, r.operands[i], shapes[i]));
        operands.push_back(operand);
      }
    }
    TAILOR_ASSIGN_OR_RETURN(const NodeId id, r.to.Append(r.node().op, operands, r.node().attributes));
    return Result(r, {id, 0}, batch, false);
  }

  // A reduction of dims after the batch.
  absl::StatusOr<std::optional<Value>> RewriteReduction(const NodeRewrite& r) {
    const Grouped& operand = grouped_.at(r.operands[0]);
    const Shape batch = operand.batch;
    const auto more = static_cast<int64_t>(r.to.type(operand.value).shape.size()) -
                      static_cast<int64_t>(r.to.type(r.operands[0]).shape.size());
    Attributes attributes = r.node().attributes;
    std::vector<int64_t> axes = r.node().i64s("axes");
    for (int64_t& axis : axes) {
      axis += more;
      if (axis < static_cast<int64_t>(batch.size())) return std::nullopt;
    }
    attributes["axes"] = axes;
    TAILOR_ASSIGN_OR_RETURN(const NodeId id, r.to.Append(r.node().op, {operand.value}, std::move(attributes)));
    return Result(r, {id, 0}, batch, false);
  }

  const ShapeFacts& facts_;
  std::map<Value, Grouped> grouped_;  // by value of the new graph
};

}  // namespace

absl::StatusOr<Graph> GroupQueries(const Graph& graph, const ShapeFacts& facts) {
  Grouper grouper(facts);
  return RebuildGraph(graph, {.rewrite = [&](const NodeRewrite& r) { return grouper.Rewrite(r); }});
}

}  // namespace tailor
