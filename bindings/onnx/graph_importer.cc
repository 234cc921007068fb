#include "bindings/onnx/graph_importer.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "bindings/frontend/dim_text.h"
#include "bindings/frontend/error.h"
#include "bindings/onnx/data_types.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {
namespace {

using frontend::Dim;
using frontend::Fail;
using frontend::Narrow;
using frontend::Tensor;

constexpr int kMaxNesting = 64;  // calls of functions and operators within one another

std::vector<std::string_view> NamesOf(const std::vector<ValueInfo>& values) {
  std::vector<std::string_view> names;
  for (const ValueInfo& value : values) names.push_back(value.name);
  return names;
}

// The dim_param of an input's dim, or "<input>_dim<i>"; "" for a number. Exporters write -1, 0, "" or "?" for a dim
// that they do not know: each is a symbol of its own.
std::string DimName(const ValueInfo& input, size_t index) {
  const DimProto& dim = input.dims[index];
  if (dim.kind == DimProto::Kind::kValue && dim.value > 0) return "";
  if (dim.kind == DimProto::Kind::kValue && dim.value < -1) {
    Fail("dim " + std::to_string(index) + " is " + std::to_string(dim.value));
  }
  if (dim.kind == DimProto::Kind::kParam && !dim.param.empty() && dim.param != "?") return std::string(dim.param);
  return std::string(input.name) + "_dim" + std::to_string(index);
}

using Names = std::set<std::string, std::less<>>;

// What a misspelt name may have meant: "inputs: \"ids\", \"mask\"".
std::string Listed(const std::string& what, const Names& names) {
  constexpr size_t kMost = 16;
  std::string list;
  size_t count = 0;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    if (count++ == kMost) return what + ": " + list + ", ...";
    list += (list.empty() ? "\"" : ", \"") + name + "\"";
  }
  return what + ": " + (list.empty() ? "none" : list);
}

// Whether the node's result is its operand's elements in another shape or order.
bool IsView(const NodeProto& node) {
  static const auto* types =
      new std::unordered_set<std::string_view>{"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
  return node.domain.empty() && types->contains(node.op_type) && !node.inputs.empty();
}

// Which nodes read the constants of a graph.
class Reads {
 public:
  Reads(const std::vector<const NodeProto*>& order, const std::vector<std::string_view>& outputs, const Scope& scope) {
    as_it_is_.insert(outputs.begin(), outputs.end());
    std::unordered_set<std::string_view> constants;
    std::unordered_map<std::string_view, const NodeProto*> last;
    const auto is_own = [&](std::string_view name) {
      const auto known = scope.own().find(name);
      return known != scope.own().end() && known->second && known->second.array() != nullptr;
    };
    for (const NodeProto* node : order) {
      const std::vector<std::string_view> names = ReadsOf(*node);
      const bool constant = std::all_of(names.begin(), names.end(), [&](std::string_view name) {
        const Tensor* known = scope.Find(name);
        return constants.contains(name) || (known != nullptr && *known && known->array() != nullptr);
      });
      if (constant) {
        constants.insert(node->outputs.begin(), node->outputs.end());
      } else {
        as_it_is_.insert(names.begin(), names.end());
      }
      for (std::string_view name : names) {
        if (constants.contains(name) || is_own(name)) last[name] = node;
      }
    }
    for (std::string_view name : outputs) last.erase(name);
    for (const auto& [name, node] : last) last_[node].push_back(name);
  }

  // Whether a name is an output, or a node that other nodes than constants reach reads it.
  bool AsItIs(std::string_view name) const { return as_it_is_.contains(name); }
  // Names of the graph's own constants that no node reads after this one.
  std::vector<std::string_view> LastOf(const NodeProto& node) const {
    const auto found = last_.find(&node);
    return found == last_.end() ? std::vector<std::string_view>() : found->second;
  }

 private:
  std::unordered_set<std::string_view> as_it_is_;
  std::unordered_map<const NodeProto*, std::vector<std::string_view>> last_;
};

// A node's hash, given that of the node around it: FNV-1a of its first output's name, then the finalizer of SplitMix64,
// whose results are evenly distributed.
uint64_t HashWithin(uint64_t around, const NodeProto& node) {
  uint64_t hash = around ^ 0xcbf29ce484222325;
  for (char c : node.outputs.empty() ? std::string_view() : node.outputs[0]) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111eb;
  return hash ^ (hash >> 31);
}

// Calls `body`; errors without a node name `label`.
template <typename Body>
auto At(const std::string& label, Body body) {
  try {
    return body();
  } catch (const frontend::Error& error) {
    throw error.At(label);
  }
}

void CheckCount(const char* what, size_t count, const Signature& signature) {
  const size_t least = signature.least() - (signature.variadic && signature.least() > 0 ? 1 : 0);
  const size_t most = signature.variadic ? SIZE_MAX : signature.parameters.size();
  if (count >= least && count <= most) return;
  std::string text = "has " + std::to_string(count) + " " + what + ", not " + std::to_string(least);
  if (signature.variadic) {
    text += " or more";
  } else if (most > least) {
    text += " to " + std::to_string(most);
  }
  Fail(text);
}

// Fails unless operands, results and attributes are those of the row.
void CheckNode(const NodeProto& node, const Tensors& inputs, const OperatorRow& row) {
  const Signature operands = SignatureOf(row.inputs);
  CheckCount("operands", inputs.size(), operands);
  CheckCount("results", node.outputs.size(), SignatureOf(row.outputs));
  for (size_t i = 0; i < operands.parameters.size() && i < inputs.size(); ++i) {
    const Signature::Parameter& parameter = operands.parameters[i];
    if (!inputs[i] && !parameter.optional && !(operands.variadic && i + 1 == operands.parameters.size())) {
      Fail("its operand \"" + std::string(parameter.name) + "\" is missing");
    }
  }
  const std::vector<AttributeRow> rows = AttributesOf(row);
  for (const AttributeProto& attribute : node.attributes) {
    const AttributeRow* known = nullptr;
    for (const AttributeRow& candidate : rows) {
      if (candidate.name == attribute.name) known = &candidate;
    }
    const std::string name(attribute.name);
    if (known == nullptr) Fail("has the unknown attribute \"" + name + "\"");
    if (known->type != attribute.type) Fail("its attribute \"" + name + "\" has another type");
  }
  for (const AttributeRow& known : rows) {
    if (known.required && node.Find(known.name) == nullptr) {
      Fail("its attribute \"" + std::string(known.name) + "\" is missing");
    }
  }
}

// `attributes` with references to the function's attributes replaced by what `given` has; without value they are
// dropped.
std::vector<AttributeProto> Bound(const std::vector<AttributeProto>& attributes,
                                  const std::vector<AttributeProto>& given);

std::shared_ptr<const GraphProto> Bound(const GraphProto& graph, const std::vector<AttributeProto>& given) {
  auto out = std::make_shared<GraphProto>(graph);
  for (NodeProto& node : out->nodes) node.attributes = Bound(node.attributes, given);
  Measure(out.get());
  return out;
}

std::vector<AttributeProto> Bound(const std::vector<AttributeProto>& attributes,
                                  const std::vector<AttributeProto>& given) {
  std::vector<AttributeProto> out;
  for (const AttributeProto& attribute : attributes) {
    if (!attribute.reference.empty()) {
      for (const AttributeProto& value : given) {
        if (value.name != attribute.reference) continue;
        out.push_back(value);
        out.back().name = attribute.name;
        break;
      }
      continue;
    }
    out.push_back(attribute);
    if (attribute.g != nullptr) out.back().g = Bound(*attribute.g, given);
  }
  return out;
}

}  // namespace

SubgraphImport::SubgraphImport(ModelImport& model, uint64_t number) : model_(model), around_(model.node_hash) {
  // A body is imported until the dims that it changes are known, which multiplies where loops nest.
  constexpr int kMostSubgraphs = 2000;
  if (++model.subgraphs > kMostSubgraphs) {
    frontend::Unsupported("loops and branches take more than " + std::to_string(kMostSubgraphs) + " graphs to import");
  }
  model.node_hash += number * 0x9e3779b97f4a7c15;  // the golden ratio: numbers are far apart
}

GraphImporter::GraphImporter(ModelImport& model, frontend::Builder& builder, Nesting nesting)
    : model_(model), builder_(builder), nesting_(nesting) {}

void GraphImporter::ImportModel() {
  const GraphProto& graph = *model_.proto.graph;
  if (graph.has_sparse_initializers) frontend::Unsupported("sparse initializers are not supported");
  Scope scope;
  for (const TensorProto& initializer : graph.initializers) scope.Set(initializer.name, Initializer(initializer));
  for (const ValueInfo& input : graph.inputs) {
    if (scope.Find(input.name) != nullptr) continue;
    scope.Set(input.name, At("input \"" + std::string(input.name) + "\"", [&] { return Input(input); }));
  }
  if (!model_.options.custom_domains.empty()) ReadStatedTypes();
  CheckOptions();
  if (graph.outputs.empty()) Fail("the model's graph has no output");
  ImportNodes(graph.nodes, NamesOf(graph.outputs), model_.proto.opsets, scope, 0);
  for (const ValueInfo& output : graph.outputs) {
    const Tensor* tensor = scope.Find(output.name);
    if (tensor == nullptr || !*tensor) {
      Fail("no node computes the output \"" + std::string(output.name) + "\"");
    }
    At("output \"" + std::string(output.name) + "\"", [&] {
      if (tensor->sequence() != nullptr) frontend::Unsupported("an output of sequence kind is not supported");
      builder_.Output(std::string(output.name), *tensor);
      model_.output_ranks.push_back(tensor->rank());
    });
  }
}

bool GraphImporter::HasStatedRanks() const {
  const std::vector<ValueInfo>& outputs = model_.proto.graph->outputs;
  size_t stated = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].has_shape) continue;
    if (static_cast<int>(outputs[i].dims.size()) != model_.output_ranks[i]) return false;
    ++stated;
  }
  return stated > 0;
}

Tensor GraphImporter::Constant(const TensorProto& proto) {
  const Tensor constant = builder_.Constant(model_.data.ArrayOf(proto), std::string(proto.name));
  builder_.AllowGrowth(constant.array()->size());
  const Narrow narrow = NarrowOfDataType(proto.data_type);
  return narrow == Narrow::kNone ? constant : constant.With(narrow);
}

Tensor GraphImporter::Initializer(const TensorProto& proto) {
  return At("initializer \"" + std::string(proto.name) + "\"", [&] { return Constant(proto); });
}

Tensor GraphImporter::Input(const ValueInfo& input) {
  static constexpr const char* kKinds[] = {"", "tensor", "sequence", "map", "optional", "sparse_tensor", "opaque"};
  if (input.kind == ValueInfo::Kind::kNone) Fail("it has no type");
  if (input.kind != ValueInfo::Kind::kTensor) {
    frontend::Unsupported(std::string("an input of ") + kKinds[static_cast<int>(input.kind)] +
                          " kind is not supported");
  }
  const Narrow narrow = NarrowOfDataType(input.elem_type);
  const DType dtype = narrow == Narrow::kNone ? DTypeOfDataType(input.elem_type) : StorageOf(narrow);
  if (!input.has_shape) frontend::Unsupported("an input without a rank is not supported");
  const auto fixed = model_.options.fixed.find(input.name);
  if (fixed != model_.options.fixed.end()) {
    const frontend::Array& array = fixed->second;
    if (array.dtype() != dtype || array.shape().size() != input.dims.size()) {
      Fail(std::string("fixed to ") + NameOf(array.dtype()) + " of rank " + std::to_string(array.rank()) + ", but is " +
           NameOf(dtype) + " of rank " + std::to_string(input.dims.size()));
    }
    const Tensor constant = builder_.Constant(array);
    return narrow == Narrow::kNone ? constant : constant.With(narrow);
  }
  frontend::Shape shape;
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < input.dims.size(); ++i) {
    shape.push_back(InputDim(input, i));
    if (shape.back().known()) numbers.push_back(shape.back().number());
  }
  frontend::CountOf(numbers);  // fails for more elements than can be counted
  const Tensor tensor = builder_.Input(std::string(input.name), dtype, shape);
  return narrow == Narrow::kNone ? tensor : tensor.With(narrow);
}

Dim GraphImporter::InputDim(const ValueInfo& input, size_t index) {
  const std::string key = DimName(input, index);
  if (key.empty()) return input.dims[index].value;
  const auto text = model_.options.dims.find(key);
  if (text == model_.options.dims.end()) return SymbolNamed(key);
  return frontend::ParseDim(builder_.dims(), text->second,
                            [this](const std::string& name) { return SymbolNamed(name); });
}

// A misspelt name would silently change what is compiled.
void GraphImporter::CheckOptions() const {
  Names dims, inputs;
  for (const ValueInfo& input : model_.proto.graph->inputs) {
    inputs.insert(std::string(input.name));
    At("input \"" + std::string(input.name) + "\"", [&] {
      for (size_t i = 0; i < input.dims.size(); ++i) dims.insert(DimName(input, i));
    });
  }
  const std::string dims_of_inputs = Listed("symbolic dims of its inputs", dims);
  for (const auto& [name, info] : stated_) {
    for (const DimProto& dim : info.dims) dims.insert(std::string(dim.param));
  }
  for (const auto& [name, text] : model_.options.dims) {
    if (!dims.contains(name)) Fail("options.dims: the model has no dim \"" + name + "\"; " + dims_of_inputs);
  }
  for (const auto& [name, array] : model_.options.fixed) {
    if (!inputs.contains(name)) {
      Fail("options.fixed: the model has no input \"" + name + "\"; " + Listed("inputs", inputs));
    }
  }
  for (const auto& [name, range] : model_.options.symbols) {
    if (!symbols_.contains(name) && !dims.contains(name)) {
      Fail("options.symbols: no dim of the model is or has the symbol \"" + name + "\"; " + dims_of_inputs);
    }
  }
}

Dim GraphImporter::SymbolNamed(const std::string& name) {
  const auto known = symbols_.find(name);
  if (known != symbols_.end()) return known->second;
  const auto range = model_.options.symbols.find(name);
  const Dim symbol =
      builder_.dims().Symbol(name, range == model_.options.symbols.end() ? frontend::SymbolRange() : range->second);
  return symbols_.emplace(name, symbol).first->second;
}

bool GraphImporter::SizesInputs(const Dim& symbol) const {
  return std::any_of(symbols_.begin(), symbols_.end(), [&](const auto& known) { return known.second == symbol; });
}

void GraphImporter::ImportNodes(const std::vector<NodeProto>& nodes, const std::vector<std::string_view>& outputs,
                                const Opsets& opsets, Scope& scope, int depth) {
  const std::vector<const NodeProto*> order = Ordered(nodes, scope);
  const Reads reads(order, outputs, scope);
  for (const NodeProto* node : order) {
    Tensors inputs;
    for (std::string_view name : node->inputs) inputs.push_back(name.empty() ? Tensor() : *scope.Find(name));
    builder_.set_folds_views(!IsView(*node) || !reads.AsItIs(node->inputs[0]));
    Tensors results = ImportNode(*node, std::move(inputs), opsets, scope, depth);
    builder_.set_folds_views(true);
    results.resize(std::max(results.size(), node->outputs.size()));
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      const std::string_view name = node->outputs[i];
      if (name.empty()) continue;
      if (results[i]) At(node->Label(), [&] { results[i].SetName(std::string(name)); });
      scope.Set(name, results[i]);
    }
    for (std::string_view name : reads.LastOf(*node)) scope.Erase(name);
  }
}

Tensors GraphImporter::ImportNode(const NodeProto& node, Tensors inputs, const Opsets& opsets, const Scope& scope,
                                  int depth) {
  return At(node.Label(), [&] {
    if (++model_.nodes > kMaxNodes) {
      frontend::Unsupported("with its functions and loops the model has more than " + std::to_string(kMaxNodes) +
                            " nodes");
    }
    if (depth > kMaxNesting) Fail("graphs and functions nest deeper than " + std::to_string(kMaxNesting));
    const uint64_t around = std::exchange(model_.node_hash, HashWithin(model_.node_hash, node));
    const auto function = model_.functions.find({node.domain, node.op_type});
    Tensors outputs = function != model_.functions.end() ? CallFunction(*function->second, node, inputs, opsets, depth)
                                                         : CallOperator(node, std::move(inputs), opsets, scope, depth);
    model_.node_hash = around;
    return outputs;
  });
}

Tensors GraphImporter::CallOperator(const NodeProto& node, Tensors inputs, const Opsets& opsets, const Scope& scope,
                                    int depth) {
  const int64_t opset = OpsetOf(opsets, node.domain);
  const OperatorRow* row = FindOperator(node.domain, node.op_type, opset);
  if (row == nullptr || !row->takes_sequences) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i] || inputs[i].sequence() == nullptr) continue;
      const std::string name(i < node.inputs.size() ? node.inputs[i] : "");
      frontend::Unsupported("its input \"" + name + "\" is a sequence, which the operator does not take");
    }
  }
  if (row == nullptr) {
    if (model_.options.custom_domains.contains(node.domain)) return CallCustom(node, inputs);
    frontend::Unsupported(UnsupportedOperators(model_));
  }
  CheckNode(node, inputs, *row);
  Narrow narrow = Narrow::kNone;
  for (size_t i = 0; i < inputs.size() && narrow == Narrow::kNone; ++i) {
    if (!inputs[i] || inputs[i].narrow() == Narrow::kNone) continue;
    narrow = inputs[i].narrow();
    if (row->narrow == OperatorRow::Narrow::kRefuses) {
      const std::string name(i < node.inputs.size() ? node.inputs[i] : "");
      frontend::Unsupported("its input \"" + name + "\" of type " + NameOfDataType(DataTypeOfNarrow(narrow)) +
                            " is not supported");
    }
  }
  Tensors outputs = row->function(Node(*this, node, *row, opset, opsets, scope, depth, std::move(inputs)));
  if (narrow != Narrow::kNone && row->narrow == OperatorRow::Narrow::kMoves) {
    for (Tensor& output : outputs) output = output.With(narrow);
  }
  return outputs;
}

Tensors GraphImporter::CallCustom(const NodeProto& node, const Tensors& inputs) {
  if (nesting_.regions > 0) frontend::Unsupported("a custom operator in a loop or branch is not supported");
  std::vector<StatedType> types;
  for (std::string_view name : node.outputs) {
    if (name.empty()) frontend::Unsupported("a custom operator without a name for each result is not supported");
    types.push_back(TypeOfResult(name));
  }
  Tensors results = AppendCustomNode(builder_, node, inputs, types);
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].counted_dim < 0) continue;
    const Dim counted = results[i].dim(types[i].counted_dim);
    const auto [known, added] = counted_.emplace(types[i].counted_name, counted);
    if (!added) builder_.dims().AssumeEqual(known->second, counted);
  }
  return results;
}

void GraphImporter::ReadStatedTypes() {
  const GraphProto& graph = *model_.proto.graph;
  for (const ValueInfo& output : graph.outputs) stated_.emplace(output.name, output);
  for (std::string_view bytes : graph.value_infos) {
    ValueInfo info = ParseValueInfo(bytes);
    stated_.emplace(info.name, std::move(info));
  }
}

StatedType GraphImporter::TypeOfResult(std::string_view name) {
  const std::string result = "its result \"" + std::string(name) + "\" ";
  const auto found = stated_.find(name);
  if (found == stated_.end() || found->second.kind != ValueInfo::Kind::kTensor || !found->second.has_shape) {
    frontend::Unsupported(result + "has no type in the model's value_info, which a custom operator needs");
  }
  const ValueInfo& info = found->second;
  if (NarrowOfDataType(info.elem_type) != Narrow::kNone) {
    frontend::Unsupported(result + "is of type " + NameOfDataType(info.elem_type) +
                          ", which custom operators do not have");
  }
  StatedType type{DTypeOfDataType(info.elem_type), {}};
  for (size_t i = 0; i < info.dims.size(); ++i) {
    type.shape.push_back(At(result + "dim " + std::to_string(i), [&] { return StatedDim(info.dims[i]); }));
    const std::string param(info.dims[i].param);
    if (param.empty() || DimOfModel(param) || !model_.options.dims.contains(param)) continue;
    if (type.counted_dim >= 0) frontend::Unsupported(result + "has two dims that the operator counts");
    type.counted_dim = static_cast<int>(i);
    type.counted_name = param;
  }
  return type;
}

// A dim_param in value_info is that of an input's dim, or an expression over some. One that only results have is what
// the operator counts: its bound is in the options.
Dim GraphImporter::StatedDim(const DimProto& dim) {
  if (dim.kind == DimProto::Kind::kValue && dim.value >= 0) return dim.value;
  if (dim.kind != DimProto::Kind::kParam || dim.param.empty() || dim.param == "?") {
    frontend::Unsupported("has no size in the model's value_info, which a custom operator needs");
  }
  const std::string text(dim.param);
  if (const std::optional<Dim> known = DimOfModel(text)) return *known;
  const auto bound = model_.options.dims.find(text);
  const auto named = [this](const std::string& name) {
    const std::optional<Dim> known = DimOfModel(name);
    if (!known) {
      frontend::Unsupported("is of \"" + name +
                            "\", which is no dim of an input; if the operator counts it, dims gives "
                            "its bound");
    }
    return *known;
  };
  return frontend::ParseDim(builder_.dims(), bound == model_.options.dims.end() ? text : bound->second, named);
}

// The dim of an input, or one that an operator has counted.
std::optional<Dim> GraphImporter::DimOfModel(const std::string& name) {
  for (const ValueInfo& input : model_.proto.graph->inputs) {
    for (size_t i = 0; i < input.dims.size(); ++i) {
      if (DimName(input, i) == name) return InputDim(input, i);
    }
  }
  const auto counted = counted_.find(name);
  return counted == counted_.end() ? std::nullopt : std::optional(counted->second);
}

Tensors GraphImporter::CallFunction(const FunctionProto& function, const NodeProto& node, const Tensors& inputs,
                                    const Opsets& opsets, int depth) {
  std::vector<AttributeProto> given = node.attributes;
  for (const AttributeProto& attribute : function.defaults) {
    if (node.Find(attribute.name) == nullptr) given.push_back(attribute);
  }
  if (inputs.size() > function.inputs.size()) {
    Fail("has " + std::to_string(inputs.size()) + " operands, not " + std::to_string(function.inputs.size()));
  }
  std::vector<NodeProto> nodes = function.nodes;
  for (NodeProto& inner : nodes) inner.attributes = Bound(inner.attributes, given);
  Scope scope;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    scope.Set(function.inputs[i], i < inputs.size() ? inputs[i] : Tensor());
  }
  ImportNodes(nodes, function.outputs, OpsetsIn(function, opsets), scope, depth + 1);
  Tensors outputs;
  for (std::string_view name : function.outputs) {
    const Tensor* output = scope.Find(name);
    outputs.push_back(output == nullptr ? Tensor() : *output);
  }
  return outputs;
}

Tensors GraphImporter::ImportSubgraph(const GraphProto& graph, const Opsets& opsets, Scope& scope, int depth) {
  if (graph.has_sparse_initializers) frontend::Unsupported("sparse initializers are not supported");
  for (const TensorProto& initializer : graph.initializers) scope.Set(initializer.name, Initializer(initializer));
  ImportNodes(graph.nodes, NamesOf(graph.outputs), opsets, scope, depth);
  Tensors outputs;
  for (const ValueInfo& output : graph.outputs) {
    const Tensor* tensor = scope.Find(output.name);
    if (tensor == nullptr || !*tensor) {
      Fail("no node of the subgraph computes its output \"" + std::string(output.name) + "\"");
    }
    outputs.push_back(*tensor);
  }
  return outputs;
}

}  // namespace tailor::onnx
