#include "codegen/lower/counted_loop.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fusion/graph_rebuild.h"
#include "fusion/propagate_facts.h"
#include "graph/custom.h"
#include "graph/formula.h"
#include "graph/scalar_values.h"
#include "graph/status_macros.h"

namespace tailor::lower {
namespace {

using Values = std::vector<std::optional<DimExpr>>;

bool MentionsCounter(const DimExpr& e, SymbolId first) {
  const std::vector<SymbolId> symbols = e.Symbols();
  return !symbols.empty() && symbols.back() >= first;
}

// Whether `e` is >= 0 where all symbols are.
bool IsNeverNegative(const DimExpr& e) {
  const auto atom_is = [](const DimExpr::Atom& atom) {
    switch (atom.kind) {
      case DimExpr::AtomKind::kSymbol:
      case DimExpr::AtomKind::kMod:
        return true;
      case DimExpr::AtomKind::kFloorDiv:
        return IsNeverNegative(atom.lhs);
      case DimExpr::AtomKind::kMax:
        return IsNeverNegative(atom.lhs) || IsNeverNegative(atom.rhs);
      case DimExpr::AtomKind::kMin:
      case DimExpr::AtomKind::kBcast:
        return IsNeverNegative(atom.lhs) && IsNeverNegative(atom.rhs);
    }
    return false;
  };
  return std::all_of(e.terms().begin(), e.terms().end(), [&](const DimExpr::Term& term) {
    return term.coefficient >= 0 && std::all_of(term.factors.begin(), term.factors.end(),
                                                [&](const DimExpr::Factor& factor) { return atom_is(*factor.atom); });
  });
}

// Whether `next` exceeds the counters by a sum of small terms at most, so that no loop that ends lets it overflow.
bool GrowsSlowly(const DimExpr& next, SymbolId first) {
  int counters = 0;
  for (const DimExpr::Term& term : next.terms()) {
    const DimExpr::Atom* atom = SingleFactor(term);
    if (!MentionsCounter(DimExpr::OfTerm(term), first)) {
      if (term.coefficient > INT32_MAX) return false;
      continue;
    }
    if (atom == nullptr || term.coefficient != 1 || ++counters > 1) return false;
    if (atom->kind == DimExpr::AtomKind::kSymbol) continue;
    const bool of_both = atom->kind == DimExpr::AtomKind::kMin || atom->kind == DimExpr::AtomKind::kMax;
    if (!GrowsSlowly(atom->lhs, first)) return false;
    if (of_both ? !GrowsSlowly(atom->rhs, first) : MentionsCounter(atom->rhs, first)) return false;
  }
  return true;
}

// A check as text, which checks of another graph with symbols of the same names can be compared with.
std::string TextOf(const Graph& graph, const ShapeCheck& check) {
  return absl::StrCat(static_cast<int>(check.relation), " ", check.input, " ", check.dim, " ", graph.DimText(check.lhs),
                      " ", graph.DimText(check.rhs));
}

class LoopCounter {
 public:
  LoopCounter(const Graph& graph, const ShapeFacts& facts, const KnownValues& around, NodeId id, SymbolId first)
      : graph_(graph), facts_(facts), id_(id), first_(first), body_(*graph.node(id).regions[1].graph) {
    const Node& node = graph.node(id);
    for (size_t i = 0; i < node.operands.size(); ++i) {
      initial_.push_back(around.of(node.operands[i]));
      if (!initial_[i]) continue;
      if (IsInvariant(i)) {
        values_[i] = *initial_[i];
      } else if (facts.RangeOf(*initial_[i]).min >= 0 && initial_[i]->constant().value_or(0) <= INT32_MAX) {
        values_[i] = DimExpr::Symbol(first_ + static_cast<SymbolId>(i));
      }
    }
  }

  std::optional<CountedLoop> Run() {
    // A counter may depend on one that turns out to be none.
    Values next;
    for (bool changed = true; changed;) {
      changed = false;
      next = NextValues();
      for (size_t i = 0; i < initial_.size(); ++i) {
        if (!values_.contains(i) || IsInvariant(i)) continue;
        if (next[i] && (IsTruth(i) || (IsNeverNegative(*next[i]) && GrowsSlowly(*next[i], first_)))) continue;
        values_.erase(i);
        changed = true;
      }
    }
    const Graph& condition = *graph_.node(id_).regions[0].graph;
    const KnownValues decided(condition, KnownIn(0));
    const std::optional<DimExpr>& goes_on = decided.of(condition.outputs()[0].value);
    if (!goes_on || !IsDispensable(condition)) return std::nullopt;
    KeepNeeded(next, *goes_on);
    return Numbered(next, *goes_on);
  }

 private:
  // Whether the condition may be left out: it has no effects, the body's checks include its own, and the results of an
  // iteration provably pass them: those of the last one are arguments of the condition alone.
  bool IsDispensable(const Graph& condition) const {
    if (std::any_of(condition.nodes().begin(), condition.nodes().end(), HasEffects)) return false;
    const auto of_condition = ShapeFacts::Collect(condition), of_body = ShapeFacts::Collect(body_);
    if (!of_condition.ok() || !of_body.ok()) return false;
    std::set<std::string> checks;
    for (const ShapeCheck& check : of_body->checks()) checks.insert(TextOf(body_, check));
    return std::all_of(of_condition->checks().begin(), of_condition->checks().end(), [&](const ShapeCheck& check) {
      return checks.contains(TextOf(condition, check)) && IsPreserved(condition, *of_body, check);
    });
  }

  // Whether the results of the body provably pass a check of the condition's arguments.
  bool IsPreserved(const Graph& condition, const ShapeFacts& of_body, const ShapeCheck& check) const {
    const auto result = [&](size_t input, size_t dim) { return body_.type(body_.outputs()[input].value).shape[dim]; };
    std::map<SymbolId, DimExpr> results;  // by symbol of the condition
    for (size_t input = 0; input < condition.inputs().size(); ++input) {
      const Shape& shape = condition.type({condition.inputs()[input], 0}).shape;
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        if (const std::optional<SymbolId> symbol = shape[dim].symbol()) results.emplace(*symbol, result(input, dim));
      }
    }
    bool all_known = true;
    const auto after = [&](const DimExpr& e) {
      return e.Substitute([&](SymbolId symbol) {
        const auto known = results.find(symbol);
        all_known = all_known && known != results.end();
        return known == results.end() ? DimExpr(0) : known->second;
      });
    };
    const DimExpr lhs = check.input >= 0 ? result(check.input, check.dim) : after(check.lhs), rhs = after(check.rhs);
    if (!all_known) return false;
    switch (check.relation) {
      case ShapeCheck::Relation::kEqual:
      case ShapeCheck::Relation::kBroadcasts:
        return of_body.ProvablyEqual(lhs, rhs);
      case ShapeCheck::Relation::kAtLeast:
        return of_body.RangeOf(lhs - rhs).min >= 0;
      case ShapeCheck::Relation::kAtMost:
        return of_body.RangeOf(rhs - lhs).min >= 0;
      case ShapeCheck::Relation::kMultipleOf:
        return of_body.ProvablyDivisible(lhs, *rhs.constant());
    }
    return false;
  }

  // Drops counters that neither the condition nor a counter that it needs depends on.
  void KeepNeeded(const Values& next, const DimExpr& goes_on) {
    std::set<SymbolId> needed;
    std::vector<DimExpr> read = {goes_on};
    while (!read.empty()) {
      const DimExpr e = std::move(read.back());
      read.pop_back();
      for (SymbolId symbol : e.Symbols()) {
        if (symbol >= first_ && needed.insert(symbol).second) read.push_back(*next[symbol - first_]);
      }
    }
    std::erase_if(values_, [&](const auto& entry) {
      return !IsInvariant(entry.first) && !needed.contains(first_ + static_cast<SymbolId>(entry.first));
    });
  }

  bool IsTruth(size_t i) const { return body_.type({body_.inputs()[i], 0}).dtype == DType::kBool; }
  bool IsInvariant(size_t i) const { return body_.outputs()[i].value == Value{body_.inputs()[i], 0}; }

  KnownValues::Source KnownIn(int region) const {
    const auto symbols = SymbolsAround(graph_, id_, region);
    return {.input =
                [this](int input) {
                  const auto it = values_.find(input);
                  return it == values_.end() ? std::nullopt : std::optional(it->second);
                },
            .symbol = [this, symbols](SymbolId symbol) -> std::optional<DimExpr> {
              const auto it = symbols.find(symbol);
              if (it == symbols.end()) return std::nullopt;
              return facts_.Canonical(it->second.front());
            }};
  }

  Values NextValues() const {
    const KnownValues inside(body_, KnownIn(1));
    Values next;
    for (const Output& output : body_.outputs()) next.push_back(inside.of(output.value));
    return next;
  }

  // The counters, with consecutive symbols.
  CountedLoop Numbered(const Values& next, const DimExpr& goes_on) const {
    CountedLoop loop;
    std::map<SymbolId, DimExpr> renamed;
    for (const auto& [i, value] : values_) {
      if (IsInvariant(i)) continue;
      const auto symbol = first_ + static_cast<SymbolId>(loop.counters.size());
      renamed.emplace(first_ + static_cast<SymbolId>(i), DimExpr::Symbol(symbol));
      loop.counters.push_back({static_cast<int>(i), symbol, *next[i]});
    }
    const auto rename = [&](SymbolId symbol) { return symbol < first_ ? DimExpr::Symbol(symbol) : renamed.at(symbol); };
    for (host::Counter& counter : loop.counters) counter.next = counter.next.Substitute(rename);
    loop.goes_on = goes_on.Substitute(rename);
    for (const host::Counter& counter : loop.counters) FindBounds(counter, loop);
    return loop;
  }

  // Dim sizes of the body's arguments that the condition says to be above the counter.
  void FindBounds(const host::Counter& counter, CountedLoop& loop) const {
    const auto around = KnownIn(1).symbol;
    std::set<DimExpr> dims;
    for (NodeId input : body_.inputs()) {
      const Shape& shape = body_.type({input, 0}).shape;
      dims.insert(shape.begin(), shape.end());
    }
    for (const DimExpr& dim : dims) {
      const std::vector<SymbolId> symbols = dim.Symbols();
      if (!std::all_of(symbols.begin(), symbols.end(), [&](SymbolId symbol) { return around(symbol).has_value(); })) {
        continue;
      }
      const DimExpr bound = dim.Substitute([&](SymbolId symbol) { return *around(symbol); });
      const DimExpr is_below = DimExpr::Less(DimExpr::Symbol(counter.symbol), bound);
      const bool implied = DimExpr::Min(loop.goes_on, is_below) == loop.goes_on;
      if (implied && facts_.RangeOf(bound).max > 0) loop.below.emplace_back(counter.argument, dim);
    }
  }

  const Graph& graph_;
  const ShapeFacts& facts_;
  const NodeId id_;
  const SymbolId first_;
  const Graph& body_;
  Values initial_;                    // by argument
  std::map<size_t, DimExpr> values_;  // in an iteration, by argument: a symbol, or the loop-invariant value
};

}  // namespace

std::optional<CountedLoop> CountLoop(const Graph& graph, const ShapeFacts& facts, const KnownValues& around, NodeId id,
                                     SymbolId first) {
  return LoopCounter(graph, facts, around, id, first).Run();
}

absl::StatusOr<Graph> CountedBody(const Graph& body, const CountedArguments& counted) {
  const auto is_counted = [&](int input) {
    return std::find(counted.numbers.begin(), counted.numbers.end(), input) != counted.numbers.end();
  };
  const auto replace = [&](const NodeRewrite& input) -> absl::StatusOr<std::optional<Value>> {
    const auto number = static_cast<int>(input.to.inputs().size());
    if (!is_counted(number)) return std::nullopt;
    const std::string& name = input.node().string("name");
    const TensorType& type = input.node().results[0];
    std::string symbol = name;
    while (input.to.FindSymbol(symbol)) symbol += "_";
    TAILOR_ASSIGN_OR_RETURN(const SymbolId id, input.to.AddSymbol({.name = symbol, .max = INT64_MAX}));
    const DimExpr counter = DimExpr::Symbol(id);
    TAILOR_RETURN_IF_ERROR(input.to.AddInput(name, DType::kU8, {counter}).status());
    for (const auto& [argument, dim] : counted.below) {
      if (argument != number) continue;
      TAILOR_RETURN_IF_ERROR(input.to.Assume({.relation = Assumption::Relation::kAtLeast,
                                              .lhs = dim,
                                              .rhs = counter + 1,
                                              .what = "condition of the loop",
                                              .assured = true}));
    }
    TAILOR_ASSIGN_OR_RETURN(Value value, DimSizeValue(input.to, counter));
    Formula f(&input.to);
    if (type.dtype == DType::kBool) value = f.Apply(OpKind::kNe, {value, f.Scalar(value, 0)});
    if (!type.shape.empty()) value = f.Apply(OpKind::kReshape, {value}, {{"shape", type.shape}});
    TAILOR_ASSIGN_OR_RETURN(value, f.Finish(value));
    return value;
  };
  // A body that would return its arguments only returns its first counter as a tensor.
  const auto changes = [&](size_t i) {
    return is_counted(static_cast<int>(i)) ? counted.is_read[i]
                                           : !(body.outputs()[i].value == Value{body.inputs()[i], 0});
  };
  bool any = false;
  for (size_t i = 0; i < body.outputs().size(); ++i) any |= changes(i);
  const auto add_outputs = [&](Graph& to, absl::Span<const Output> outputs) -> absl::Status {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool kept = !any && static_cast<int>(i) == counted.numbers[0];
      const bool returned = is_counted(static_cast<int>(i)) && !counted.is_read[i] && !kept;
      const Value argument{to.inputs()[i], 0};
      TAILOR_RETURN_IF_ERROR(to.AddOutput(outputs[i].name, returned ? argument : outputs[i].value));
    }
    return absl::OkStatus();
  };
  return RebuildGraph(body, {.rewrite_input = replace, .add_outputs = add_outputs});
}

}  // namespace tailor::lower
