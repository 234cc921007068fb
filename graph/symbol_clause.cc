#include "graph/symbol_clause.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

void AddOnce(const std::string& name, std::vector<std::string>* names) {
  if (std::find(names->begin(), names->end(), name) == names->end()) names->push_back(name);
}

}  // namespace

absl::Status SymbolClause::ReadSymbols(Graph* graph) {
  size_t start = in_.position();
  ScanArguments();
  if (in_.TakeIf(in_.IsWord("where"))) TAILOR_RETURN_IF_ERROR(ScanWhere());
  end_ = in_.position();
  for (SymbolInfo& symbol : InOrder()) {
    absl::Status status = graph->AddSymbol(std::move(symbol)).status();
    if (!status.ok()) return in_.ErrorHere(status.message());
  }
  in_.Seek(start);
  return absl::OkStatus();
}

absl::Status SymbolClause::ReadAssumptions(Graph* graph) {
  for (size_t position : assumptions_) {
    in_.Seek(position);
    Assumption assumption;
    TAILOR_ASSIGN_OR_RETURN(assumption.lhs, in_.TakeDim(*graph));
    const bool at_least = in_.TakeIf(in_.IsPunct(">="));
    if (!at_least) TAILOR_RETURN_IF_ERROR(in_.ExpectPunct("=="));
    assumption.relation = at_least ? Assumption::Relation::kAtLeast : Assumption::Relation::kEqual;
    TAILOR_ASSIGN_OR_RETURN(assumption.rhs, in_.TakeDim(*graph));
    if (in_.Peek().kind == TokenKind::kAt) assumption.what = in_.Take().text;
    if (!in_.IsPunct(",") && !in_.IsPunct("{")) return in_.ErrorHere("expected ',' or '{'");
    absl::Status status = graph->Assume(std::move(assumption));
    if (!status.ok()) return in_.ErrorAtToken(position, status.message());
  }
  in_.Seek(end_);
  return absl::OkStatus();
}

bool SymbolClause::AtSymbol() const {
  if (in_.Peek().kind == TokenKind::kString) return true;
  return in_.Peek().kind == TokenKind::kWord && !in_.IsPunct("(", 1);
}

void SymbolClause::ScanArguments() {
  int parentheses = 0, brackets = 0;
  do {
    if (brackets > 0 && AtSymbol()) AddOnce(in_.Peek().text, &header_);
    parentheses += in_.IsPunct("(") - in_.IsPunct(")");
    brackets += in_.IsPunct("[") - in_.IsPunct("]");
    in_.Take();
  } while (parentheses > 0 && in_.Peek().kind != TokenKind::kEnd);
}

absl::Status SymbolClause::ScanWhere() {
  do {
    bool declares = AtSymbol() && (in_.IsWord("in", 1) || in_.IsWord("multiple_of", 1) || in_.IsWord("likely", 1) ||
                                   in_.IsPunct(",", 1) || in_.IsPunct("{", 1));
    if (declares) {
      TAILOR_RETURN_IF_ERROR(ScanDeclaration());
    } else {
      ScanAssumption();
    }
  } while (in_.TakeIf(in_.IsPunct(",")));
  return absl::OkStatus();
}

absl::Status SymbolClause::ScanDeclaration() {
  size_t start = in_.position();
  SymbolInfo symbol;
  symbol.name = in_.Take().text;
  if (in_.TakeIf(in_.IsWord("in"))) {
    size_t range_start = in_.position();
    TAILOR_ASSIGN_OR_RETURN(std::vector<int64_t> range, in_.TakeInts());
    if (range.size() != 2) return in_.ErrorAtToken(range_start, "a range is [min, max]");
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
    return in_.ErrorAtToken(start, absl::StrCat("symbol \"", name, "\" is declared twice"));
  }
  listed_.push_back(std::move(name));
  return absl::OkStatus();
}

void SymbolClause::ScanAssumption() {
  assumptions_.push_back(in_.position());
  int parentheses = 0;
  while (in_.Peek().kind != TokenKind::kEnd && !in_.IsPunct("{")) {
    if (parentheses == 0 && in_.IsPunct(",")) return;
    if (AtSymbol()) AddOnce(in_.Peek().text, &mentioned_);
    parentheses += in_.IsPunct("(") - in_.IsPunct(")");
    in_.Take();
  }
}

std::vector<SymbolInfo> SymbolClause::InOrder() const {
  bool lists_all = std::all_of(header_.begin(), header_.end(),
                               [&](const std::string& name) { return declared_.find(name) != declared_.end(); });
  std::vector<std::string> names;
  for (const auto* part : {lists_all ? &listed_ : &header_, &listed_, &mentioned_}) {
    for (const std::string& name : *part) AddOnce(name, &names);
  }
  std::vector<SymbolInfo> symbols;
  for (std::string& name : names) {
    auto it = declared_.find(name);
    symbols.push_back(it == declared_.end() ? SymbolInfo{std::move(name)} : it->second);
  }
  return symbols;
}

}  // namespace tailor
