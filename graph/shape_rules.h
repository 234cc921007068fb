// The shape half of the type rules: infers the shape of an op's result.
#ifndef TAILOR_GRAPH_SHAPE_RULES_H_
#define TAILOR_GRAPH_SHAPE_RULES_H_

#include <algorithm>
#include <cassert>
#include <functional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace tailor {

// One application of an op, and the names of its parts for messages.
struct Application {
  const OpInfo& info;
  absl::Span<const TensorType> operands;
  absl::Span<const std::string> names;
  const Attributes& attributes;
  absl::Span<const Region> regions;
  const std::function<std::string(SymbolId)>& symbol_name;

  const TensorType& operand(size_t i) const { return operands[i]; }
  template <typename T>
  const T& attribute(absl::string_view name) const {
    auto it = attributes.find(name);
    assert(it != attributes.end());
    return std::get<T>(it->second);
  }

  // Operand i in messages: `"rhs" (%3)`.
  std::string Name(size_t i) const {
    size_t row = std::min(i, info.operands.size() - 1);
    std::string index = info.operands[row].variadic ? absl::StrCat("[", i - row, "]") : "";
    std::string value = i < names.size() ? absl::StrCat(" (", names[i], ")") : "";
    return absl::StrCat("\"", info.operands[row].name, index, "\"", value);
  }
  std::string Text(const DimExpr& dim) const { return dim.ToText(symbol_name); }
  std::string Text(const Shape& shape) const {
    return absl::StrCat(
        "[", absl::StrJoin(shape, ", ", [&](std::string* out, const DimExpr& d) { out->append(Text(d)); }), "]");
  }
  template <typename... Args>
  absl::Status Error(const Args&... args) const {
    return absl::InvalidArgumentError(absl::StrCat(info.text, ": ", args...));
  }
};

// The result's shape by the op's ShapeRule (not kRegion). Error messages name op, operand and values.
absl::StatusOr<Shape> InferShape(const Application& op);

}  // namespace tailor

#endif  // TAILOR_GRAPH_SHAPE_RULES_H_
