#include "graph/text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/element.h"
#include "graph/lexer.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

constexpr int kMaxDepth = 1200;  // of parentheses and regions; a valid dim needs fewer
constexpr int kRegionDepth = 50;  // what one level of regions counts

std::optional<DType> FindDType(absl::string_view text) {
  for (int i = 1; i < kDTypeCount; ++i) {
    if (text == NameOf(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::optional<DimExpr::AtomKind> FindFunction(absl::string_view text) {
  using Kind = DimExpr::AtomKind;
  constexpr std::pair<absl::string_view, Kind> kFunctions[] = {{"floordiv", Kind::kFloorDiv},
                                                               {"mod", Kind::kMod},
                                                               {"min", Kind::kMin},
                                                               {"max", Kind::kMax},
                                                               {"bcast", Kind::kBcast}};
  for (const auto& [name, kind] : kFunctions) {
    if (text == name) return kind;
  }
  return std::nullopt;
}

ConstantData ZeroData(uint64_t size) {
  std::shared_ptr<void> bytes(std::calloc(std::max<uint64_t>(size, 1), 1), std::free);
  const void* data = bytes.get();
  return {std::move(bytes), data, size, std::nullopt};
}

// A cursor over the tokens, and the parts that need no graph scope: names, numbers, dims, types.
class TokenReader {
 public:
  TokenReader(absl::string_view text, std::vector<Token> tokens) : text_(text), tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }
  const Token& Take() { return tokens_[position_ < tokens_.size() - 1 ? position_++ : position_]; }
  size_t position() const { return position_; }
  void Seek(size_t position) { position_ = position; }

  bool Is(TokenKind kind, absl::string_view text, size_t ahead = 0) const {
    return Peek(ahead).kind == kind && Peek(ahead).text == text;
  }
  bool IsPunct(absl::string_view text, size_t ahead = 0) const { return Is(TokenKind::kPunct, text, ahead); }
  bool IsWord(absl::string_view text, size_t ahead = 0) const { return Is(TokenKind::kWord, text, ahead); }
  bool TakeIf(bool present) {
    if (present) Take();
    return present;
  }

  absl::Status ErrorHere(absl::string_view message) const { return ErrorAt(text_, Peek().offset, message); }
  absl::Status ErrorAtToken(size_t position, absl::string_view message) const {
    return ErrorAt(text_, tokens_[position].offset, message);
  }

  absl::Status ExpectPunct(absl::string_view text) {
    return TakeIf(IsPunct(text)) ? absl::OkStatus() : ErrorHere(absl::StrCat("expected '", text, "'"));
  }
  absl::Status ExpectWord(absl::string_view text) {
    return TakeIf(IsWord(text)) ? absl::OkStatus() : ErrorHere(absl::StrCat("expected '", text, "'"));
  }

  absl::StatusOr<std::string> TakeKind(TokenKind kind, absl::string_view what) {
    if (Peek().kind != kind) return ErrorHere(absl::StrCat("expected ", what));
    return Take().text;
  }

  // A signed number as text: "-0.5", "inf".
  absl::StatusOr<std::string> TakeSigned(absl::string_view what) {
    std::string sign = TakeIf(IsPunct("-")) ? "-" : "";
    if (Peek().kind != TokenKind::kNumber && Peek().kind != TokenKind::kWord) {
      return ErrorHere(absl::StrCat("expected ", what));
    }
    return sign + Take().text;
  }

  absl::StatusOr<int64_t> TakeInt() {
    size_t start = position_;
    TAILOR_ASSIGN_OR_RETURN(std::string text, TakeSigned("an integer"));
    int64_t value;
    if (!absl::SimpleAtoi(text, &value)) {
      return ErrorAtToken(start, absl::StrCat("'", text, "' is no 64-bit integer"));
    }
    return value;
  }

  // '[' item, item ']' with `take` reading one item.
  template <typename T, typename TakeItem>
  absl::StatusOr<std::vector<T>> TakeList(TakeItem take) {
    std::vector<T> items;
    TAILOR_RETURN_IF_ERROR(ExpectPunct("["));
    while (!IsPunct("]")) {
      if (!items.empty()) TAILOR_RETURN_IF_ERROR(ExpectPunct(","));
      TAILOR_ASSIGN_OR_RETURN(T item, take());
      items.push_back(std::move(item));
    }
    Take();
    return items;
  }

  absl::StatusOr<std::vector<int64_t>> TakeInts() {
    return TakeList<int64_t>([this] { return TakeInt(); });
  }
  absl::StatusOr<Shape> TakeDims(const Graph& graph) {
    return TakeList<DimExpr>([&] { return TakeDim(graph); });
  }

  absl::StatusOr<DType> TakeDType() {
    std::optional<DType> dtype = FindDType(Peek().text);
    if (Peek().kind != TokenKind::kWord || !dtype) return ErrorHere("expected an element type");
    Take();
    return *dtype;
  }

  absl::StatusOr<TensorType> TakeType(const Graph& graph) {
    TensorType type;
    TAILOR_ASSIGN_OR_RETURN(type.dtype, TakeDType());
    TAILOR_ASSIGN_OR_RETURN(type.shape, TakeDims(graph));
    return type;
  }

  absl::StatusOr<DimExpr> TakeDim(const Graph& graph) {
    size_t start = position_;
    TAILOR_ASSIGN_OR_RETURN(DimExpr dim, TakeSum(graph));
    if (!dim.valid()) return ErrorAtToken(start, "this dim overflows, or divides by a constant below 1");
    return dim;
  }

  absl::Status Enter(int levels) {
    depth_ += levels;
    return depth_ > kMaxDepth ? ErrorHere("nested too deep") : absl::OkStatus();
  }
  void Leave(int levels) { depth_ -= levels; }

 private:
  absl::StatusOr<DimExpr> TakeSum(const Graph& graph) {
    TAILOR_RETURN_IF_ERROR(Enter(1));
    TAILOR_ASSIGN_OR_RETURN(DimExpr sum, TakeProduct(graph, TakeIf(IsPunct("-"))));
    while (IsPunct("+") || IsPunct("-")) {
      TAILOR_ASSIGN_OR_RETURN(DimExpr term, TakeProduct(graph, Take().text == "-"));
      sum = sum + term;
    }
    Leave(1);
    return sum;
  }

  absl::StatusOr<DimExpr> TakeProduct(const Graph& graph, bool negative) {
    TAILOR_ASSIGN_OR_RETURN(DimExpr product, TakeFactor(graph, negative));
    while (TakeIf(IsPunct("*"))) {
      TAILOR_ASSIGN_OR_RETURN(DimExpr factor, TakeFactor(graph, false));
      product = product * factor;
    }
    return product;
  }

  absl::StatusOr<DimExpr> TakeFactor(const Graph& graph, bool negative) {
    if (Peek().kind == TokenKind::kNumber) {
      int64_t value;
      if (!absl::SimpleAtoi((negative ? "-" : "") + Peek().text, &value)) {
        return ErrorHere("expected a 64-bit integer");
      }
      Take();
      return DimExpr(value);
    }
    DimExpr sign = negative ? -1 : 1;
    if (TakeIf(IsPunct("("))) {
      TAILOR_ASSIGN_OR_RETURN(DimExpr inner, TakeSum(graph));
      TAILOR_RETURN_IF_ERROR(ExpectPunct(")"));
      return sign * inner;
    }
    std::optional<DimExpr::AtomKind> function = FindFunction(Peek().text);
    if (function && Peek().kind == TokenKind::kWord) {
      Take();
      TAILOR_RETURN_IF_ERROR(ExpectPunct("("));
      TAILOR_ASSIGN_OR_RETURN(DimExpr lhs, TakeSum(graph));
      TAILOR_RETURN_IF_ERROR(ExpectPunct(","));
      TAILOR_ASSIGN_OR_RETURN(DimExpr rhs, TakeSum(graph));
      TAILOR_RETURN_IF_ERROR(ExpectPunct(")"));
      return sign * DimExpr::Make(*function, lhs, rhs);
    }
    if (Peek().kind != TokenKind::kWord && Peek().kind != TokenKind::kString) {
      return ErrorHere("expected a dim: an integer, a symbol or a function of dims");
    }
    std::optional<SymbolId> symbol = graph.FindSymbol(Peek().text);
    if (!symbol) {
      return ErrorHere(absl::StrCat("unknown symbol \"", Peek().text, "\"; the where clause can declare it"));
    }
    Take();
    return sign * DimExpr::Symbol(*symbol);
  }

  absl::string_view text_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  int depth_ = 0;
};

// Reads a header's symbols ahead of everything else, since types and equalities use them.
class SymbolReader {
 public:
  explicit SymbolReader(TokenReader* in) : in_(*in) {}

  // From the '(' of the arguments; returns there. Adds the symbols, and sets where_end().
  absl::Status Read(Graph* graph) {
    size_t start = in_.position();
    ReadArguments();
    if (in_.TakeIf(in_.IsWord("where"))) TAILOR_RETURN_IF_ERROR(ReadWhere());
    where_end_ = in_.position();
    for (SymbolInfo& symbol : InOrder()) {
      absl::Status status = graph->AddSymbol(std::move(symbol)).status();
      if (!status.ok()) return in_.ErrorHere(status.message());
    }
    in_.Seek(start);
    return absl::OkStatus();
  }

  // After the arguments: reads the equalities and moves to the body.
  absl::Status ReadEqualities(Graph* graph) {
    for (size_t position : equalities_) {
      in_.Seek(position);
      TAILOR_ASSIGN_OR_RETURN(DimExpr lhs, in_.TakeDim(*graph));
      TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("=="));
      TAILOR_ASSIGN_OR_RETURN(DimExpr rhs, in_.TakeDim(*graph));
      if (!in_.IsPunct(",") && !in_.IsPunct("{")) return in_.ErrorHere("expected ',' or '{'");
      absl::Status status = graph->AssumeEqual(lhs, rhs);
      if (!status.ok()) return in_.ErrorAtToken(position, status.message());
    }
    in_.Seek(where_end_);
    return absl::OkStatus();
  }

 private:
  bool AtSymbol() const {
    const Token& token = in_.Peek();
    if (token.kind == TokenKind::kString) return true;
    return token.kind == TokenKind::kWord && !in_.IsPunct("(", 1);
  }

  static void Note(const std::string& name, std::vector<std::string>* names) {
    if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
  }

  void ReadArguments() {
    int parentheses = 0, brackets = 0;
    do {
      if (brackets > 0 && AtSymbol()) Note(in_.Peek().text, &header_);
      parentheses += in_.IsPunct("(") - in_.IsPunct(")");
      brackets += in_.IsPunct("[") - in_.IsPunct("]");
      in_.Take();
    } while (parentheses > 0 && in_.Peek().kind != TokenKind::kEnd);
  }

  absl::Status ReadWhere() {
    do {
      bool declares = AtSymbol() && (in_.IsWord("in", 1) || in_.IsWord("multiple_of", 1) ||
                                     in_.IsWord("likely", 1) || in_.IsPunct(",", 1) || in_.IsPunct("{", 1));
      if (declares) {
        TAILOR_RETURN_IF_ERROR(ReadSymbol());
      } else {
        SkipEquality();
      }
    } while (in_.TakeIf(in_.IsPunct(",")));
    return absl::OkStatus();
  }

  absl::Status ReadSymbol() {
    SymbolInfo symbol;
    symbol.name = in_.Take().text;
    if (in_.TakeIf(in_.IsWord("in"))) {
      size_t start = in_.position();
      TAILOR_ASSIGN_OR_RETURN(std::vector<int64_t> range, in_.TakeInts());
      if (range.size() != 2) return in_.ErrorAtToken(start, "a range is [min, max]");
      symbol.min = range[0];
      symbol.max = range[1];
    }
    if (in_.TakeIf(in_.IsWord("multiple_of"))) {
      TAILOR_ASSIGN_OR_RETURN(symbol.multiple_of, in_.TakeInt());
    }
    if (in_.TakeIf(in_.IsWord("likely"))) {
      TAILOR_ASSIGN_OR_RETURN(symbol.likely, in_.TakeInts());
    }
    std::string name = symbol.name;
    if (!declared_.emplace(name, std::move(symbol)).second) {
      return in_.ErrorHere(absl::StrCat("symbol \"", name, "\" is declared twice"));
    }
    listed_.push_back(std::move(name));
    return absl::OkStatus();
  }

  void SkipEquality() {
    equalities_.push_back(in_.position());
    int parentheses = 0;
    while (in_.Peek().kind != TokenKind::kEnd && !in_.IsPunct("{")) {
      if (parentheses == 0 && in_.IsPunct(",")) return;
      if (AtSymbol()) Note(in_.Peek().text, &mentioned_);
      parentheses += in_.IsPunct("(") - in_.IsPunct(")");
      in_.Take();
    }
  }

  std::vector<SymbolInfo> InOrder() const {
    bool lists_all = std::all_of(header_.begin(), header_.end(), [&](const std::string& name) {
      return declared_.find(name) != declared_.end();
    });
    std::vector<std::string> names;
    for (const auto* part : {lists_all ? &listed_ : &header_, &listed_, &mentioned_}) {
      for (const std::string& name : *part) Note(name, &names);
    }
    std::vector<SymbolInfo> symbols;
    for (std::string& name : names) {
      auto it = declared_.find(name);
      symbols.push_back(it == declared_.end() ? SymbolInfo{std::move(name)} : it->second);
    }
    return symbols;
  }

  TokenReader& in_;
  std::vector<std::string> header_, listed_, mentioned_;
  std::map<std::string, SymbolInfo> declared_;
  std::vector<size_t> equalities_;
  size_t where_end_ = 0;
};

// Reads one graph or region: its arguments, then its body, into `graph`.
class GraphReader {
 public:
  GraphReader(TokenReader* in, const ConstantSource& constants, Graph* graph)
      : in_(*in), constants_(constants), graph_(*graph) {}

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

 private:
  // Distinct for %a, %12, %"12" and %a#0.
  static std::string ScopeKey(const Token& token) {
    bool number = !token.quoted && std::all_of(token.text.begin(), token.text.end(),
                                               [](char c) { return c >= '0' && c <= '9'; });
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
    do {
      targets.push_back(in_.Peek());
      TAILOR_RETURN_IF_ERROR(in_.TakeKind(TokenKind::kValue, "a statement or 'return'").status());
    } while (in_.TakeIf(in_.IsPunct(",")));
    TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("="));
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
      return in_.ErrorAtToken(start, absl::StrCat(InfoOf(graph_.node(id).op).text, ": has ",
                                                  graph_.node(id).results.size(), " results, but ",
                                                  targets.size(), " are named"));
    }
    bool one_name = true;
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
        return in_.ErrorAtToken(start, absl::StrCat("the type is ", graph_.TypeText(type), ", but ",
                                                    InfoOf(graph_.node(id).op).text, " makes ",
                                                    graph_.TypeText(results[r])));
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
      for (const SymbolInfo& symbol : graph_.symbols()) {
        TAILOR_RETURN_IF_ERROR(graph->AddSymbol(symbol).status());
      }
      GraphReader reader(&in_, constants_, graph.get());
      TAILOR_RETURN_IF_ERROR(reader.ReadArguments());
      TAILOR_RETURN_IF_ERROR(reader.ReadBody());
      regions->push_back({std::move(graph)});
    }
    in_.Leave(kRegionDepth);
    return in_.ExpectPunct("}");
  }

  // constant [@name] [value] : type [hash h]
  absl::StatusOr<NodeId> ReadConstant(size_t op_position) {
    std::string name = in_.Peek().kind == TokenKind::kAt ? in_.Take().text : "";
    std::vector<std::string> elements;
    bool is_list = in_.IsPunct("[");
    bool has_value = !in_.IsPunct(":");
    if (is_list) {
      TAILOR_ASSIGN_OR_RETURN(elements,
                              in_.TakeList<std::string>([this] { return in_.TakeSigned("a value"); }));
    } else if (has_value) {
      TAILOR_ASSIGN_OR_RETURN(std::string element, in_.TakeSigned("a value"));
      elements.push_back(std::move(element));
    }
    TAILOR_RETURN_IF_ERROR(in_.ExpectPunct(":"));
    TAILOR_ASSIGN_OR_RETURN(TensorType type, in_.TakeType(graph_));
    std::optional<int64_t> size = (ElementCount(type.shape) * SizeOf(type.dtype)).constant();
    if (!size || *size < 0) return in_.ErrorAtToken(op_position, "constant: needs constant extents");
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
    absl::StatusOr<Value> value = graph_.AddConstant(name, type.dtype, std::move(type.shape), std::move(data));
    if (!value.ok()) return in_.ErrorAtToken(op_position, value.status().message());
    return value->node;
  }

  // Writes the elements into `data`; an empty `name` becomes their canonical text.
  absl::Status ReadElements(absl::Span<const std::string> elements, DType dtype, bool is_list,
                            size_t op_position, const ConstantData& data, std::string* name) {
    char* bytes = static_cast<char*>(const_cast<void*>(data.data));
    std::vector<std::string> texts;
    for (const std::string& element : elements) {
      if (!ParseElement(dtype, element, bytes)) {
        return in_.ErrorAtToken(op_position, absl::StrCat("constant: ", element, " is no ", NameOf(dtype)));
      }
      texts.push_back(ElementText(dtype, bytes));
      bytes += SizeOf(dtype);
    }
    if (!name->empty()) return absl::OkStatus();
    *name = absl::StrJoin(texts, ", ");
    if (is_list) *name = absl::StrCat("[", *name, "]");
    return absl::OkStatus();
  }

  absl::StatusOr<ConstantData> FindBytes(const std::string& name, const TensorType& type, int64_t size,
                                         size_t op_position) {
    if (name.empty()) return in_.ErrorAtToken(op_position, "constant: needs a @name or a value");
    std::optional<uint64_t> hash;
    if (in_.TakeIf(in_.IsWord("hash"))) {
      uint64_t value;
      if (!absl::SimpleHexAtoi(in_.Peek().text, &value)) return in_.ErrorHere("expected 16 hex digits");
      in_.Take();
      hash = value;
    }
    if (constants_ == nullptr) {
      ConstantData zeros = ZeroData(size);
      zeros.declared_hash = hash;
      return zeros;
    }
    ConstantData data = constants_(name, type);
    if (hash && data.Hash() != *hash) {
      return in_.ErrorAtToken(op_position, absl::StrCat("constant: the bytes of \"", name,
                                                        "\" do not have the hash that the text gives"));
    }
    return data;
  }

  TokenReader& in_;
  const ConstantSource& constants_;
  Graph& graph_;
  std::map<std::string, Value> scope_;
};

}  // namespace

absl::StatusOr<Graph> ParseGraph(absl::string_view text, const ConstantSource& constants) {
  TAILOR_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(text));
  TokenReader in(text, std::move(tokens));
  TAILOR_RETURN_IF_ERROR(in.ExpectWord("graph"));
  TAILOR_ASSIGN_OR_RETURN(std::string name, in.TakeKind(TokenKind::kAt, "@name"));
  Graph graph(std::move(name));
  SymbolReader symbols(&in);
  TAILOR_RETURN_IF_ERROR(symbols.Read(&graph));
  GraphReader reader(&in, constants, &graph);
  TAILOR_RETURN_IF_ERROR(reader.ReadArguments());
  TAILOR_RETURN_IF_ERROR(symbols.ReadEqualities(&graph));
  TAILOR_RETURN_IF_ERROR(reader.ReadBody());
  if (in.Peek().kind != TokenKind::kEnd) return in.ErrorHere("expected the end of the text");
  return graph;
}

absl::StatusOr<DimExpr> ParseDim(absl::string_view text, const Graph& graph) {
  TAILOR_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(text));
  TokenReader in(text, std::move(tokens));
  TAILOR_ASSIGN_OR_RETURN(DimExpr dim, in.TakeDim(graph));
  if (in.Peek().kind != TokenKind::kEnd) return in.ErrorHere("expected the end of the dim");
  return dim;
}

}  // namespace tailor
