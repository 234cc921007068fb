// Values of one element: constants and dim sizes.
#ifndef TAILOR_GRAPH_SCALAR_VALUES_H_
#define TAILOR_GRAPH_SCALAR_VALUES_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// A rank-0 constant of `dtype`.
absl::StatusOr<Value> ScalarConstant(Graph& graph, DType dtype, double value);

// `dim_size` (>= 0) as an i64[] value.
absl::StatusOr<Value> DimSizeValue(Graph& graph, const DimExpr& dim_size);

}  // namespace tailor

#endif  // TAILOR_GRAPH_SCALAR_VALUES_H_
