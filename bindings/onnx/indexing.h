// Indices and counts that operators of several families compute.
#ifndef TAILOR_BINDINGS_ONNX_INDEXING_H_
#define TAILOR_BINDINGS_ONNX_INDEXING_H_

#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/tensor.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {

// An operand as indices: itself if it is i32 or i64, else as i64.
frontend::Tensor AsIndex(const frontend::Tensor& tensor);
// 0, 1, ... along the first dim, computed where it is used, so that kernels see it.
frontend::Tensor IndexOf(frontend::Builder& builder, const frontend::Shape& shape);
// i64 indices, those below 0 counted from the end of a dim.
frontend::Tensor WrappedIndex(const frontend::Tensor& index, const frontend::Dim& size);
// The same, for dim `axis` of the node's first operand. Out of range: a run fails.
frontend::Tensor CheckedIndex(const Node& node, const frontend::Tensor& index, int axis);
// The index along `axis` of each element of `shape`: i64 that broadcasts to the shape.
frontend::Tensor Position(frontend::Builder& builder, const frontend::Shape& shape, int axis);
// Element indices along `axis` of x without the trailing dims over which they are constant and which cover x's dims.
// Exporters expand one index per row to one per element (Expand); a gather or scatter of rows needs the former.
struct ElementIndices {
  frontend::Tensor index;  // broadcasts to `shape`
  frontend::Shape shape;   // the leading dims of the element indices, `axis` included
};
ElementIndices WithoutRows(const frontend::Tensor& indices, const frontend::Shape& x, int axis);
// x[indices...] of x of `shape`: one i64 tensor that broadcasts to `out` for each of x's first dims. All are in range:
// an index beyond its dim would read elsewhere in x. Result: [out..., x's other dims...].
frontend::Tensor FlatGather(const frontend::Tensor& x, const frontend::Shape& shape,
                            const std::vector<frontend::Tensor>& indices, const frontend::Shape& out);

// How many of start, start + step, ... lie before `end`: i64 of rank 0, as the operands. `step` is not 0.
frontend::Tensor StepsBefore(const frontend::Tensor& start, const frontend::Tensor& end, const frontend::Tensor& step);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_INDEXING_H_
