// Formula: appends the primitives of compound ops, for builders.
#ifndef TAILOR_GRAPH_FORMULA_H_
#define TAILOR_GRAPH_FORMULA_H_

#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "graph/graph.h"
#include "graph/scalar_values.h"

namespace tailor {

// An attribute of a primitive, as builders write it. The value is moved, not copied: libstdc++ 12's std::variant,
// copied from an initializer list while memory runs out, destroys objects that it has not constructed.
struct NamedAttribute {
  const char* name;
  mutable Attribute value;
};

// Appends primitives and keeps the first error. After an error it appends nothing and returns meaningless values, so
// that builders need one check only, in Finish().
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

  // A rank-0 constant with the dtype of `like`.
  Value Scalar(Value like, double value) {
    if (!status_.ok()) return Value{};
    absl::StatusOr<Value> scalar = ScalarConstant(graph_, graph_.type(like).dtype, value);
    if (scalar.ok()) return *scalar;
    status_ = scalar.status();
    return Value{};
  }

  // x * factor
  Value Scale(Value x, double factor) { return Apply(OpKind::kMul, {x, Scalar(x, factor)}); }

  // x cast to f32 if it is f16 or bf16, else x. With Narrow: formulas of several ops round their result once.
  Value Wide(Value x) {
    if (!status_.ok()) return Value{};
    const DType dtype = graph_.type(x).dtype;
    return dtype == DType::kF16 || dtype == DType::kBF16 ? Apply(OpKind::kCast, {x}, {{"dtype", DType::kF32}}) : x;
  }

  // y cast to the dtype of `like`.
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

// OK, or `builder: operand "x" is no value of this graph`. For builders, which read types before they append.
inline absl::Status CheckValue(const Graph& graph, absl::string_view builder, absl::string_view operand, Value v) {
  if (graph.Contains(v)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      builder, ": operand \"", operand, "\" is no value of this graph (node ", v.node, ", result ", v.result, ")"));
}

}  // namespace tailor

#endif  // TAILOR_GRAPH_FORMULA_H_
