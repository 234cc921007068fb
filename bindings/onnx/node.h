// One ONNX node while it is imported: its operands, attributes, and what an operator's function asks of them.
#ifndef TAILOR_BINDINGS_ONNX_NODE_H_
#define TAILOR_BINDINGS_ONNX_NODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/error.h"
#include "bindings/frontend/ops.h"
#include "bindings/frontend/tensor.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/proto.h"
#include "bindings/onnx/scope.h"

namespace tailor::onnx {

class GraphImporter;

class Node {
 public:
  // `row`: of the operator at the node's opset. `inputs`: absent ones are empty.
  Node(GraphImporter& importer, const NodeProto& proto, const OperatorRow& row, int64_t opset, const Opsets& opsets,
       const Scope& scope, int depth, Tensors inputs);

  const NodeProto& proto() const { return proto_; }
  std::string_view type() const { return proto_.op_type; }
  int64_t opset() const { return opset_; }  // of the operator's domain
  std::string Label() const { return proto_.Label(); }
  GraphImporter& importer() const { return importer_; }
  frontend::Builder& builder() const;
  frontend::Dims& dims() const;

  int inputs() const { return static_cast<int>(inputs_.size()); }
  // Operand `index`; empty if absent.
  const frontend::Tensor& input(int index) const;
  const frontend::Tensor& operator[](int index) const { return input(index); }
  const Tensors& all() const { return inputs_; }
  int outputs() const { return static_cast<int>(proto_.outputs.size()); }
  bool WantsOutput(int index) const;  // whether the node names it

  // Attributes. One that the node lacks has its row's default; asking for one without default fails.
  bool Has(std::string_view name) const;  // whether the node gives it
  int64_t Int(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise) const { return Has(name) ? Int(name) : otherwise; }
  bool Flag(std::string_view name) const { return Int(name) != 0; }
  double Float(std::string_view name) const;
  double Float(std::string_view name, double otherwise) const { return Has(name) ? Float(name) : otherwise; }
  std::string String(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name) const;
  std::vector<int64_t> Ints(std::string_view name, std::vector<int64_t> otherwise) const;
  std::vector<double> Floats(std::string_view name) const;  // empty if absent
  std::vector<std::string> Strings(std::string_view name) const;
  frontend::Tensor TensorOf(std::string_view name) const;  // empty if absent
  const GraphProto& Graph(std::string_view name) const;
  DType TypeOf(std::string_view name) const;  // of an attribute that is a TensorProto.DataType

  // A failure that fixing the inputs that `tensor` depends on would avoid: "`what` depends on data".
  [[noreturn]] void DependsOnData(const frontend::Tensor& tensor, const std::string& what) const;

  // The elements of an operand that importing has to know: dims. `what` names them in errors.
  std::vector<frontend::Element> Known(const frontend::Tensor& tensor, const std::string& what) const;
  std::vector<int64_t> KnownInts(const frontend::Tensor& tensor, const std::string& what) const;
  // The elements of a list of known length; computed ones are values.
  std::vector<frontend::Element> Parts(const frontend::Tensor& tensor, const std::string& what) const;
  // Those as dims.
  frontend::Shape DimsOf(const frontend::Tensor& tensor, const std::string& what) const;
  // The value of a tensor of one element, in rank 0.
  frontend::Tensor ScalarOf(const frontend::Tensor& tensor) const;
  // The axis counted from the front.
  int64_t Axis(int64_t axis, int rank) const;

  // What another operator of the same opset gives for these operands. Attributes that are not listed have the
  // operator's defaults.
  Tensors Call(std::string_view op_type, Tensors inputs, std::vector<AttributeProto> attributes = {},
               int outputs = 1) const;
  // What an operator of another domain gives, "" being the default one.
  Tensors CallIn(std::string_view domain, std::string_view op_type, Tensors inputs,
                 std::vector<AttributeProto> attributes = {}, int outputs = 1) const;
  // This node with other operands.
  Node With(Tensors inputs) const;

  // For operators with subgraphs.
  const Opsets& opsets() const { return opsets_; }
  const Scope& scope() const { return scope_; }
  int depth() const { return depth_; }

 private:
  GraphImporter& importer_;
  const NodeProto& proto_;
  const OperatorRow& row_;
  int64_t opset_;
  const Opsets& opsets_;
  const Scope& scope_;
  int depth_;
  Tensors inputs_;
};

// Fails unless the sizes that a node splits a dim into add up to its size; every run checks what is not known.
void DemandSum(const Node& node, const frontend::Shape& sizes, const frontend::Dim& size);
// Fails unless x has this rank; `what` names it.
void DemandRank(const frontend::Tensor& x, int rank, const std::string& what);

AttributeProto IntAttribute(std::string_view name, int64_t value);
AttributeProto FloatAttribute(std::string_view name, double value);
AttributeProto IntsAttribute(std::string_view name, std::vector<int64_t> values);
AttributeProto StringAttribute(std::string_view name, std::string_view value);  // `value` outlives the node

// The operator that is a formula of its only operand.
template <frontend::Tensor (*kFormula)(const frontend::Tensor&)>
Tensors Formula(const Node& node) {
  return {kFormula(node[0])};
}

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_NODE_H_
