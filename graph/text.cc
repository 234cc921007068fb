#include "graph/text.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/element.h"
#include "graph/lexer.h"
#include "graph/status_macros.h"
#include "graph/symbol_clause.h"
#include "graph/token_reader.h"

namespace tailor {
namespace {

constexpr int kRegionDepth = 50;  // TokenReader::Enter levels per nested region

// `data` is null if memory is out.
ConstantData ZeroData(uint64_t size) {
  std::shared_ptr<void> bytes(std::calloc(std::max<uint64_t>(size, 1), 1), std::free);
  const void* data = bytes.get();
  return {std::move(bytes), data, size, std::nullopt};
}

// Reads one graph or region into `graph`: its arguments, then its body.
class GraphReader {
 public:
  GraphReader(TokenReader* in, const ConstantSource& constants, ConstantHashes hashes, Graph* graph)
      : in_(*in), constants_(constants), hashes_(hashes), graph_(*graph) {}

  // Reads the arguments, the where clause and the body.
  static absl::Status ReadWhole(TokenReader* in, const ConstantSource& constants, ConstantHashes hashes, Graph* graph) {
    SymbolClause symbols(in);
    TAILOR_RETURN_IF_ERROR(symbols.ReadSymbols(graph));
    GraphReader reader(in, constants, hashes, graph);
    TAILOR_RETURN_IF_ERROR(reader.ReadArguments());
    TAILOR_RETURN_IF_ERROR(symbols.ReadAssumptions(graph));
    return reader.ReadBody();
  }

 private:
  absl::Status ReadArguments() {
    TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("("));
    for (bool first = true; !in_.IsPunct(")"); first = false) {
      if (!first) TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(","));
      size_t start = in_.position();
      Token name = in_.Peek();
      TAILOR_RETURN_IF_ERROR(in_.TakeKind(TokenKind::kValue, "%name").status());
      TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(":"));
      TAILOR_ASSIGN_OR_RETURN(TensorType type, in_.TakeType(graph_));
      absl::StatusOr<Value> value = graph_.AddInput(name.text, type.dtype, std::move(type.shape));
      if (!value.ok()) return in_.ErrorAtToken(start, value.status().message());
      TAILOR_RETURN_IF_ERROR(Define(name, *value, start));
    }
    in_.Take();
    return absl::OkStatus();
  }

  absl::Status ReadBody() {
    TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("{"));
    while (!in_.IsWord("return")) TAILOR_RETURN_IF_ERROR(ReadStatement());
    in_.Take();
    for (size_t i = 0; !in_.IsPunct("}"); ++i) {
      if (i > 0) TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(","));
      TAILOR_RETURN_IF_ERROR(ReadOutput(i));
    }
    in_.Take();
    return absl::OkStatus();
  }

  // A map key that differs for %a, %12, %"12" and %a#0.
  static std::string ScopeKey(const Token& token) {
    bool number =
        !token.quoted && std::all_of(token.text.begin(), token.text.end(), [](char c) { return c >= '0' && c <= '9'; });
    return absl::StrCat(number ? "number " : "name ", token.result, " ", token.text);
  }
  static bool NamesNode(const Token& token) { return absl::StartsWith(ScopeKey(token), "name"); }

  absl::Status Define(const Token& token, Value value, size_t position) {
    if (scope_.emplace(ScopeKey(token), value).second) return absl::OkStatus();
    return in_.ErrorAtToken(position, absl::StrCat("%", token.text, " is defined twice"));
  }

  absl::StatusOr<Value> TakeValue() {
    if (in_.Peek().kind != TokenKind::kValue) return in_.ErrorHere("expected a value");
    auto it = scope_.find(ScopeKey(in_.Peek()));
    if (it == scope_.end()) return in_.ErrorHere(absl::StrCat("%", in_.Peek().text, " is not defined"));
    in_.Take();
    return it->second;
  }

  absl::Status ReadOutput(size_t index) {
    size_t start = in_.position();
    std::string name;
    if (in_.Peek().kind == TokenKind::kString) {
      name = in_.Take().text;
      TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("="));
    }
    TAILOR_ASSIGN_OR_RETURN(Value value, TakeValue());
    if (name.empty()) name = DefaultOutputName(graph_, value, index);
    absl::Status status = graph_.AddOutput(name, value);
    return status.ok() ? status : in_.ErrorAtToken(start, status.message());
  }

  absl::Status ReadStatement() {
    size_t start = in_.position();
    std::vector<Token> targets;
    if (!in_.IsWord(InfoOf(OpKind::kContinuation).text)) {  // the only op without results
      do {
        targets.push_back(in_.Peek());
        TAILOR_RETURN_IF_ERROR(in_.TakeKind(TokenKind::kValue, "a statement or 'return'").status());
      } while (in_.TakeIf(in_.IsPunct(",")));
      TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("="));
    }
    size_t op_position = in_.position();
    const OpInfo* info = FindOp(in_.Peek().text);
    if (in_.Peek().kind != TokenKind::kWord || info == nullptr) {
      return in_.ErrorHere(absl::StrCat("'", in_.Peek().text, "' is no op"));
    }
    in_.Take();
    absl::StatusOr<NodeId> node = info->kind == OpKind::kInput      ? ReadInput(op_position)
                                  : info->kind == OpKind::kConstant ? ReadConstant(op_position)
                                                                    : ReadOp(*info, op_position);
    if (!node.ok()) return node.status();
    return FinishNode(*node, targets, start);
  }

  // Names the results and the node.
  absl::Status FinishNode(NodeId id, absl::Span<const Token> targets, size_t start) {
    if (targets.size() != graph_.node(id).results.size()) {
      return in_.ErrorAtToken(start,
                              absl::StrCat(InfoOf(graph_.node(id).op).text, ": has ", graph_.node(id).results.size(),
                                           " results, but ", targets.size(), " are named"));
    }
    bool one_name = !targets.empty();
    for (size_t r = 0; r < targets.size(); ++r) {
      TAILOR_RETURN_IF_ERROR(Define(targets[r], {id, static_cast<int32_t>(r)}, start));
      one_name = one_name && NamesNode(targets[r]) && targets[r].text == targets[0].text;
    }
    graph_.SetNodeName(id, one_name ? targets[0].text : "");
    if (in_.Peek().kind == TokenKind::kAt) graph_.SetNodeName(id, in_.Take().text);
    return absl::OkStatus();
  }

  absl::StatusOr<NodeId> ReadInput(size_t op_position) {
    TAILOR_ASSIGN_OR_RETURN(std::string name, in_.TakeKind(TokenKind::kAt, "@name"));
    TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(":"));
    TAILOR_ASSIGN_OR_RETURN(TensorType type, in_.TakeType(graph_));
    absl::StatusOr<Value> value = graph_.AddInput(name, type.dtype, std::move(type.shape));
    if (!value.ok()) return in_.ErrorAtToken(op_position, value.status().message());
    return value->node;
  }

  absl::StatusOr<NodeId> ReadOp(const OpInfo& info, size_t op_position) {
    TAILOR_ASSIGN_OR_RETURN(std::vector<Value> operands, ReadOperands());
    Attributes attributes;
    if (in_.IsPunct("{") && !AtRegions()) TAILOR_RETURN_IF_ERROR(ReadAttributes(info, &attributes));
    std::vector<Region> regions;
    if (AtRegions()) TAILOR_RETURN_IF_ERROR(ReadRegions(&regions));
    absl::StatusOr<NodeId> id = graph_.Append(info.kind, operands, std::move(attributes), std::move(regions));
    if (!id.ok()) return in_.ErrorAtToken(op_position, id.status().message());
    if (in_.TakeIf(in_.IsPunct(":"))) TAILOR_RETURN_IF_ERROR(CheckTypes(*id));
    return id;
  }

  absl::StatusOr<std::vector<Value>> ReadOperands() {
    std::vector<Value> operands;
    bool parentheses = in_.TakeIf(in_.IsPunct("("));
    bool more = in_.Peek().kind == TokenKind::kValue && !in_.IsPunct("=", 1);
    while (more) {
      TAILOR_ASSIGN_OR_RETURN(Value value, TakeValue());
      operands.push_back(value);
      more = in_.TakeIf(in_.IsPunct(","));
    }
    if (parentheses) TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(")"));
    return operands;
  }

  absl::Status CheckTypes(NodeId id) {
    const std::vector<TensorType>& results = graph_.node(id).results;
    for (size_t r = 0; r < results.size(); ++r) {
      if (r > 0) TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(","));
      size_t start = in_.position();
      TAILOR_ASSIGN_OR_RETURN(TensorType type, in_.TakeType(graph_));
      if (type != results[r]) {
        return in_.ErrorAtToken(
            start, absl::StrCat("the type is ", graph_.TypeText(type), ", but ", InfoOf(graph_.node(id).op).text,
                                " makes ", graph_.TypeText(results[r])));
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadAttributes(const OpInfo& info, Attributes* attributes) {
    TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("{"));
    while (!in_.IsPunct("}")) {
      if (!attributes->empty()) TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(","));
      size_t start = in_.position();
      TAILOR_ASSIGN_OR_RETURN(std::string name, in_.TakeKind(TokenKind::kWord, "an attribute's name"));
      auto row = std::find_if(info.attributes.begin(), info.attributes.end(),
                              [&](const AttributeInfo& attribute) { return attribute.name == name; });
      if (row == info.attributes.end()) {
        return in_.ErrorAtToken(start, absl::StrCat(info.text, ": there is no attribute \"", name, "\""));
      }
      TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("="));
      TAILOR_ASSIGN_OR_RETURN(Attribute value, ReadAttribute(row->type));
      if (!attributes->emplace(name, std::move(value)).second) {
        return in_.ErrorAtToken(start, absl::StrCat("attribute \"", name, "\" is given twice"));
      }
    }
    in_.Take();
    return absl::OkStatus();
  }

  absl::StatusOr<Attribute> ReadAttribute(AttributeType type) {
    switch (type) {
      case AttributeType::kI64:
        return in_.TakeInt();
      case AttributeType::kI64s:
        return in_.TakeInts();
      case AttributeType::kString:
        return in_.TakeKind(TokenKind::kString, "a string");
      case AttributeType::kDType:
        return in_.TakeDType();
      case AttributeType::kDims:
        return in_.TakeDims(graph_);
      case AttributeType::kF64:
        break;
    }
    size_t start = in_.position();
    TAILOR_ASSIGN_OR_RETURN(std::string text, in_.TakeSigned("a number"));
    double value;
    if (!ParseElement(DType::kF64, text, &value)) return in_.ErrorAtToken(start, "expected a number");
    return value;
  }

  bool AtRegions() const { return in_.IsPunct("{") && in_.IsWord("region", 1) && in_.IsPunct("(", 2); }

  absl::Status ReadRegions(std::vector<Region>* regions) {
    TAILOR_RETURN_IF_ERROR(in_.Enter(kRegionDepth));
    in_.Take();
    while (in_.TakeIf(in_.IsWord("region"))) {
      auto graph = std::make_shared<Graph>("region");
      TAILOR_RETURN_IF_ERROR(ReadWhole(&in_, constants_, hashes_, graph.get()));
      regions->push_back({std::move(graph)});
    }
    in_.Leave(kRegionDepth);
    return in_.ExpectPunct("}");
  }

  // constant [@name] [value] : type [hash h]
  absl::StatusOr<NodeId> ReadConstant(size_t op_position) {
    std::optional<std::string> name;
    if (in_.Peek().kind == TokenKind::kAt) name = in_.Take().text;
    std::vector<std::string> elements;
    bool is_list = in_.IsPunct("[");
    bool has_value = !in_.IsPunct(":");
    if (is_list) {
      TAILOR_ASSIGN_OR_RETURN(elements, in_.TakeList<std::string>([this] { return in_.TakeSigned("a value"); }));
    } else if (has_value) {
      TAILOR_ASSIGN_OR_RETURN(std::string element, in_.TakeSigned("a value"));
      elements.push_back(std::move(element));
    }
    TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(":"));
    TAILOR_ASSIGN_OR_RETURN(TensorType type, in_.TakeType(graph_));
    std::optional<int64_t> size = (ElementCount(type.shape) * SizeOf(type.dtype)).constant();
    if (!size || *size < 0) return in_.ErrorAtToken(op_position, "constant: needs constant dim sizes");
    ConstantData data;
    if (has_value) {
      if (type.rank() != (is_list ? 1 : 0) || *size != static_cast<int64_t>(elements.size()) * SizeOf(type.dtype)) {
        return in_.ErrorAtToken(op_position, "constant: the value does not have the shape of its type");
      }
      data = ZeroData(*size);
      TAILOR_RETURN_IF_ERROR(ReadElements(elements, type.dtype, is_list, op_position, data, &name));
    } else {
      TAILOR_ASSIGN_OR_RETURN(data, FindBytes(name, type, *size, op_position));
    }
    absl::StatusOr<Value> value = graph_.AddConstant(*name, type.dtype, std::move(type.shape), std::move(data));
    if (!value.ok()) return in_.ErrorAtToken(op_position, value.status().message());
    return value->node;
  }

  // Writes the elements into `data`. If `name` is absent, sets it to their canonical text.
  absl::Status ReadElements(absl::Span<const std::string> elements, DType dtype, bool is_list, size_t op_position,
                            const ConstantData& data, std::optional<std::string>* name) {
    char* bytes = static_cast<char*>(const_cast<void*>(data.data));
    std::vector<std::string> texts;
    for (const std::string& element : elements) {
      if (!ParseElement(dtype, element, bytes)) {
        return in_.ErrorAtToken(op_position, absl::StrCat("constant: ", element, " is no ", NameOf(dtype)));
      }
      texts.push_back(ElementText(dtype, bytes));
      bytes += SizeOf(dtype);
    }
    if (*name) return absl::OkStatus();
    *name = absl::StrJoin(texts, ", ");
    if (is_list) *name = absl::StrCat("[", **name, "]");
    return absl::OkStatus();
  }

  absl::StatusOr<ConstantData> FindBytes(const std::optional<std::string>& name, const TensorType& type, int64_t size,
                                         size_t op_position) {
    if (!name) return in_.ErrorAtToken(op_position, "constant: needs a @name or a value");
    std::optional<uint64_t> hash;
    if (in_.TakeIf(in_.IsWord("hash"))) {
      uint64_t value;
      if (!absl::SimpleHexAtoi(in_.Peek().text, &value)) return in_.ErrorHere("expected 16 hex digits");
      in_.Take();
      hash = value;
    }
    if (constants_ == nullptr) {
      ConstantData zeros = ZeroData(size);
      if (zeros.data == nullptr) return in_.ErrorAtToken(op_position, "constant: is too large for this machine");
      zeros.declared_hash = hash;
      return zeros;
    }
    absl::StatusOr<ConstantData> found = constants_(*name, type);
    if (!found.ok()) return in_.ErrorAtToken(op_position, absl::StrCat("constant: ", found.status().message()));
    ConstantData data = *std::move(found);
    if (data.size != static_cast<uint64_t>(size)) {
      return in_.ErrorAtToken(op_position, absl::StrCat("constant: the source gives ", data.size, " bytes for \"",
                                                        *name, "\", its type needs ", size));
    }
    if (hash && hashes_ == ConstantHashes::kChecked && data.Hash() != *hash) {
      return in_.ErrorAtToken(
          op_position, absl::StrCat("constant: the bytes of \"", *name, "\" do not have the hash that the text gives"));
    }
    return data;
  }

  TokenReader& in_;
  const ConstantSource& constants_;
  ConstantHashes hashes_;
  Graph& graph_;
  std::map<std::string, Value> scope_;
};

}  // namespace

absl::StatusOr<Graph> ParseGraph(absl::string_view text, const ConstantSource& constants, ConstantHashes hashes) {
  TAILOR_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(text));
  TokenReader in(text, std::move(tokens));
  TAILOR_RETURN_IF_ERROR(in.ExpectWord("graph"));
  TAILOR_ASSIGN_OR_RETURN(std::string name, in.TakeKind(TokenKind::kAt, "@name"));
  Graph graph(std::move(name));
  TAILOR_RETURN_IF_ERROR(GraphReader::ReadWhole(&in, constants, hashes, &graph));
  if (in.Peek().kind != TokenKind::kEnd) return in.ErrorHere("expected the end of the text");
  return graph;
}

absl::StatusOr<DimExpr> ParseDim(absl::string_view text, const Graph& graph) {
  return ParseDim(text, [&](absl::string_view name) { return graph.FindSymbol(name); });
}

absl::StatusOr<DimExpr> ParseDim(absl::string_view text, FindSymbol find) {
  TAILOR_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(text));
  TokenReader in(text, std::move(tokens));
  TAILOR_ASSIGN_OR_RETURN(DimExpr dim, in.TakeDim(find));
  if (in.Peek().kind != TokenKind::kEnd) return in.ErrorHere("expected the end of the dim");
  return dim;
}

}  // namespace tailor
