#include "graph/scalar_values.h"

#include <memory>
#include <string>
#include <utility>

#include "graph/element.h"
#include "graph/formula.h"
#include "graph/status_macros.h"

namespace tailor {

absl::StatusOr<Value> ScalarConstant(Graph& graph, DType dtype, double value) {
  if (!IsValid(dtype)) return absl::InvalidArgumentError("constant: the element type is invalid");
  auto bytes = std::make_shared<uint64_t>(0);
  ElementFromDouble(dtype, value, bytes.get());
  std::string name = ElementText(dtype, bytes.get());
  const void* data = bytes.get();
  TAILOR_ASSIGN_OR_RETURN(
      Value scalar,
      graph.AddConstant(name, dtype, {}, {std::move(bytes), data, static_cast<uint64_t>(SizeOf(dtype)), {}}));
  graph.SetNodeName(scalar.node, "");
  return scalar;
}

absl::StatusOr<Value> DimSizeValue(Graph& graph, const DimExpr& dim_size) {
  if (dim_size.constant()) return ScalarConstant(graph, DType::kI64, static_cast<double>(*dim_size.constant()));
  Formula f(&graph);
  Value indices =
      f.Apply(OpKind::kIota, {}, {{"shape", Shape{dim_size + 1}}, {"axis", int64_t{0}}, {"dtype", DType::kI64}});
  Value last = f.Apply(OpKind::kSlice, {indices}, {{"starts", Shape{dim_size}}, {"sizes", Shape{1}}});
  return f.Finish(f.Apply(OpKind::kReshape, {last}, {{"shape", Shape{}}}));
}

}  // namespace tailor
