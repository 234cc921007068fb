#include "analysis/shape_facts.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "analysis/obligations.h"
#include "analysis/prover.h"
#include "analysis/shape_facts_state.h"
#include "analysis/symbol_binding.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Learns that dim sizes of inputs are never negative.
absl::Status LearnInputDims(const Graph& graph, FactStore* store) {
  for (size_t input = 0; input < graph.inputs().size(); ++input) {
    const Shape& shape = graph.type({graph.inputs()[input], 0}).shape;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (store->RangeOf(shape[dim]).min >= 0 || store->Restrict(shape[dim], {0, INT64_MAX})) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(InputDimText(graph, static_cast<int>(input), static_cast<int>(dim)), " is ",
                       graph.DimText(shape[dim]), ", which is never 0 or more in the declared ranges"));
    }
  }
  return absl::OkStatus();
}

std::vector<Fact> DeclaredFacts(const Graph& graph) {
  std::vector<Fact> facts;
  for (const SymbolInfo& info : graph.symbols()) {
    const SymbolInfo unsaid;
    if (info.min != unsaid.min || info.max != unsaid.max) {
      facts.push_back({absl::StrCat(info.name, " in [", info.min, ", ", info.max, "]"), "declared"});
    }
    if (info.multiple_of != unsaid.multiple_of) {
      facts.push_back({absl::StrCat(info.name, " is a multiple of ", info.multiple_of), "declared"});
    }
  }
  return facts;
}

}  // namespace

absl::StatusOr<ShapeFacts> ShapeFacts::Collect(const Graph& graph) {
  std::vector<SymbolBinding> bindings = BindSymbols(graph);
  FactStore store(graph.symbols(), bindings);
  TAILOR_RETURN_IF_ERROR(LearnInputDims(graph, &store));
  const std::vector<Obligation> divisors = CollectDivisors(graph), obligations = CollectObligations(graph);
  Prover prover(graph, &store);
  TAILOR_RETURN_IF_ERROR(prover.Settle(divisors));
  const size_t of_divisors = prover.checks().size();
  TAILOR_RETURN_IF_ERROR(prover.Settle(obligations));
  TAILOR_RETURN_IF_ERROR(CheckSolvable(graph, store));

  std::vector<ShapeCheck> checks = SignatureChecks(graph, bindings, store);
  // Checks of divisors come before checks that divide. Left out are divisors over unbound symbols, which are
  // data-dependent: a later stage checks them, where the symbol is an input's dim size.
  const auto dividing = std::stable_partition(checks.begin(), checks.end(), [](const ShapeCheck& check) {
    return !HasDivisor(check.rhs) && (check.input >= 0 || !HasDivisor(check.lhs));
  });
  std::vector<ShapeCheck> of_inputs;
  std::copy_if(prover.checks().begin(), prover.checks().begin() + of_divisors, std::back_inserter(of_inputs),
               [&](const ShapeCheck& check) {
                 const std::vector<SymbolId> symbols = check.lhs.Symbols();
                 return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return store.bound(s); });
               });
  checks.insert(dividing, of_inputs.begin(), of_inputs.end());
  checks.insert(checks.end(), prover.checks().begin() + of_divisors, prover.checks().end());
  std::vector<Fact> learned = DeclaredFacts(graph);
  learned.insert(learned.end(), prover.facts().begin(), prover.facts().end());
  std::vector<std::string> inputs;
  for (NodeId input : graph.inputs()) inputs.push_back(graph.node(input).string("name"));

  ShapeFacts facts;
  facts.state_ = std::make_shared<const State>(State{{graph.symbols().begin(), graph.symbols().end()},
                                                     std::move(inputs),
                                                     std::move(store),
                                                     std::move(bindings),
                                                     std::move(checks),
                                                     std::move(learned)});
  return facts;
}

DimExpr ShapeFacts::Canonical(const DimExpr& e) const { return state_->store.Canonical(e); }

bool ShapeFacts::ProvablyEqual(const DimExpr& a, const DimExpr& b) const { return state_->store.ProvablyEqual(a, b); }

bool ShapeFacts::ProvablyEqualProduct(absl::Span<const DimExpr> a, absl::Span<const DimExpr> b) const {
  return ProvablyEqual(ElementCount(a), ElementCount(b));
}

bool ShapeFacts::ProvablyDivisible(const DimExpr& e, int64_t divisor) const {
  return divisor > 0 && state_->store.DivisorOf(e) % divisor == 0;
}

int64_t ShapeFacts::LargestKnownDivisor(const DimExpr& e) const {
  constexpr int64_t kOfZero = int64_t{1} << 62;
  int64_t divisor = state_->store.DivisorOf(e);
  return divisor == 0 ? kOfZero : divisor;
}

Range ShapeFacts::RangeOf(const DimExpr& e) const { return state_->store.RangeOf(e); }

std::vector<int64_t> ShapeFacts::LikelyOf(SymbolId symbol) const {
  std::vector<int64_t> likely;
  if (std::all_of(state_->symbols.begin(), state_->symbols.end(), [](const auto& s) { return s.likely.empty(); }))
    return likely;
  DimExpr representative = Canonical(DimExpr::Symbol(symbol));
  for (size_t id = 0; id < state_->symbols.size(); ++id) {
    if (Canonical(DimExpr::Symbol(static_cast<SymbolId>(id))) != representative) continue;
    for (int64_t value : state_->symbols[id].likely) {
      if (std::find(likely.begin(), likely.end(), value) == likely.end()) likely.push_back(value);
    }
  }
  return likely;
}

std::vector<int64_t> ShapeFacts::LikelyOf(const DimExpr& e, size_t most) const {
  const std::vector<SymbolId> symbols = e.Symbols();
  if (symbols.empty()) return {};
  std::vector<std::vector<int64_t>> shapes(1, std::vector<int64_t>(symbols.back() + 1));
  for (const SymbolId symbol : symbols) {
    std::vector<std::vector<int64_t>> longer;
    for (const int64_t value : LikelyOf(symbol)) {
      for (std::vector<int64_t> shape : shapes) {
        shape[symbol] = value;
        if (longer.size() < most) longer.push_back(std::move(shape));
      }
    }
    shapes = std::move(longer);
  }
  std::vector<int64_t> likely;
  const Range range = RangeOf(e);  // of shapes that facts allow
  for (const std::vector<int64_t>& shape : shapes) {
    const std::optional<int64_t> value = e.Evaluate(shape);
    if (value && *value >= range.min && *value <= range.max &&
        std::find(likely.begin(), likely.end(), *value) == likely.end())
      likely.push_back(*value);
  }
  return likely;
}

absl::Span<const SymbolBinding> ShapeFacts::bindings() const { return state_->bindings; }
absl::Span<const ShapeCheck> ShapeFacts::checks() const { return state_->checks; }
absl::Span<const Fact> ShapeFacts::facts() const { return state_->facts; }

}  // namespace tailor
