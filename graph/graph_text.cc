// How a Graph prints itself; graph/text.cc reads it back.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/element.h"
#include "graph/graph.h"
#include "graph/lexer.h"
#include "graph/text.h"

namespace tailor {
namespace {

std::string DTypeText(DType dtype) { return NameOf(dtype); }

bool IsDefault(const AttributeInfo& info, const Attribute& value) {
  if (!info.default_text) return false;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    const int64_t entry = info.name == "interior" ? 0 : 1;  // default of an empty list
    return std::all_of(list->begin(), list->end(), [&](int64_t v) { return v == entry; });
  }
  if (const auto* dims = std::get_if<Shape>(&value)) return dims->empty();
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number) == *info.default_text;
  return false;
}

// The value of a small constant of rank 0 or 1 as text that reads back to the same bytes; "" for others.
std::string ConstantLiteral(const Graph& graph, NodeId id) {
  constexpr int64_t kMaxElements = 16;
  const TensorType& type = graph.type({id, 0});
  const ConstantData& data = graph.constant_data(id);
  int64_t count = *ElementCount(type.shape).constant();
  if (type.rank() > 1 || count > kMaxElements || data.declared_hash) return "";
  std::vector<std::string> elements;
  for (int64_t i = 0; i < count; ++i) {
    const char* element = static_cast<const char*>(data.data) + i * SizeOf(type.dtype);
    uint64_t parsed = 0;
    elements.push_back(ElementText(type.dtype, element));
    if (!ParseElement(type.dtype, elements.back(), &parsed)) return "";
    if (std::memcmp(&parsed, element, SizeOf(type.dtype)) != 0) return "";
  }
  std::string list = absl::StrJoin(elements, ", ");
  return type.rank() == 0 ? list : absl::StrCat("[", list, "]");
}

// Prints one graph or one region; both have a header and an indented body.
class Printer {
 public:
  Printer(const Graph& graph, std::string indent) : graph_(graph), indent_(std::move(indent)) {}

  std::string GraphText() const {
    return absl::StrCat("graph @", NameText(graph_.name()), HeaderText(), " {\n", BodyText(), "}\n");
  }

  std::string RegionText() const {
    return absl::StrCat(indent_, "region", HeaderText(), " {\n", BodyText(), indent_, "}\n");
  }

 private:
  // The number of leading input nodes, which are printed in the header.
  size_t HeaderInputs() const {
    size_t count = 0;
    while (count < graph_.nodes().size() && graph_.node(count).op == OpKind::kInput) ++count;
    return count;
  }

  std::string HeaderText() const {
    std::string symbols = SymbolClause();
    return absl::StrCat(ArgumentsText(), symbols.empty() ? "" : " where ", symbols);
  }

  std::string ArgumentsText() const {
    std::vector<std::string> arguments;
    for (NodeId id = 0; id < static_cast<NodeId>(HeaderInputs()); ++id) {
      arguments.push_back(absl::StrCat(graph_.NameOf({id, 0}), ": ", graph_.TypeText(graph_.type({id, 0}))));
    }
    return absl::StrCat("(", absl::StrJoin(arguments, ", "), ")");
  }

  // Symbols of the header's types in order of appearance in the text.
  std::vector<SymbolId> HeaderSymbols() const {
    std::vector<SymbolId> order;
    auto note = [&](SymbolId id) {
      if (std::find(order.begin(), order.end(), id) == order.end()) order.push_back(id);
      return std::string();
    };
    for (size_t id = 0; id < HeaderInputs(); ++id) {
      for (const DimExpr& dim : graph_.type({static_cast<NodeId>(id), 0}).shape) dim.ToText(note);
    }
    return order;
  }

  // The where clause. Omits symbols whose number and range follow from the header.
  std::string SymbolClause() const {
    std::vector<SymbolId> header = HeaderSymbols();
    bool in_order = std::is_sorted(header.begin(), header.end()) &&
                    (header.empty() || header.back() + 1 == static_cast<SymbolId>(header.size()));
    std::vector<std::string> entries;
    for (size_t id = 0; id < graph_.symbols().size(); ++id) {
      std::string facts = SymbolFacts(graph_.symbol(id));
      if (in_order && id < header.size() && facts.empty()) continue;
      entries.push_back(SymbolText(graph_.symbol(id).name) + facts);
    }
    for (const auto& [relation, lhs, rhs, what, assured] : graph_.assumptions()) {
      const absl::string_view text = relation == Assumption::Relation::kEqual ? " == " : " >= ";
      entries.push_back(absl::StrCat(graph_.DimText(lhs), text, graph_.DimText(rhs), what.empty() ? "" : " @",
                                     what.empty() ? "" : NameText(what)));
    }
    return absl::StrJoin(entries, ", ");
  }

  static std::string SymbolFacts(const SymbolInfo& symbol) {
    const SymbolInfo unknown;
    std::string text;
    if (symbol.min != unknown.min || symbol.max != unknown.max) {
      absl::StrAppend(&text, " in [", symbol.min, ", ", symbol.max, "]");
    }
    if (symbol.multiple_of != 1) absl::StrAppend(&text, " multiple_of ", symbol.multiple_of);
    if (!symbol.likely.empty()) absl::StrAppend(&text, " likely [", absl::StrJoin(symbol.likely, ", "), "]");
    return text;
  }

  std::string BodyText() const {
    std::string text;
    for (NodeId id = HeaderInputs(); id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      absl::StrAppend(&text, indent_, "  ", NodeText(id), "\n");
    }
    std::vector<std::string> outputs;
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Output& output = graph_.outputs()[i];
      std::string name = output.name == DefaultOutputName(graph_, output.value, i)
                             ? ""
                             : absl::StrCat("\"", absl::Utf8SafeCEscape(output.name), "\" = ");
      outputs.push_back(name + graph_.NameOf(output.value));
    }
    return absl::StrCat(text, indent_, "  return", outputs.empty() ? "" : " ", absl::StrJoin(outputs, ", "), "\n");
  }

  std::string NodeText(NodeId id) const {
    const Node& node = graph_.node(id);
    std::vector<std::string> results, types;
    for (size_t r = 0; r < node.results.size(); ++r) {
      results.push_back(graph_.NameOf({id, static_cast<int32_t>(r)}));
      types.push_back(graph_.TypeText(node.results[r]));
    }
    std::string text = absl::StrCat(absl::StrJoin(results, ", "), results.empty() ? "" : " = ", InfoOf(node.op).text);
    if (node.op == OpKind::kInput) {
      absl::StrAppend(&text, " @", NameText(node.name));
    } else if (node.op == OpKind::kConstant) {
      text += ConstantText(id);
    } else {
      absl::StrAppend(&text, OperandsText(node), AttributesText(node), RegionsText(node));
    }
    if (!types.empty()) absl::StrAppend(&text, " : ", absl::StrJoin(types, ", "));
    if (node.op == OpKind::kConstant && ConstantLiteral(graph_, id).empty()) {
      absl::StrAppend(&text, " hash ", absl::StrFormat("%016x", graph_.constant_data(id).Hash()));
    }
    return text + HiddenName(id);
  }

  // ` @"name"` if the node has a name that its value does not print.
  std::string HiddenName(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op == OpKind::kInput || node.name.empty() || graph_.PrintsByName(id)) return "";
    return absl::StrCat(" @", NameText(node.name));
  }

  std::string ConstantText(NodeId id) const {
    const std::string& name = graph_.node(id).string("name");
    std::string literal = ConstantLiteral(graph_, id);
    if (literal.empty()) return absl::StrCat(" @", NameText(name));
    return absl::StrCat(name == literal ? "" : " @", name == literal ? "" : NameText(name), " ", literal);
  }

  std::string OperandsText(const Node& node) const {
    std::vector<std::string> operands;
    for (Value v : node.operands) operands.push_back(graph_.NameOf(v));
    std::string list = absl::StrJoin(operands, ", ");
    if (!node.regions.empty()) return absl::StrCat("(", list, ")");
    return list.empty() ? "" : absl::StrCat(" ", list);
  }

  std::string AttributesText(const Node& node) const {
    std::vector<std::string> attributes;
    for (const AttributeInfo& info : InfoOf(node.op).attributes) {
      const Attribute& value = node.attributes.find(info.name)->second;
      if (!IsDefault(info, value)) attributes.push_back(absl::StrCat(info.name, " = ", AttributeText(value)));
    }
    if (attributes.empty()) return "";
    return absl::StrCat(" {", absl::StrJoin(attributes, ", "), "}");
  }

  std::string AttributeText(const Attribute& value) const {
    struct Visitor {
      const Graph& graph;
      std::string operator()(int64_t v) const { return absl::StrCat(v); }
      std::string operator()(const std::vector<int64_t>& v) const {
        return absl::StrCat("[", absl::StrJoin(v, ", "), "]");
      }
      std::string operator()(double v) const { return DoubleText(v); }
      std::string operator()(const std::string& v) const { return absl::StrCat("\"", absl::Utf8SafeCEscape(v), "\""); }
      std::string operator()(DType v) const { return DTypeText(v); }
      std::string operator()(const Shape& v) const { return graph.ShapeText(v); }
    };
    return std::visit(Visitor{graph_}, value);
  }

  std::string RegionsText(const Node& node) const {
    if (node.regions.empty()) return "";
    std::string text = " {\n";
    for (const Region& region : node.regions) text += Printer(*region.graph, indent_ + "    ").RegionText();
    return absl::StrCat(text, indent_, "  }");
  }

  const Graph& graph_;
  std::string indent_;
};

}  // namespace

bool Graph::PrintsByName(NodeId id) const {
  auto it = named_nodes_.find(nodes_[id].name);
  return it != named_nodes_.end() && *it->second.begin() == id;
}

std::string Graph::NameOf(Value v) const {
  std::string base = PrintsByName(v.node) ? NameText(nodes_[v.node].name) : absl::StrCat(v.node);
  std::string suffix = nodes_[v.node].results.size() > 1 ? absl::StrCat("#", v.result) : "";
  return absl::StrCat("%", base, suffix);
}

std::string Graph::DimText(const DimExpr& dim) const {
  return dim.ToText([this](SymbolId id) { return SymbolText(symbols_[id].name); });
}

std::string Graph::ShapeText(absl::Span<const DimExpr> shape) const {
  return absl::StrCat(
      "[", absl::StrJoin(shape, ", ", [this](std::string* out, const DimExpr& dim) { out->append(DimText(dim)); }),
      "]");
}

std::string Graph::TypeText(const TensorType& type) const {
  return absl::StrCat(tailor::NameOf(type.dtype), ShapeText(type.shape));
}

std::string Graph::ToText() const { return Printer(*this, "").GraphText(); }

std::vector<const ConstantData*> ConstantsLeftOut(const Graph& graph) {
  std::vector<const ConstantData*> all;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op == OpKind::kConstant && ConstantLiteral(graph, id).empty()) all.push_back(&graph.constant_data(id));
    for (const Region& region : node.regions) {
      const std::vector<const ConstantData*> inside = ConstantsLeftOut(*region.graph);
      all.insert(all.end(), inside.begin(), inside.end());
    }
  }
  return all;
}

std::string DefaultOutputName(const Graph& graph, Value value, size_t index) {
  const Node& node = graph.node(value.node);
  return node.name.empty() || node.results.size() > 1 ? absl::StrCat("output", index) : node.name;
}

}  // namespace tailor
