#include "tests/analysis/sampled_dims.h"

#include <algorithm>

#include "tests/analysis/random_graph.h"

namespace tailor {

const std::vector<std::string>& SampleGraphs() {
  static const auto* graphs = new std::vector<std::string>{
      // Equality, ranges, divisors.
      R"(graph @g(%x: f32[S, T], %y: f32[U, S]) where S in [0, 12] multiple_of 3, T in [2, 9], U in [1, 7] {
        %d = dot %x, %y
        return %d
      })",
      // Product equality, and a symbol that only an expression defines.
      R"(graph @g(%x: f32[B, S], %y: f32[T, U]) where M in [0, 20] multiple_of 2, M == B*S {
        %r = reshape %x {shape = [T, U]}
        %s = reshape %x {shape = [M]}
        return %r, %s
      })",
      // Broadcasts: repeated, against a constant, to a target.
      R"(graph @g(%x: f32[S], %y: f32[T], %z: f32[U, 4]) where U in [2, 5] {
        %a = add %x, %y
        %b = add %a, %x
        %c = add %b, %z
        %d = broadcast %x {shape = [U, T]}
        %k = lt %y, %x
        %c2 = select %k, %c, %x
        return %d, %c2
      })",
      // The broadcast comes before what settles it.
      R"(graph @g(%x: f32[S], %y: f32[T], %z: f32[U, T]) where S in [2, 6] {
        %a = mul %x, %y
        %b = dot %z, %z
        return %a, %b
      })",
      // Slices forwards and backwards, by steps; concat; iota.
      R"(graph @g(%x: f32[S], %y: f32[T]) where T in [0, 6] {
        %a = slice %x {starts = [1], sizes = [T], steps = [2]}
        %b = slice %x {starts = [S - 1], sizes = [S], steps = [-1]}
        %c = slice %y {starts = [T - 3], sizes = [2]}
        %d = iota {shape = [2*S - 3, T], axis = 0, dtype = f32}
        return %a, %b, %c, %d
      })",
      R"(graph @g(%x: f32[S, T], %y: f32[U, 2*V + 1]) where V in [0, 4] {
        %c = concat %x, %y {axis = 0}
        %r = reshape %c {shape = [floordiv(S + U, 2), 2, T]}
        return %r
      })",
      // Scaled and shifted dims; constant dims.
      R"(graph @g(%x: f32[3*S + 1, T - 2], %y: f32[S*T, 4]) where S in [1, 4], T == 2*S + 2 {
        return %x, %y
      })",
  };
  return *graphs;
}

namespace {

std::optional<int64_t> ValueOfAtom(const DimExpr::Atom& atom, absl::Span<const int64_t> symbols) {
  if (atom.kind == DimExpr::AtomKind::kSymbol) return symbols[atom.symbol];
  std::optional<int64_t> a = ValueOf(atom.lhs, symbols), b = ValueOf(atom.rhs, symbols);
  if (!a || !b) return std::nullopt;
  if (atom.kind == DimExpr::AtomKind::kMin) return std::min(*a, *b);
  if (atom.kind == DimExpr::AtomKind::kMax) return std::max(*a, *b);
  if (atom.kind == DimExpr::AtomKind::kBcast) {
    if (*a != *b && *a != 1 && *b != 1) return std::nullopt;
    return *a == 1 ? *b : *a;
  }
  if (*b <= 0) return std::nullopt;
  int64_t mod = ((*a % *b) + *b) % *b;
  return atom.kind == DimExpr::AtomKind::kMod ? mod : (*a - mod) / *b;
}

}  // namespace

std::optional<int64_t> ValueOf(const DimExpr& e, absl::Span<const int64_t> symbols) {
  if (!e.valid()) return std::nullopt;
  int64_t sum = 0;
  for (const DimExpr::Term& term : e.terms()) {
    int64_t product = term.coefficient;
    for (const DimExpr::Factor& f : term.factors) {
      std::optional<int64_t> value = ValueOfAtom(*f.atom, symbols);
      if (!value) return std::nullopt;
      for (int32_t i = 0; i < f.power; ++i) product *= *value;
    }
    sum += product;
  }
  return sum;
}

bool Holds(ShapeCheck::Relation relation, std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return false;
  switch (relation) {
    case ShapeCheck::Relation::kEqual:
      return *a == *b;
    case ShapeCheck::Relation::kAtLeast:
      return *a >= *b;
    case ShapeCheck::Relation::kAtMost:
      return *a <= *b;
    case ShapeCheck::Relation::kMultipleOf:
      return *a % *b == 0;
    default:
      return *a == *b || *a == 1 || *b == 1;
  }
}

void ForEachAssignment(const ParsedFacts& f, int64_t limit,
                       const std::function<void(absl::Span<const int64_t>)>& visit) {
  std::vector<int64_t> values(f.graph.symbols().size(), 0);
  absl::Span<const SymbolBinding> bindings = f.facts.bindings();
  std::vector<bool> bound(values.size(), false);
  for (const SymbolBinding& binding : bindings) bound[binding.symbol] = true;
  for (;;) {
    for (size_t id = 0; id < values.size(); ++id) {
      if (bound[id]) continue;
      values[id] = f.facts.Canonical(DimExpr::Symbol(static_cast<SymbolId>(id))).Evaluate(values).value_or(0);
    }
    visit(values);
    size_t next = 0;
    while (next < bindings.size() && values[bindings[next].symbol] == limit) values[bindings[next++].symbol] = 0;
    if (next == bindings.size()) return;
    ++values[bindings[next].symbol];
  }
}

bool InputsExist(const Graph& graph, absl::Span<const int64_t> symbols) {
  return std::all_of(graph.inputs().begin(), graph.inputs().end(), [&](NodeId input) {
    const Shape& shape = graph.type({input, 0}).shape;
    return std::all_of(shape.begin(), shape.end(),
                       [&](const DimExpr& dim) { return ValueOf(dim, symbols).value_or(-1) >= 0; });
  });
}

bool ChecksPass(const ParsedFacts& f, absl::Span<const int64_t> symbols) {
  return std::all_of(f.facts.checks().begin(), f.facts.checks().end(), [&](const ShapeCheck& check) {
    return Holds(check.relation, check.lhs.Evaluate(symbols), check.rhs.Evaluate(symbols));
  });
}

namespace {

void VisitDims(std::mt19937& random, const ParsedFacts& f, int rounds,
               const std::function<void(const ParsedFacts&, const DimCase&)>& visit) {
  constexpr int kShapes = 20;
  std::vector<std::vector<int64_t>> passing;
  ForEachAssignment(f, 10, [&](absl::Span<const int64_t> symbols) {
    if (InputsExist(f.graph, symbols) && ChecksPass(f, symbols)) passing.emplace_back(symbols.begin(), symbols.end());
  });
  if (passing.empty()) return;
  for (int round = 0; round < rounds; ++round) {
    DimCase c{RandomDim(random, static_cast<int>(f.graph.symbols().size()), 4), {}};
    if (!c.e.valid()) continue;
    for (int i = 0; i < kShapes; ++i) c.shapes.push_back(passing[random() % passing.size()]);
    visit(f, c);
  }
}

}  // namespace

void ForEachDimCase(unsigned seed, const std::function<void(const ParsedFacts&, const DimCase&)>& visit) {
  std::mt19937 random(seed);
  for (const std::string& text : SampleGraphs()) VisitDims(random, ParsedFacts(text), 300, visit);
  for (int i = 0; i < 300; ++i) {
    Graph graph = RandomGraph(random);
    absl::StatusOr<ShapeFacts> facts = ShapeFacts::Collect(graph);
    if (facts.ok()) VisitDims(random, ParsedFacts(std::move(graph), *facts), 40, visit);
  }
}

DimExpr RandomDim(std::mt19937& random, int symbols, int depth) {
  auto pick = [&](int bound) { return static_cast<int>(random() % bound); };
  if (depth == 0) return pick(4) == 0 ? DimExpr(pick(6)) : DimExpr::Symbol(pick(symbols));
  DimExpr a = RandomDim(random, symbols, depth - 1), b = RandomDim(random, symbols, depth - 1);
  switch (pick(9)) {
    case 0:
    case 1:
      return a + b;
    case 2:
      return a - b;
    case 3:
      return a * b;
    case 4:
      return DimExpr::FloorDiv(a, 1 + pick(6));
    case 5:
      return DimExpr::Mod(a, 1 + pick(6));
    case 6:
      return DimExpr::Min(a, b);
    case 7:
      return DimExpr::Max(a, b);
    default:
      return a * pick(7);
  }
}

}  // namespace tailor
