#include "graph/graph.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/region_rules.h"
#include "graph/status_macros.h"
#include "graph/type_rules.h"
#include "graph/visits.h"

namespace tailor {
namespace {

// Built by moves: libstdc++ 12's std::variant, copied from an initializer list while memory runs out, destroys objects
// that it has not constructed.
Attributes InputAttributes(absl::string_view name, DType dtype, Shape shape) {
  Attributes attributes;
  attributes.emplace("name", std::string(name));
  attributes.emplace("dtype", dtype);
  attributes.emplace("shape", std::move(shape));
  return attributes;
}

template <typename T>
const T& GetAttribute(const Node& node, absl::string_view name) {
  auto it = node.attributes.find(name);
  assert(it != node.attributes.end());
  return std::get<T>(it->second);
}

constexpr const char* kAttributeTypeNames[] = {"i64", "i64s", "f64", "string", "dtype", "dims"};

// Index of the variant alternative that holds an attribute of `type`.
size_t AlternativeOf(AttributeType type) {
  switch (type) {
    case AttributeType::kI64:
      return Attribute(int64_t{}).index();
    case AttributeType::kI64s:
      return Attribute(std::vector<int64_t>{}).index();
    case AttributeType::kF64:
      return Attribute(double{}).index();
    case AttributeType::kString:
      return Attribute(std::string{}).index();
    case AttributeType::kDType:
      return Attribute(DType{}).index();
    case AttributeType::kDims:
      return Attribute(Shape{}).index();
  }
  return std::variant_npos;
}

Attribute DefaultValue(const AttributeInfo& info) {
  if (info.type == AttributeType::kI64s) {
    assert(*info.default_text == "[]");
    return std::vector<int64_t>{};
  }
  if (info.type == AttributeType::kDims) {
    assert(*info.default_text == "[]");
    return Shape{};
  }
  if (info.type == AttributeType::kF64) {
    double value = 0;
    [[maybe_unused]] const bool parsed = absl::SimpleAtod(*info.default_text, &value);
    assert(parsed);
    return value;
  }
  int64_t value = 0;
  bool parsed = info.type == AttributeType::kI64 && absl::SimpleAtoi(*info.default_text, &value);
  assert(parsed);
  static_cast<void>(parsed);
  return value;
}

// Checks `attributes` against the row and fills in defaults.
absl::Status CompleteAttributes(const OpInfo& info, Attributes* attributes) {
  for (const AttributeInfo& row : info.attributes) {
    auto it = attributes->find(row.name);
    if (it == attributes->end()) {
      if (!row.default_text) {
        return absl::InvalidArgumentError(absl::StrCat(info.text, ": attribute \"", row.name, "\" is missing"));
      }
      attributes->emplace(std::string(row.name), DefaultValue(row));
    } else if (it->second.index() != AlternativeOf(row.type)) {
      return absl::InvalidArgumentError(absl::StrCat(info.text, ": attribute \"", row.name, "\" must be ",
                                                     kAttributeTypeNames[static_cast<int>(row.type)]));
    }
  }
  if (attributes->size() == info.attributes.size()) return absl::OkStatus();
  for (const auto& [name, value] : *attributes) {
    bool known = std::any_of(info.attributes.begin(), info.attributes.end(),
                             [&](const AttributeInfo& row) { return row.name == name; });
    if (!known) {
      return absl::InvalidArgumentError(absl::StrCat(info.text, ": there is no attribute \"", name, "\""));
    }
  }
  return absl::OkStatus();
}

// Canonicalizes valid attributes: equal meanings get equal values.
void CanonicalizeAttributes(const OpInfo& info, absl::Span<const TensorType> operands, Attributes* attributes) {
  int64_t rank = operands.empty() ? 0 : operands[0].rank();
  if (auto it = attributes->find("axes"); it != attributes->end()) {
    auto& axes = std::get<std::vector<int64_t>>(it->second);
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    if (info.shape == ShapeRule::kReduce) std::sort(axes.begin(), axes.end());
  }
  if (auto it = attributes->find("axis"); it != attributes->end()) {
    if (info.shape == ShapeRule::kFromShape) rank = std::get<Shape>(attributes->find("shape")->second).size();
    auto& axis = std::get<int64_t>(it->second);
    axis += axis < 0 ? rank : 0;
  }
  if (auto it = attributes->find("steps"); it != attributes->end()) {
    auto& steps = std::get<std::vector<int64_t>>(it->second);
    if (steps.empty()) steps.assign(rank, 1);
  }
  if (auto it = attributes->find("interior"); it != attributes->end()) {
    auto& interior = std::get<std::vector<int64_t>>(it->second);
    if (interior.empty()) interior.assign(rank, 0);
  }
  for (const char* name : {"strides", "dilations"}) {
    auto it = attributes->find(name);
    if (it == attributes->end()) continue;
    auto& factors = std::get<std::vector<int64_t>>(it->second);
    if (factors.empty()) factors.assign(std::get<std::vector<int64_t>>(attributes->find("axes")->second).size(), 1);
  }
}

// Replaces inferable entries of the `shapes` attribute by -1; only data-dependent dim sizes remain.
void CanonicalizeShapes(const Graph& graph, Node* node) {
  auto& shapes = std::get<Shape>(node->attributes.find("shapes")->second);
  if (shapes.empty()) return;
  bool any = false;
  size_t next = 0;
  for (const std::vector<bool>& result : DataDependentDims(graph, *node)) {
    for (const bool told : result) {
      if (!told) shapes[next] = -1;
      any = any || told;
      ++next;
    }
  }
  if (!any) shapes.clear();
}

}  // namespace

int64_t Node::i64(absl::string_view attribute) const { return GetAttribute<int64_t>(*this, attribute); }

const std::vector<int64_t>& Node::i64s(absl::string_view attribute) const {
  return GetAttribute<std::vector<int64_t>>(*this, attribute);
}

const std::string& Node::string(absl::string_view attribute) const {
  return GetAttribute<std::string>(*this, attribute);
}

DType Node::dtype(absl::string_view attribute) const { return GetAttribute<DType>(*this, attribute); }

const Shape& Node::dims(absl::string_view attribute) const { return GetAttribute<Shape>(*this, attribute); }

uint64_t ConstantData::Hash() const {
  if (declared_hash) return *declared_hash;
  constexpr uint64_t kMultiplier = 0x9fb21c651e98df25u;
  const char* bytes = static_cast<const char*>(data);
  uint64_t hash = size * kMultiplier;
  for (uint64_t offset = 0; offset < size; offset += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes + offset, std::min<uint64_t>(sizeof word, size - offset));
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 35;
  }
  return hash;
}

absl::StatusOr<SymbolId> Graph::AddSymbol(SymbolInfo info) {
  auto error = [&](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat("symbol \"", info.name, "\": ", parts...));
  };
  if (info.name.empty()) return absl::InvalidArgumentError("a symbol needs a name");
  if (FindSymbol(info.name)) return error("the name is taken");
  if (info.min < 0) return error("min is ", info.min, ", needs at least 0");
  if (info.min > info.max) return error("min is ", info.min, ", above max ", info.max);
  if (info.multiple_of < 1) return error("multiple_of is ", info.multiple_of, ", needs at least 1");
  if (info.max - info.max % info.multiple_of < info.min) {
    return error("no multiple of ", info.multiple_of, " lies in [", info.min, ", ", info.max, "]");
  }
  for (int64_t value : info.likely) {
    if (value < info.min || value > info.max) {
      return error("likely value ", value, " is outside [", info.min, ", ", info.max, "]");
    }
    if (value % info.multiple_of != 0) return error("likely value ", value, " is no multiple of ", info.multiple_of);
  }
  SymbolId id = static_cast<SymbolId>(symbols_.size());
  symbols_.push_back(std::move(info));
  absl::Cleanup undo = [this] { symbols_.pop_back(); };
  symbol_ids_.emplace(symbols_.back().name, id);
  std::move(undo).Cancel();
  return id;
}

void Graph::RevertTo(const Mark& mark) noexcept {
  const auto first = static_cast<NodeId>(mark.nodes);
  for (auto it = named_nodes_.begin(); it != named_nodes_.end();) {
    it->second.erase(it->second.lower_bound(first), it->second.end());
    it = it->second.empty() ? named_nodes_.erase(it) : std::next(it);
  }
  for (size_t i = mark.symbols; i < symbols_.size(); ++i) symbol_ids_.erase(symbols_[i].name);
  constants_.erase(constants_.lower_bound(first), constants_.end());
  nodes_.erase(nodes_.begin() + first, nodes_.end());
  symbols_.erase(symbols_.begin() + static_cast<ptrdiff_t>(mark.symbols), symbols_.end());
  inputs_.erase(inputs_.begin() + static_cast<ptrdiff_t>(mark.inputs), inputs_.end());
  outputs_.erase(outputs_.begin() + static_cast<ptrdiff_t>(mark.outputs), outputs_.end());
  assumptions_.erase(assumptions_.begin() + static_cast<ptrdiff_t>(mark.assumptions), assumptions_.end());
}

std::optional<SymbolId> Graph::FindSymbol(absl::string_view name) const {
  auto it = symbol_ids_.find(name);
  if (it == symbol_ids_.end()) return std::nullopt;
  return it->second;
}

absl::Status Graph::CheckDims(absl::string_view op, absl::string_view what, absl::Span<const DimExpr> dims) const {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].valid()) {
      return absl::InvalidArgumentError(
          absl::StrCat(op, ": ", what, " entry ", i, " has no value: ", dims[i].problem()));
    }
    for (SymbolId id : dims[i].Symbols()) {
      if (id < 0 || static_cast<size_t>(id) >= symbols_.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(op, ": ", what, " entry ", i, " uses symbol ", id, ", which this graph does not have"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Graph::Assume(Assumption assumption) {
  const auto& [relation, lhs, rhs, what, assured] = assumption;
  const bool equal = relation == Assumption::Relation::kEqual;
  const absl::string_view op = equal ? "assume_equal" : "assume_at_least";
  TAILOR_RETURN_IF_ERROR(CheckDims(op, "argument", {lhs, rhs}));
  if (lhs.constant() && rhs.constant() &&
      (equal ? *lhs.constant() != *rhs.constant() : *lhs.constant() < *rhs.constant())) {
    return absl::InvalidArgumentError(absl::StrCat(what.empty() ? op : what, ": ", DimText(lhs),
                                                   equal ? " can never equal " : " is not at least ", DimText(rhs)));
  }
  assumptions_.push_back(std::move(assumption));
  return absl::OkStatus();
}

absl::Status Graph::AssumeEqual(const DimExpr& a, const DimExpr& b) {
  return Assume({Assumption::Relation::kEqual, a, b, ""});
}

absl::Status Graph::CheckOperands(const OpInfo& info, absl::Span<const Value> operands) const {
  bool variadic = !info.operands.empty() && info.operands.back().variadic;
  size_t needed = info.operands.size() - (variadic && info.operands.back().may_be_empty ? 1 : 0);
  if (variadic ? operands.size() < needed : operands.size() != needed) {
    return absl::InvalidArgumentError(
        absl::StrCat(info.text, ": has ", operands.size(), " operands, needs ", variadic ? "at least " : "", needed));
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (Contains(operands[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(info.text, ": operand \"", info.operands[std::min(i, info.operands.size() - 1)].name,
                     "\" is no value of this graph (node ", operands[i].node, ", result ", operands[i].result, ")"));
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeId> Graph::Append(OpKind op, absl::Span<const Value> operands, Attributes attributes,
                                     std::vector<Region> regions) {
  if (op == OpKind::kInput || op == OpKind::kConstant) {
    return absl::InvalidArgumentError(
        absl::StrCat(InfoOf(op).text, ": is added by a function of its own, not as an op"));
  }
  return AppendNode(op, operands, std::move(attributes), std::move(regions));
}

absl::StatusOr<NodeId> Graph::AppendNode(OpKind op, absl::Span<const Value> operands, Attributes attributes,
                                         std::vector<Region> regions) {
  CountVisits(1 + operands.size());
  const OpInfo& info = InfoOf(op);
  TAILOR_RETURN_IF_ERROR(CheckOperands(info, operands));
  TAILOR_RETURN_IF_ERROR(CompleteAttributes(info, &attributes));
  for (const auto& [name, value] : attributes) {
    if (const Shape* dims = std::get_if<Shape>(&value)) {
      TAILOR_RETURN_IF_ERROR(CheckDims(info.text, absl::StrCat("attribute \"", name, "\""), *dims));
    }
  }
  std::vector<TensorType> types;
  for (Value v : operands) types.push_back(type(v));
  auto symbol_name = [this](SymbolId id) { return symbols_[id].name; };
  auto results = InferTypes(op, types, {}, attributes, regions, symbol_name);
  if (!results.ok()) {  // again, with operand names for the message
    std::vector<std::string> names;
    for (Value v : operands) names.push_back(NameOf(v));
    return InferTypes(op, types, names, attributes, regions, symbol_name).status();
  }
  CanonicalizeAttributes(info, types, &attributes);
  Node node{op, {operands.begin(), operands.end()}, std::move(attributes), std::move(regions), *std::move(results), ""};
  if (op == OpKind::kWhile || op == OpKind::kIf) CanonicalizeShapes(*this, &node);
  nodes_.push_back(std::move(node));
  return static_cast<NodeId>(nodes_.size() - 1);
}

absl::StatusOr<Value> Graph::AddInput(absl::string_view name, DType dtype, Shape shape) {
  if (name.empty()) return absl::InvalidArgumentError("input: needs a name");
  for (NodeId id : inputs_) {
    if (nodes_[id].name == name) {
      return absl::InvalidArgumentError(absl::StrCat("input: the name \"", name, "\" is taken"));
    }
  }
  inputs_.reserve(inputs_.size() + 1);  // nothing may fail after the node is appended
  TAILOR_ASSIGN_OR_RETURN(NodeId id,
                          AppendNode(OpKind::kInput, {}, InputAttributes(name, dtype, std::move(shape)), {}));
  inputs_.push_back(id);
  SetNodeName(id, name);
  return Value{id, 0};
}

absl::StatusOr<Value> Graph::AddConstant(absl::string_view name, DType dtype, Shape shape, ConstantData data) {
  std::optional<int64_t> size = (ElementCount(shape) * SizeOf(dtype)).constant();
  if (!size || *size < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("constant: \"", name, "\" needs constant dim sizes and a size below 2^63 bytes"));
  }
  if (static_cast<uint64_t>(*size) != data.size) {
    return absl::InvalidArgumentError(
        absl::StrCat("constant: \"", name, "\" has ", data.size, " bytes, its type needs ", *size));
  }
  std::map<NodeId, ConstantData> entry;  // nothing may fail after the node is appended
  entry.emplace(static_cast<NodeId>(nodes_.size()), std::move(data));
  TAILOR_ASSIGN_OR_RETURN(NodeId id,
                          AppendNode(OpKind::kConstant, {}, InputAttributes(name, dtype, std::move(shape)), {}));
  constants_.merge(entry);
  SetNodeName(id, name);
  return Value{id, 0};
}

absl::Status Graph::AddOutput(absl::string_view name, Value value) {
  if (name.empty()) return absl::InvalidArgumentError("output: needs a name");
  if (!Contains(value)) {
    return absl::InvalidArgumentError(absl::StrCat("output: \"", name, "\" is no value of this graph (node ",
                                                   value.node, ", result ", value.result, ")"));
  }
  for (const Output& output : outputs_) {
    if (output.name == name) {
      return absl::InvalidArgumentError(absl::StrCat("output: the name \"", name, "\" is taken"));
    }
  }
  outputs_.push_back({std::string(name), value});
  return absl::OkStatus();
}

void Graph::SetNodeName(NodeId node, absl::string_view name) {
  std::string& current = nodes_[node].name;
  if (nodes_[node].op == OpKind::kInput && !current.empty()) return;
  if (auto it = named_nodes_.find(current); it != named_nodes_.end()) {
    it->second.erase(node);
    if (it->second.empty()) named_nodes_.erase(it);
  }
  current = std::string(name);
  if (!name.empty()) named_nodes_[current].insert(node);
}

const ConstantData& Graph::constant_data(NodeId constant) const {
  auto it = constants_.find(constant);
  assert(it != constants_.end());
  return it->second;
}

bool Graph::Contains(Value v) const {
  return v.node >= 0 && static_cast<size_t>(v.node) < nodes_.size() && v.result >= 0 &&
         static_cast<size_t>(v.result) < nodes_[v.node].results.size();
}

}  // namespace tailor
