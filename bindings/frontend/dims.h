// Arithmetic and facts on the dims of one graph, while it is built.
//
// Every result is a number where it provably is one. A question that only a run answers gives nullopt.
#ifndef TAILOR_BINDINGS_FRONTEND_DIMS_H_
#define TAILOR_BINDINGS_FRONTEND_DIMS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/frontend/dim.h"

namespace tailor::frontend {

inline constexpr int64_t kLargestDim = INT32_MAX;

struct DimRange {
  int64_t min, max;  // INT64_MIN, INT64_MAX: no bound
};

struct SymbolRange {
  int64_t min = 0, max = kLargestDim, multiple_of = 1;
  std::vector<int64_t> likely;
};

class Dims {
 public:
  // `bind` computes a dim when the graph runs and returns a new symbol with its value. It replaces expressions that are
  // too long for a dim.
  Dims(tailor_graph* graph, std::function<Dim(Dim)> bind) : graph_(graph), bind_(std::move(bind)) {}
  Dims(const Dims&) = delete;

  Dim Symbol(const std::string& name, const SymbolRange& range = {});
  // A new symbol whose name is `stem` and a number.
  Dim Fresh(const std::string& stem, int64_t min = 0, int64_t max = kLargestDim);
  Dim OfHandle(tailor_dim handle);
  tailor_dim Handle(const Dim& dim);
  std::vector<tailor_dim> Handles(const Shape& shape);
  std::string Text(const Dim& dim);

  // floordiv and mod round towards minus infinity; a divisor is > 0.
  Dim Add(const Dim& a, const Dim& b);
  Dim Sub(const Dim& a, const Dim& b);
  std::optional<Dim> TryAdd(const Dim& a, const Dim& b);  // nullopt if the sum is too long for a dim
  Dim Mul(const Dim& a, const Dim& b);
  Dim FloorDiv(const Dim& a, const Dim& b);
  Dim Mod(const Dim& a, const Dim& b);
  Dim Min(const Dim& a, const Dim& b);
  Dim Max(const Dim& a, const Dim& b);
  Dim CeilDiv(const Dim& a, int64_t b);  // b > 0
  Dim Product(const Shape& dims);

  // Rounded towards 0, and its remainder, which has the sign of `a`. nullopt if b may be negative. Division by 0, which
  // exporters leave undefined, divides by 1.
  std::optional<Dim> TruncDiv(const Dim& a, const Dim& b);
  std::optional<Dim> TruncMod(const Dim& a, const Dim& b);
  // floordiv and its remainder, under the same conditions.
  std::optional<Dim> Quotient(const Dim& a, const Dim& b);
  std::optional<Dim> Remainder(const Dim& a, const Dim& b);
  Dim Less(const Dim& a, const Dim& b);   // 1 if a < b, else 0
  Dim Equal(const Dim& a, const Dim& b);  // 1 if a == b, else 0
  // `a` where `condition` is 1, `b` where it is 0.
  Dim Select(const Dim& condition, const Dim& a, const Dim& b);
  // Whether `dim` is a selection between a dim and 0 or -1. A reshape target may be one: 0 copies, -1 infers.
  bool MayBePlaceholder(const Dim& dim) const { return !dim.known() && placeholders_.contains(dim.handle()); }

  DimRange Range(const Dim& dim);
  bool NonNegative(const Dim& dim) { return Range(dim).min >= 0; }
  std::optional<bool> IsEqual(const Dim& a, const Dim& b);
  std::optional<bool> IsLess(const Dim& a, const Dim& b);
  std::optional<bool> IsAtMost(const Dim& a, const Dim& b);

  void AssumeEqual(const Dim& a, const Dim& b);
  void AssumeAtLeast(const Dim& a, const Dim& b, const std::string& what);

  // The outermost operation of a symbolic dim. Its name string is valid until the next call.
  tailor_dim_info Describe(const Dim& dim);
  std::vector<Dim> Symbols(const Dim& dim);
  // A dim of this graph as one of `into`'s, whose symbols[i] becomes replacements[i].
  Dim Rewritten(const Dim& dim, Dims& into, const std::vector<Dim>& symbols, const std::vector<Dim>& replacements);

  tailor_graph* graph() const { return graph_; }

 private:
  using Operation = tailor_status* (*)(tailor_graph*, tailor_dim, tailor_dim, tailor_dim*);
  Dim Combine(Operation operation, const Dim& a, const Dim& b);
  std::optional<Dim> TryCombine(Operation operation, const Dim& a, const Dim& b);
  std::optional<bool> Compare(const Dim& a, const Dim& b, int32_t relation);
  Dim Clamped(const Dim& dim) { return Min(Max(dim, 0), 1); }

  tailor_graph* graph_;
  std::function<Dim(Dim)> bind_;
  std::set<std::string> names_;
  std::map<std::string, int> next_;  // number of the next fresh name, by stem
  std::unordered_map<int64_t, tailor_dim> numbers_;
  std::unordered_map<tailor_dim, Dim> dims_;  // dims that the graph gave, as numbers where they are
  std::set<tailor_dim> placeholders_;
};

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_DIMS_H_
