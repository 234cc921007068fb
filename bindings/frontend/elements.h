// Ops on known elements: dims and computed integers that a model assembles into shapes.
#ifndef TAILOR_BINDINGS_FRONTEND_ELEMENTS_H_
#define TAILOR_BINDINGS_FRONTEND_ELEMENTS_H_

#include <functional>
#include <optional>
#include <vector>

#include "bindings/frontend/array.h"
#include "bindings/frontend/op_kinds.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// Each gives known elements, or nullopt if the operands are not known elements or a result is not a dim.
std::optional<Tensor> FoldElements(UnaryOp op, const Tensor& x);
std::optional<Tensor> FoldElements(BinaryOp op, const Tensor& lhs, const Tensor& rhs);
std::optional<Tensor> FoldElementsSelect(const Tensor& condition, const Tensor& on_true, const Tensor& on_false);
std::optional<Tensor> FoldElementsReduce(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes,
                                         bool keep_dims);

// Moves elements of lists, of which the graph may compute some: move(i64 arrays that number the elements of all
// operands) gives the number of each result's element.
std::optional<Tensor> FoldElementsMove(const std::vector<Tensor>& xs,
                                       const std::function<Array(const std::vector<Array>& numbers)>& move);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_ELEMENTS_H_
