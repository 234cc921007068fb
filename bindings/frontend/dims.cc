#include "bindings/frontend/dims.h"

#include <algorithm>
#include <utility>

#include "bindings/frontend/error.h"

namespace tailor::frontend {
namespace {

int64_t Floor(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// `a op b` of numbers, or nullopt on overflow.
template <typename Overflow>
std::optional<Dim> Exact(Overflow overflow, int64_t a, int64_t b) {
  int64_t out;
  if (overflow(a, b, &out)) return std::nullopt;
  return Dim(out);
}

Dim Required(std::optional<Dim> dim) {
  if (!dim) Fail("a dim size leaves 64 bits");
  return *dim;
}

void RequirePositive(const Dim& divisor) {
  if (divisor.known() && divisor.number() <= 0) Fail("a dim size is divided by " + std::to_string(divisor.number()));
}

}  // namespace

Dim Dims::Symbol(const std::string& name, const SymbolRange& range) {
  tailor_symbol_options options;
  tailor_symbol_options_init(&options);
  options.min = range.min;
  options.max = range.max;
  options.multiple_of = range.multiple_of;
  options.likely = range.likely.data();
  options.likely_count = range.likely.size();
  tailor_dim out;
  Check(tailor_graph_symbol(graph_, name.data(), name.size(), &options, &out));
  names_.insert(name);
  dims_.emplace(out, Dim::Symbolic(out));
  return Dim::Symbolic(out);
}

Dim Dims::Fresh(const std::string& stem, int64_t min, int64_t max) {
  std::string name;
  do {
    name = stem + std::to_string(++next_[stem]);
  } while (names_.contains(name));
  return Symbol(name, {min, max, 1, {}});
}

Dim Dims::OfHandle(tailor_dim handle) {
  const auto known = dims_.find(handle);
  if (known != dims_.end()) return known->second;
  const tailor_dim_info info = Describe(Dim::Symbolic(handle));
  const Dim dim = info.kind == TAILOR_DIM_CONSTANT ? Dim(info.constant) : Dim::Symbolic(handle);
  if (info.kind == TAILOR_DIM_SYMBOL) names_.insert(info.name);
  dims_.emplace(handle, dim);
  return dim;
}

tailor_dim Dims::Handle(const Dim& dim) {
  if (!dim.known()) return dim.handle();
  tailor_dim& handle = numbers_[dim.number()];
  if (handle == 0) Check(tailor_graph_dim(graph_, dim.number(), &handle));
  return handle;
}

std::vector<tailor_dim> Dims::Handles(const Shape& shape) {
  std::vector<tailor_dim> handles;
  for (const Dim& dim : shape) handles.push_back(Handle(dim));
  return handles;
}

std::string Dims::Text(const Dim& dim) {
  if (dim.known()) return std::to_string(dim.number());
  const char* text;
  Check(tailor_dim_text(graph_, dim.handle(), &text));
  return text;
}

std::optional<Dim> Dims::TryCombine(Operation operation, const Dim& a, const Dim& b) {
  tailor_dim out;
  tailor_status* status = operation(graph_, Handle(a), Handle(b), &out);
  if (status == nullptr) return OfHandle(out);
  if (tailor_status_code(status) != TAILOR_RESOURCE_EXHAUSTED) Check(status);
  tailor_status_release(status);
  return std::nullopt;
}

Dim Dims::Combine(Operation operation, const Dim& a, const Dim& b) {
  if (auto dim = TryCombine(operation, a, b)) return *dim;
  const bool first = Text(a).size() >= Text(b).size();
  const Dim& longest = first ? a : b;
  if (longest.known() || !NonNegative(longest)) Unsupported("a dim size has more than 1024 terms");
  const Dim symbol = bind_(longest);
  return first ? Combine(operation, symbol, b) : Combine(operation, a, symbol);
}

Dim Dims::Add(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) {
    return Required(Exact([](auto... x) { return __builtin_add_overflow(x...); }, a.number(), b.number()));
  }
  return Combine(tailor_dim_add, a, b);
}

std::optional<Dim> Dims::TryAdd(const Dim& a, const Dim& b) {
  return a.known() && b.known() ? Add(a, b) : TryCombine(tailor_dim_add, a, b);
}

Dim Dims::Sub(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) {
    return Required(Exact([](auto... x) { return __builtin_sub_overflow(x...); }, a.number(), b.number()));
  }
  return Combine(tailor_dim_sub, a, b);
}

Dim Dims::Mul(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) {
    return Required(Exact([](auto... x) { return __builtin_mul_overflow(x...); }, a.number(), b.number()));
  }
  return Combine(tailor_dim_mul, a, b);
}

Dim Dims::FloorDiv(const Dim& a, const Dim& b) {
  RequirePositive(b);
  if (a.known() && b.known()) return Floor(a.number(), b.number());
  return Combine(tailor_dim_floordiv, a, b);
}

Dim Dims::Mod(const Dim& a, const Dim& b) {
  RequirePositive(b);
  if (a.known() && b.known()) {
    const int64_t rest = a.number() % b.number();
    return rest < 0 ? rest + b.number() : rest;
  }
  return Combine(tailor_dim_mod, a, b);
}

Dim Dims::Min(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return std::min(a.number(), b.number());
  if (IsAtMost(a, b) == true) return a;
  return IsAtMost(b, a) == true ? b : Combine(tailor_dim_min, a, b);
}

Dim Dims::Max(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return std::max(a.number(), b.number());
  if (IsAtMost(a, b) == true) return b;
  return IsAtMost(b, a) == true ? a : Combine(tailor_dim_max, a, b);
}

Dim Dims::CeilDiv(const Dim& a, int64_t b) { return FloorDiv(Add(a, b - 1), b); }

Dim Dims::Product(const Shape& dims) {
  Dim out = 1;
  for (const Dim& dim : dims) out = Mul(out, dim);
  return out;
}

std::optional<Dim> Dims::Quotient(const Dim& a, const Dim& b) {
  if (b.is(0) || !NonNegative(b)) return std::nullopt;
  if (b.known()) return FloorDiv(a, b);
  const Dim down = FloorDiv(a, b);
  return Mul(down, b) == a ? down : FloorDiv(a, Max(b, 1));
}

std::optional<Dim> Dims::Remainder(const Dim& a, const Dim& b) {
  const std::optional<Dim> down = Quotient(a, b);
  if (!down) return std::nullopt;
  return Mul(*down, b) == a ? Dim(0) : Mod(a, Max(b, 1));
}

std::optional<Dim> Dims::TruncDiv(const Dim& a, const Dim& b) {
  const std::optional<Dim> down = Quotient(a, b);
  if (!down || NonNegative(a)) return down;
  const std::optional<Dim> up = Quotient(Add(a, Sub(b, 1)), b);
  return Add(Max(*down, 0), Min(*up, 0));
}

std::optional<Dim> Dims::TruncMod(const Dim& a, const Dim& b) {
  if (NonNegative(a)) return Remainder(a, b);
  const std::optional<Dim> quotient = TruncDiv(a, b);
  if (!quotient) return std::nullopt;
  return Sub(a, Mul(*quotient, b));
}

Dim Dims::Less(const Dim& a, const Dim& b) {
  if (const auto known = IsLess(a, b)) return *known ? 1 : 0;
  return Clamped(Sub(b, a));
}

Dim Dims::Equal(const Dim& a, const Dim& b) {
  if (const auto known = IsEqual(a, b)) return *known ? 1 : 0;
  return Sub(1, Clamped(Max(Sub(a, b), Sub(b, a))));
}

Dim Dims::Select(const Dim& condition, const Dim& a, const Dim& b) {
  if (condition.known()) return condition.number() != 0 ? a : b;
  const Dim out = Add(b, Mul(condition, Sub(a, b)));
  const auto placeholder = [](const Dim& dim) { return dim.is(0) || dim.is(-1); };
  if (!out.known() && (placeholder(a) || placeholder(b))) placeholders_.insert(out.handle());
  return out;
}

DimRange Dims::Range(const Dim& dim) {
  if (dim.known()) return {dim.number(), dim.number()};
  DimRange range;
  Check(tailor_dim_range(graph_, dim.handle(), &range.min, &range.max));
  return range;
}

std::optional<bool> Dims::Compare(const Dim& a, const Dim& b, int32_t relation) {
  int32_t result;
  Check(tailor_dim_compare(graph_, Handle(a), Handle(b), relation, &result));
  if (result < 0) return std::nullopt;
  return result == 1;
}

std::optional<bool> Dims::IsEqual(const Dim& a, const Dim& b) {
  if (a == b) return true;
  if (a.known() && b.known()) return false;
  return Compare(a, b, TAILOR_DIM_EQUAL);
}

std::optional<bool> Dims::IsLess(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return a.number() < b.number();
  return Compare(a, b, TAILOR_DIM_LESS);
}

std::optional<bool> Dims::IsAtMost(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return a.number() <= b.number();
  return Compare(a, b, TAILOR_DIM_AT_MOST);
}

void Dims::AssumeEqual(const Dim& a, const Dim& b) {
  if (a.known() && b.known() && a.number() != b.number()) {
    Fail("dim sizes " + Text(a) + " and " + Text(b) + " have to be equal");
  }
  Check(tailor_graph_assume_equal(graph_, Handle(a), Handle(b)));
}

void Dims::AssumeAtLeast(const Dim& a, const Dim& b, const std::string& what) {
  Check(tailor_graph_assume_at_least(graph_, Handle(a), Handle(b), what.data(), what.size()));
}

tailor_dim_info Dims::Describe(const Dim& dim) {
  tailor_dim_info info;
  tailor_dim_info_init(&info);
  Check(tailor_dim_describe(graph_, Handle(dim), &info));
  return info;
}

std::vector<Dim> Dims::Symbols(const Dim& dim) {
  if (dim.known()) return {};
  size_t count;
  Check(tailor_dim_symbols(graph_, dim.handle(), nullptr, 0, &count));
  std::vector<tailor_dim> handles(count);
  Check(tailor_dim_symbols(graph_, dim.handle(), handles.data(), count, &count));
  std::vector<Dim> symbols;
  for (tailor_dim handle : handles) symbols.push_back(OfHandle(handle));
  return symbols;
}

Dim Dims::Rewritten(const Dim& dim, Dims& into, const std::vector<Dim>& symbols, const std::vector<Dim>& replacements) {
  if (dim.known()) return dim;
  const std::vector<tailor_dim> from = Handles(symbols), to = into.Handles(replacements);
  tailor_dim out;
  Check(tailor_dim_rewrite(graph_, dim.handle(), into.graph(), from.data(), to.data(), from.size(), &out));
  return into.OfHandle(out);
}

}  // namespace tailor::frontend
