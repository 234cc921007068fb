#include "bindings/onnx/node.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "bindings/onnx/data_types.h"
#include "bindings/onnx/graph_importer.h"

namespace tailor::onnx {
namespace {

using frontend::Element;
using frontend::Fail;
using frontend::Tensor;

// The default of an attribute, or nullopt.
std::optional<std::string_view> DefaultOf(const OperatorRow& row, std::string_view name) {
  for (const AttributeRow& attribute : AttributesOf(row)) {
    if (attribute.name == name && attribute.has_default) return attribute.default_text;
  }
  return std::nullopt;
}

[[noreturn]] void Missing(std::string_view name) { Fail("its attribute \"" + std::string(name) + "\" is missing"); }

[[noreturn]] void FailForConstant(const std::string& what) {
  Fail(what + " is a constant, but not of at most " + std::to_string(frontend::kMaxElements) + " integers");
}

std::vector<std::string_view> Listed(std::string_view text) {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    items.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return items;
}

// Of a row's default text, which the table has well-formed.
int64_t IntOf(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double FloatOf(std::string_view text) { return std::strtod(std::string(text).c_str(), nullptr); }

AttributeProto Named(std::string_view name, AttributeType type) {
  AttributeProto attribute;
  attribute.name = name;
  attribute.type = type;
  return attribute;
}

}  // namespace

Node::Node(GraphImporter& importer, const NodeProto& proto, const OperatorRow& row, int64_t opset, const Opsets& opsets,
           const Scope& scope, int depth, Tensors inputs)
    : importer_(importer),
      proto_(proto),
      row_(row),
      opset_(opset),
      opsets_(opsets),
      scope_(scope),
      depth_(depth),
      inputs_(std::move(inputs)) {}

frontend::Builder& Node::builder() const { return importer_.builder(); }
frontend::Dims& Node::dims() const { return builder().dims(); }

const Tensor& Node::input(int index) const {
  static const auto* absent = new Tensor();
  return index < inputs() ? inputs_[static_cast<size_t>(index)] : *absent;
}

bool Node::WantsOutput(int index) const {
  return index < outputs() && !proto_.outputs[static_cast<size_t>(index)].empty();
}

bool Node::Has(std::string_view name) const { return proto_.Find(name) != nullptr; }

int64_t Node::Int(std::string_view name) const {
  if (const AttributeProto* attribute = proto_.Find(name)) return attribute->i;
  const auto text = DefaultOf(row_, name);
  return text ? IntOf(*text) : (Missing(name), 0);
}

double Node::Float(std::string_view name) const {
  if (const AttributeProto* attribute = proto_.Find(name)) return attribute->f;
  const auto text = DefaultOf(row_, name);
  return text ? FloatOf(*text) : (Missing(name), 0);
}

std::string Node::String(std::string_view name) const {
  if (const AttributeProto* attribute = proto_.Find(name)) return std::string(attribute->s);
  const auto text = DefaultOf(row_, name);
  return text ? std::string(*text) : (Missing(name), "");
}

std::vector<int64_t> Node::Ints(std::string_view name) const {
  if (const AttributeProto* attribute = proto_.Find(name)) return attribute->ints;
  const auto text = DefaultOf(row_, name);
  if (!text) Missing(name);
  std::vector<int64_t> numbers;
  for (std::string_view item : Listed(*text)) numbers.push_back(IntOf(item));
  return numbers;
}

std::vector<int64_t> Node::Ints(std::string_view name, std::vector<int64_t> otherwise) const {
  return Has(name) ? Ints(name) : std::move(otherwise);
}

std::vector<double> Node::Floats(std::string_view name) const {
  if (const AttributeProto* attribute = proto_.Find(name)) return attribute->floats;
  std::vector<double> numbers;
  if (const auto text = DefaultOf(row_, name)) {
    for (std::string_view item : Listed(*text)) numbers.push_back(FloatOf(item));
  }
  return numbers;
}

std::vector<std::string> Node::Strings(std::string_view name) const {
  std::vector<std::string> texts;
  if (const AttributeProto* attribute = proto_.Find(name)) {
    texts.assign(attribute->strings.begin(), attribute->strings.end());
  } else if (const auto text = DefaultOf(row_, name)) {
    for (std::string_view item : Listed(*text)) texts.emplace_back(item);
  }
  return texts;
}

Tensor Node::TensorOf(std::string_view name) const {
  const AttributeProto* attribute = proto_.Find(name);
  if (attribute == nullptr || attribute->t == nullptr) return Tensor();
  return importer_.Constant(*attribute->t);
}

const GraphProto& Node::Graph(std::string_view name) const {
  const AttributeProto* attribute = proto_.Find(name);
  if (attribute == nullptr || attribute->g == nullptr) Missing(name);
  return *attribute->g;
}

DType Node::TypeOf(std::string_view name) const { return DTypeOfDataType(Int(name)); }

void Node::DependsOnData(const Tensor& tensor, const std::string& what) const {
  const frontend::Sources sources = builder().SourcesOf(tensor);
  throw frontend::Error(TAILOR_UNIMPLEMENTED, what + " depends on data")
      .Needing({sources.begin(), sources.end()})
      .At(Label());
}

std::vector<Element> Node::Known(const Tensor& tensor, const std::string& what) const {
  auto elements = builder().KnownElements(tensor);
  if (!elements && tensor.array() != nullptr) FailForConstant(what);
  if (!elements) DependsOnData(tensor, what);
  return *std::move(elements);
}

std::vector<int64_t> Node::KnownInts(const Tensor& tensor, const std::string& what) const {
  std::vector<int64_t> numbers;
  for (const Element& element : Known(tensor, what)) {
    if (!element.is_number()) frontend::Unsupported(what + " depends on the shape");
    numbers.push_back(element.dim.number());
  }
  return numbers;
}

std::vector<Element> Node::Parts(const Tensor& tensor, const std::string& what) const {
  auto parts = builder().Parts(tensor);
  if (!parts && tensor.array() != nullptr) FailForConstant(what);
  if (!parts) DependsOnData(tensor, "the length of " + what);
  return *std::move(parts);
}

frontend::Shape Node::DimsOf(const Tensor& tensor, const std::string& what) const {
  frontend::Shape dims;
  for (const Element& part : Parts(tensor, what)) dims.push_back(builder().DimOf(part));
  return dims;
}

Tensor Node::ScalarOf(const Tensor& tensor) const {
  for (int i = 0; i < tensor.rank(); ++i) {
    const frontend::Dim& dim = tensor.dim(i);
    if (!dim.known() || dim.number() == 1) continue;
    const auto operand = static_cast<size_t>(std::find(inputs_.begin(), inputs_.end(), tensor) - inputs_.begin());
    const Signature signature = SignatureOf(row_.inputs);
    const bool found = operand < inputs_.size() && operand < signature.parameters.size();
    Fail((found ? "its operand \"" + std::string(signature.parameters[operand].name) + "\"" : "a number") +
         " is no scalar: dim " + std::to_string(i) + " is " + std::to_string(dim.number()));
  }
  return frontend::Reshape(tensor, {});
}

int64_t Node::Axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank) {
    Fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  }
  return axis < 0 ? axis + rank : axis;
}

Tensors Node::Call(std::string_view op_type, Tensors inputs, std::vector<AttributeProto> attributes,
                   int outputs) const {
  return CallIn(proto_.domain, op_type, std::move(inputs), std::move(attributes), outputs);
}

Tensors Node::CallIn(std::string_view domain, std::string_view op_type, Tensors inputs,
                     std::vector<AttributeProto> attributes, int outputs) const {
  NodeProto proto;
  proto.name = proto_.name;
  proto.op_type = op_type;
  proto.domain = domain;
  proto.attributes = std::move(attributes);
  proto.inputs.assign(inputs.size(), "operand");
  proto.outputs.assign(static_cast<size_t>(outputs), proto_.outputs.empty() ? "result" : proto_.outputs[0]);
  return importer_.ImportNode(proto, std::move(inputs), opsets_, scope_, depth_ + 1);
}

Node Node::With(Tensors inputs) const {
  return Node(importer_, proto_, row_, opset_, opsets_, scope_, depth_, std::move(inputs));
}

void DemandSum(const Node& node, const frontend::Shape& sizes, const frontend::Dim& size) {
  frontend::Dim sum = 0;
  for (const frontend::Dim& one : sizes) {
    if (one.known() && one.number() < 0) Fail("a size is " + std::to_string(one.number()));
    sum = node.dims().Add(sum, one);
  }
  if (node.dims().IsEqual(sum, size) == false) {
    Fail("the sizes add up to " + node.dims().Text(sum) + ", not " + node.dims().Text(size));
  }
  if (!sum.known() || !size.known()) node.dims().AssumeAtLeast(sum, size, node.Label() + ", the sum of its sizes");
}

void DemandRank(const Tensor& x, int rank, const std::string& what) {
  if (x.rank() != rank) Fail(what + " has rank " + std::to_string(x.rank()) + ", not " + std::to_string(rank));
}

AttributeProto IntAttribute(std::string_view name, int64_t value) {
  AttributeProto attribute = Named(name, AttributeType::kInt);
  attribute.i = value;
  return attribute;
}

AttributeProto FloatAttribute(std::string_view name, double value) {
  AttributeProto attribute = Named(name, AttributeType::kFloat);
  attribute.f = value;
  return attribute;
}

AttributeProto IntsAttribute(std::string_view name, std::vector<int64_t> values) {
  AttributeProto attribute = Named(name, AttributeType::kInts);
  attribute.ints = std::move(values);
  return attribute;
}

AttributeProto StringAttribute(std::string_view name, std::string_view value) {
  AttributeProto attribute = Named(name, AttributeType::kString);
  attribute.s = value;
  return attribute;
}

}  // namespace tailor::onnx
