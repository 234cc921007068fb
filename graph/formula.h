// Formula: how builders of compound ops append primitives.
#ifndef TAILOR_GRAPH_FORMULA_H_
#define TAILOR_GRAPH_FORMULA_H_

#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/builders.h"
#include "graph/graph.h"

namespace tailor {

// An attribute of a primitive as a builder writes it down. Its value is moved on: a std::variant of libstdc++ 12 that
// is copied from an initializer list when memory runs out destroys what it has not made.
struct NamedAttribute {
  const char* name;
  mutable Attribute value;
};

// Appends primitives and keeps the first error: after it nothing is appended and every value is
// meaningless, so that a formula reads in one go and Finish() tells how it went.
class Formula {
 public:
  explicit Formula(Graph* graph) : graph_(*graph) {}

  Value Apply(OpKind op, std::initializer_list<Value> operands, std::initializer_list<NamedAttribute> attributes = {}) {
    return ApplyTo(op, absl::MakeConstSpan(operands.begin(), operands.size()), attributes);
  }

  Value ApplyTo(OpKind op, absl::Span<const Value> operands, std::initializer_list<NamedAttribute> attributes) {
    if (!status_.ok()) return Value{};
    Attributes moved;
    for (const NamedAttribute& attribute : attributes) moved.emplace(attribute.name, std::move(attribute.value));
    absl::StatusOr<NodeId> node = graph_.Append(op, operands, std::move(moved));
    if (node.ok()) return Value{*node, 0};
    status_ = node.status();
    return Value{};
  }

  Value Reduce(OpKind op, Value x, int64_t axis) {
    return Apply(op, {x}, {{"axes", std::vector<int64_t>{axis}}, {"keep_dims", int64_t{1}}});
  }

  // A rank-0 constant of the type of `like`.
  Value Scalar(Value like, double value) {
    if (!status_.ok()) return Value{};
    absl::StatusOr<Value> scalar = ScalarConstant(graph_, graph_.type(like).dtype, value);
    if (scalar.ok()) return *scalar;
    status_ = scalar.status();
    return Value{};
  }

  // x * factor
  Value Scale(Value x, double factor) { return Apply(OpKind::kMul, {x, Scalar(x, factor)}); }

  // x as f32 where it is f16 or bf16; else x itself. With Narrow: formulas of several ops round their result once.
  Value Wide(Value x) {
    if (!status_.ok()) return Value{};
    const DType dtype = graph_.type(x).dtype;
    return dtype == DType::kF16 || dtype == DType::kBF16 ? Apply(OpKind::kCast, {x}, {{"dtype", DType::kF32}}) : x;
  }

  // y in the type of `like`.
  Value Narrow(Value y, Value like) {
    if (!status_.ok()) return Value{};
    const DType dtype = graph_.type(like).dtype;
    return graph_.type(y).dtype == dtype ? y : Apply(OpKind::kCast, {y}, {{"dtype", dtype}});
  }

  bool ok() const { return status_.ok(); }

  absl::StatusOr<Value> Finish(Value result) const {
    if (!status_.ok()) return status_;
    return result;
  }

 private:
  Graph& graph_;
  absl::Status status_;
};

// `builder: x is no value of this graph`, or OK. A builder reads types before it appends.
inline absl::Status CheckValue(const Graph& graph, absl::string_view builder, absl::string_view operand, Value v) {
  if (graph.Contains(v)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      builder, ": operand \"", operand, "\" is no value of this graph (node ", v.node, ", result ", v.result, ")"));
}

}  // namespace tailor

#endif  // TAILOR_GRAPH_FORMULA_H_
