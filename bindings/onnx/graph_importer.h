// Imports the nodes of an ONNX model into graphs.
#ifndef TAILOR_BINDINGS_ONNX_GRAPH_IMPORTER_H_
#define TAILOR_BINDINGS_ONNX_GRAPH_IMPORTER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/onnx/custom_node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/proto.h"
#include "bindings/onnx/scope.h"
#include "bindings/onnx/tensor_data.h"

namespace tailor::onnx {

struct ImportOptions {
  std::map<std::string, frontend::SymbolRange, std::less<>> symbols;  // ranges of named symbols
  // Text of the dim (frontend/dim_text.h) for each dim_param, or "<input>_dim<i>" for a dim without one. Others are
  // symbols of their names.
  std::map<std::string, std::string, std::less<>> dims;
  std::map<std::string, frontend::Array, std::less<>> fixed;  // inputs that always have these elements
  std::set<std::string, std::less<>> custom_domains;          // whose nodes are custom operators
};

using FunctionKey = std::pair<std::string_view, std::string_view>;  // domain and name

// What Squeeze without axes does with dims that are 1 in some runs only. kKeep and kDrop assume a size, which every run
// checks.
enum class OpenSqueezes { kRefuse, kKeep, kDrop };

// What all graphs of one model share.
struct ModelImport {
  const ModelProto& proto;
  const ImportOptions& options;
  TensorData data;
  std::map<FunctionKey, const FunctionProto*> functions;
  int subgraphs = 0;           // made so far
  int64_t sequence_items = 0;  // of all sequences made so far
  int64_t nodes = 0;           // imported so far
  // Of the node that is imported: from the names of its first output and of the nodes around it. It depends neither on
  // other nodes nor on options.
  uint64_t node_hash = 0;
  OpenSqueezes open_squeezes = OpenSqueezes::kRefuse;
  bool refused_squeeze = false;        // an open Squeeze was refused
  std::vector<int> output_ranks = {};  // of the model's graph, once it is imported
};

// What is around a region's graph: loops and branches, and of them the loops.
struct Nesting {
  int regions = 0, loops = 0;
};

// Imports into one builder: the model's graph, or a region's.
class GraphImporter {
 public:
  GraphImporter(ModelImport& model, frontend::Builder& builder, Nesting nesting = {});

  frontend::Builder& builder() const { return builder_; }
  ModelImport& model() const { return model_; }
  Nesting nesting() const { return nesting_; }
  // Whether a symbol is of an input's dims, rather than a size that data gives.
  bool SizesInputs(const frontend::Dim& symbol) const;

  // The model's inputs, nodes and outputs.
  void ImportModel();
  // Whether the model states ranks of outputs, and all are those that ImportModel gave.
  bool HasStatedRanks() const;
  // An initializer or attribute as a tensor. Errors of an initializer name it.
  frontend::Tensor Constant(const TensorProto& proto);
  frontend::Tensor Initializer(const TensorProto& proto);
  // Imports nodes into `scope`, each after those that it reads. Afterwards `scope` may lack constants that only nodes
  // read: those not in `outputs`.
  void ImportNodes(const std::vector<NodeProto>& nodes, const std::vector<std::string_view>& outputs,
                   const Opsets& opsets, Scope& scope, int depth);
  // The outputs of one node with these operands.
  Tensors ImportNode(const NodeProto& node, Tensors inputs, const Opsets& opsets, const Scope& scope, int depth);
  // The outputs of a subgraph whose inputs are in `scope`.
  Tensors ImportSubgraph(const GraphProto& graph, const Opsets& opsets, Scope& scope, int depth);

 private:
  frontend::Tensor Input(const ValueInfo& input);
  frontend::Dim InputDim(const ValueInfo& input, size_t index);
  void CheckOptions() const;  // fails for names that the model does not have
  frontend::Dim SymbolNamed(const std::string& name);
  Tensors CallFunction(const FunctionProto& function, const NodeProto& node, const Tensors& inputs,
                       const Opsets& opsets, int depth);
  Tensors CallCustom(const NodeProto& node, const Tensors& inputs);
  // The type of a custom operator's result.
  StatedType TypeOfResult(std::string_view name);
  frontend::Dim StatedDim(const DimProto& dim);
  std::optional<frontend::Dim> DimOfModel(const std::string& name);
  void ReadStatedTypes();
  Tensors CallOperator(const NodeProto& node, Tensors inputs, const Opsets& opsets, const Scope& scope, int depth);

  ModelImport& model_;
  frontend::Builder& builder_;
  Nesting nesting_;
  std::map<std::string, frontend::Dim, std::less<>> symbols_;
  std::map<std::string_view, ValueInfo> stated_;  // with custom domains: types of the graph's values by name
  std::map<std::string, frontend::Dim, std::less<>> counted_;  // dims that custom operators have counted
};

// Counts the import of a subgraph, the `number`-th of its node, and gives the nodes in it random numbers of their own.
// Fails where there are too many.
class SubgraphImport {
 public:
  SubgraphImport(ModelImport& model, uint64_t number);
  ~SubgraphImport() { model_.node_hash = around_; }
  SubgraphImport(const SubgraphImport&) = delete;
  SubgraphImport& operator=(const SubgraphImport&) = delete;

 private:
  ModelImport& model_;
  uint64_t around_;
};

// Outer names that a node reads, those of its subgraphs too.
std::vector<std::string_view> ReadsOf(const NodeProto& node);
// Outer names that a subgraph reads.
std::vector<std::string_view> FreeNames(const GraphProto& graph);
// The nodes, each after those that it reads. Fails for cycles, unknown names and names that are computed twice.
std::vector<const NodeProto*> Ordered(const std::vector<NodeProto>& nodes, const Scope& scope);
// Fails if the model needs operators that are not supported, naming all of them.
void CheckOperators(const ModelImport& model);
// All operators of the model that are not supported, with the numbers of their nodes.
std::string UnsupportedOperators(const ModelImport& model);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_GRAPH_IMPORTER_H_
