#include "analysis/known_values.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tailor {
namespace {

using Values = std::vector<std::optional<DimExpr>>;

bool IsOne(const DimExpr& dim) { return dim.constant() == 1; }

// Whether values of the type can be expressions: one integer or truth value.
bool IsSingle(const TensorType& type) {
  return (type.dtype == DType::kI64 || type.dtype == DType::kBool) &&
         std::all_of(type.shape.begin(), type.shape.end(), IsOne);
}

// Sums and differences of numbers within the bounds, and of sizes and counters, which are >= 0, do not overflow. Larger
// numbers are limits: they may be compared with such, but not added.
constexpr int64_t kLeastNumber = INT32_MIN, kMostTerm = INT32_MAX;

std::optional<DimExpr> NumberOf(const Graph& graph, NodeId constant) {
  const ConstantData& data = graph.constant_data(constant);
  int64_t number = 0;
  if (data.declared_hash) return std::nullopt;  // a placeholder for the bytes
  std::memcpy(&number, data.data, data.size);
  if (graph.type({constant, 0}).dtype == DType::kBool) return DimExpr(int64_t{number != 0});
  if (number < kLeastNumber) return std::nullopt;
  return DimExpr(number);
}

DimExpr Not(const DimExpr& a) { return DimExpr(1) - a; }

// `truth`: whether the operands are bools, which hold 0 or 1.
std::optional<DimExpr> Elementwise(OpKind op, bool truth, const std::vector<DimExpr>& x) {
  const auto is_term = [](const DimExpr& e) { return e.constant().value_or(0) <= kMostTerm; };
  switch (op) {
    case OpKind::kAdd:
      if (is_term(x[0]) && is_term(x[1])) return x[0] + x[1];
      return std::nullopt;
    case OpKind::kSub:
      if (is_term(x[0]) && is_term(x[1])) return x[0] - x[1];
      return std::nullopt;
    case OpKind::kMax:
      return DimExpr::Max(x[0], x[1]);
    case OpKind::kMin:
      return DimExpr::Min(x[0], x[1]);
    case OpKind::kLt:
      return DimExpr::Less(x[0], x[1]);
    case OpKind::kGt:
      return DimExpr::Less(x[1], x[0]);
    case OpKind::kLe:
      return Not(DimExpr::Less(x[1], x[0]));
    case OpKind::kGe:
      return Not(DimExpr::Less(x[0], x[1]));
    case OpKind::kEq:
      return DimExpr::Equal(x[0], x[1]);
    case OpKind::kNe:
      return Not(DimExpr::Equal(x[0], x[1]));
    case OpKind::kNot:
      if (truth) return Not(x[0]);
      return std::nullopt;
    case OpKind::kAnd:
      if (truth) return DimExpr::Min(x[0], x[1]);
      return std::nullopt;
    case OpKind::kOr:
      if (truth) return DimExpr::Max(x[0], x[1]);
      return std::nullopt;
    case OpKind::kSelect:
      return DimExpr::Select(x[0], x[1], x[2]);
    default:
      return std::nullopt;
  }
}

// Evaluates nodes in order.
class Evaluator {
 public:
  Evaluator(const Graph& graph, const KnownValues::Source& source, Values& values)
      : graph_(graph), source_(source), values_(values) {}

  void Run() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const NodeId input = graph_.inputs()[i];
      if (IsSingle(graph_.type({input, 0}))) values_[input] = source_.input(static_cast<int>(i));
    }
    for (NodeId id = 0; id < static_cast<NodeId>(values_.size()); ++id) {
      const Node& node = graph_.node(id);
      if (node.op == OpKind::kInput || node.results.size() != 1 || !IsSingle(node.results[0])) continue;
      values_[id] = Of(id, node);
      if (values_[id] && !values_[id]->valid()) values_[id].reset();
    }
  }

 private:
  std::optional<DimExpr> Of(NodeId id, const Node& node) {
    if (node.op == OpKind::kConstant) return NumberOf(graph_, id);
    if (node.op == OpKind::kIota) return DimExpr(0);
    if (node.op == OpKind::kSlice && graph_.node(node.operands[0].node).op == OpKind::kIota) return OfPositions(node);
    std::vector<DimExpr> operands;
    for (Value operand : node.operands) {
      if (!IsSingle(graph_.type(operand)) || !values_[operand.node]) return std::nullopt;
      operands.push_back(*values_[operand.node]);
    }
    switch (node.op) {
      case OpKind::kReshape:
      case OpKind::kTranspose:
      case OpKind::kBroadcast:
      case OpKind::kSlice:
        return operands[0];
      case OpKind::kCast:
        return FromTo(graph_.type(node.operands[0]).dtype, node.results[0].dtype, operands[0]);
      default:
        return operands.empty()
                   ? std::nullopt
                   : Elementwise(node.op, graph_.type(node.operands.back()).dtype == DType::kBool, operands);
    }
  }

  // One element of an iota: DimSizeValue (graph/scalar_values.h).
  std::optional<DimExpr> OfPositions(const Node& slice) {
    const int64_t axis = graph_.node(slice.operands[0].node).i64("axis");
    std::optional<DimExpr> failed;
    const DimExpr position = slice.dims("starts")[axis].Substitute([&](SymbolId symbol) {
      const std::optional<DimExpr> known = source_.symbol(symbol);
      if (!known) failed = DimExpr(0);
      return known.value_or(DimExpr(0));
    });
    return failed ? std::nullopt : std::optional(position);
  }

  static DimExpr FromTo(DType from, DType to, const DimExpr& x) {
    return to == DType::kBool && from != DType::kBool ? Not(DimExpr::Equal(x, 0)) : x;
  }

  const Graph& graph_;
  const KnownValues::Source& source_;
  Values& values_;
};

}  // namespace

KnownValues::KnownValues(const Graph& graph, const Source& source) : values_(graph.nodes().size()) {
  Evaluator(graph, source, values_).Run();
}

}  // namespace tailor
