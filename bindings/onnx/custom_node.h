// Nodes of custom domains (tailor_onnx_options.custom_domains): custom operators of the graph.
#ifndef TAILOR_BINDINGS_ONNX_CUSTOM_NODE_H_
#define TAILOR_BINDINGS_ONNX_CUSTOM_NODE_H_

#include <functional>
#include <string>
#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/proto.h"

namespace tailor::onnx {

// The type that the model states for a result.
struct StatedType {
  DType dtype;
  frontend::Shape shape;
  int counted_dim = -1;      // >= 0: shape has the bound of this dim, which the operator counts
  std::string counted_name;  // dim_param of that dim
};

// Appends the node as the custom operator "<domain>::<op_type>", with its attributes as a JSON object: numbers, strings
// and lists of them. `results`: by output. Fails for absent operands and for attributes of other types.
Tensors AppendCustomNode(frontend::Builder& builder, const NodeProto& node, const Tensors& inputs,
                         const std::vector<StatedType>& results);

// The attributes as AppendCustomNode writes them, in the model's order.
std::string AttributesAsJson(const NodeProto& node);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_CUSTOM_NODE_H_
