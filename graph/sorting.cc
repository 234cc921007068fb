#include "graph/sorting.h"

#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builders.h"
#include "graph/formula_ops.h"
#include "graph/loop.h"
#include "graph/ordering.h"
#include "graph/selection.h"
#include "graph/status_macros.h"
#include "graph/threshold.h"

namespace tailor {
namespace {

// The items to sort, and their order: elements along the last axis of any tensor, or rows of a matrix, ascending.
enum class Order { kAscending, kDescending, kRows };

Value Sub(Formula& f, Value a, Value b) { return f.Apply(OpKind::kSub, {a, b}); }
Value ShiftRight(Formula& f, Value x, double bits) { return f.Apply(OpKind::kShiftRight, {x, f.Scalar(x, bits)}); }

struct Comparison {
  Value a_first, b_first;  // both false for equal items
};

// Rows compare by their first differing column c: the minimum over the columns of 2 c where a is less and of 2 c + 1
// where b is less.
Comparison CompareRows(Formula& f, const Graph& graph, Value a, Value b) {
  Value less = AppendLess(f, graph, a, b), greater = AppendLess(f, graph, b, a);
  if (!f.ok()) return {};
  Value column = Positions(f, graph.type(a).shape[1], DType::kI64);
  Value even = f.Apply(OpKind::kAdd, {column, column});
  Value one = f.Scalar(even, 1), none = f.Scalar(even, static_cast<double>(std::numeric_limits<int64_t>::max()));
  Value code = Select(f, less, even, Select(f, greater, f.Apply(OpKind::kAdd, {even, one}), none));
  Value first = f.Apply(OpKind::kReduceMin, {code}, {{"axes", std::vector<int64_t>{1}}});
  Value odd = f.Apply(OpKind::kEq, {And(f, first, one), one});
  return {f.Apply(OpKind::kNot, {odd}), And(f, odd, f.Apply(OpKind::kLt, {first, none}))};
}

Comparison Compare(Formula& f, const Graph& graph, Order order, Value a, Value b) {
  if (order == Order::kRows) return CompareRows(f, graph, a, b);
  if (order == Order::kDescending) std::swap(a, b);
  return {AppendLess(f, graph, a, b), AppendLess(f, graph, b, a)};
}

// The largest power of two below `count`, or 0: the highest set bit of count - 1, isolated after spreading it to all
// lower bits.
Value LargestPowerBelow(Formula& f, Value count, DType dtype) {
  Value bits = f.Apply(OpKind::kMax, {Sub(f, count, f.Scalar(count, 1)), f.Scalar(count, 0)});
  for (int shift = 1; shift < 8 * SizeOf(dtype); shift *= 2) bits = Or(f, bits, ShiftRight(f, bits, shift));
  return Sub(f, bits, ShiftRight(f, bits, 1));
}

// The loop's carried values: the algorithm's variables p, q, r and d, the sorted items, and two invariants.
struct Exchange {
  enum Carried : size_t { kP, kQ, kR, kD, kKeys, kIndices, kTop, kCount };
};

// The algorithm's variables for the next pass.
std::vector<Value> NextPass(Formula& f, const Loop& loop) {
  const Value p = loop.carried(Exchange::kP), q = loop.carried(Exchange::kQ), top = loop.carried(Exchange::kTop);
  Value last = f.Apply(OpKind::kEq, {q, p});  // last q of this p
  Value half = ShiftRight(f, p, 1);
  return {Select(f, last, half, p), Select(f, last, top, ShiftRight(f, q, 1)), Select(f, last, f.Scalar(p, 0), p),
          Select(f, last, half, Sub(f, q, p))};
}

// One pass: element i, where (i & p) == r, and element i + d change places unless they are in order. As d is an odd
// multiple of p, every other element is such an i + d. An element without a partner is compared with itself.
absl::StatusOr<std::vector<Value>> Pass(Loop& loop, Order order) {
  Graph& graph = loop.body();
  Formula f(&graph);
  const Value d = loop.carried(Exchange::kD), keys = loop.carried(Exchange::kKeys),
              indices = loop.carried(Exchange::kIndices);
  const TensorType type = graph.type(indices);
  const Shape& shape = type.shape;
  const int64_t axis = static_cast<int64_t>(shape.size()) - 1;
  const DType wide = type.dtype == DType::kI32 ? DType::kU32 : DType::kU64;  // unsigned: negative indices exceed the
                                                                             // count
  Value i = Positions(f, shape.back(), type.dtype);
  Value low = f.Apply(OpKind::kEq, {And(f, i, loop.carried(Exchange::kP)), loop.carried(Exchange::kR)});
  Value partner = f.Apply(OpKind::kAdd, {i, Select(f, low, d, f.Apply(OpKind::kNeg, {d}))});
  Value inside = f.Apply(OpKind::kLt, {Cast(f, partner, wide), Cast(f, loop.carried(Exchange::kCount), wide)});
  partner = Select(f, inside, partner, i);
  Value other = f.Apply(OpKind::kGather, {keys, partner}, {{"axis", axis}});
  Value other_index = f.Apply(OpKind::kGather, {indices, partner}, {{"axis", axis}});
  auto [other_first, this_first] = Compare(f, graph, order, other, keys);
  Value earlier = f.Apply(OpKind::kLt, {other_index, indices});
  other_first = Or(f, other_first, And(f, f.Apply(OpKind::kNot, {this_first}), earlier));
  Value take = f.Apply(OpKind::kEq, {other_first, low});
  Value take_key = take;
  if (order == Order::kRows) take_key = f.Apply(OpKind::kReshape, {take}, {{"shape", Shape{shape[0], 1}}});
  std::vector<Value> next = NextPass(f, loop);
  next.push_back(Select(f, take_key, other, keys));
  next.push_back(Select(f, take, other_index, indices));
  TAILOR_RETURN_IF_ERROR(f.Finish(next.back()).status());
  return next;
}

// Sorts `keys`; `shape` is that of the indices, sorted along its last axis. `indices`: those of the keys, of type
// IndexType; absent: their positions.
absl::StatusOr<Sorted> MergeExchange(Graph& graph, Value keys, const Shape& shape, Order order,
                                     std::optional<Value> given = std::nullopt) {
  const DType dtype = IndexType(graph, shape.back());
  TAILOR_ASSIGN_OR_RETURN(Value dim_size, DimSizeValue(graph, shape.back()));
  Formula f(&graph);
  Value count = dtype == DType::kI64 ? dim_size : Cast(f, dim_size, dtype);
  Value top = LargestPowerBelow(f, count, dtype);
  Value indices = given ? Cast(f, *given, dtype)
                        : f.Apply(OpKind::kBroadcast, {Positions(f, shape.back(), dtype)}, {{"shape", shape}});
  Value zero = f.Scalar(top, 0);
  TAILOR_RETURN_IF_ERROR(f.Finish(zero).status());
  TAILOR_ASSIGN_OR_RETURN(Loop loop, Loop::Create(&graph,
                                                  {{"p", top},
                                                   {"q", top},
                                                   {"r", zero},
                                                   {"d", top},
                                                   {"keys", keys},
                                                   {"indices", indices},
                                                   {"top", top},
                                                   {"count", count}},
                                                  {}));
  Formula condition(&loop.condition());
  const Value p = loop.carried(Exchange::kP);
  Value go_on = condition.Apply(OpKind::kGt, {p, condition.Scalar(p, 0)});
  TAILOR_RETURN_IF_ERROR(condition.Finish(go_on).status());
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> next, Pass(loop, order));
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> results, std::move(loop).Finish(go_on, std::move(next)));
  Value order_of = results[Exchange::kIndices];
  if (dtype != DType::kI64) order_of = Cast(f, order_of, DType::kI64);
  TAILOR_RETURN_IF_ERROR(f.Finish(order_of).status());
  return Sorted{results[Exchange::kKeys], order_of};
}

absl::StatusOr<int64_t> ResolveAxis(const Graph& graph, absl::string_view builder, Value x, int64_t axis) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, builder, "x", x));
  const int64_t rank = graph.type(x).rank();
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return absl::InvalidArgumentError(absl::StrCat(builder, ": axis ", axis, " is out of range for operand \"x\" (",
                                                 graph.NameOf(x), ") of type ", graph.TypeText(graph.type(x))));
}

// x with dims `axis` and last swapped.
absl::StatusOr<Value> Swapped(Graph& graph, Value x, int64_t axis) {
  std::vector<int64_t> order(graph.type(x).shape.size());
  std::iota(order.begin(), order.end(), 0);
  if (axis + 1 == static_cast<int64_t>(order.size())) return x;
  std::swap(order[axis], order.back());
  Formula f(&graph);
  return f.Finish(f.Apply(OpKind::kTranspose, {x}, {{"permutation", order}}));
}

// x[..., indices[..., i]] of x [..., N].
absl::StatusOr<Value> Picked(Graph& graph, Value x, Value indices) {
  const Shape shape = graph.type(x).shape, out = graph.type(indices).shape;
  DimExpr rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d) rows = rows * shape[d];
  TAILOR_ASSIGN_OR_RETURN(Value count, DimSizeValue(graph, shape.back()));
  Formula f(&graph);
  Value first = f.Apply(OpKind::kMul, {Reshaped(f, Positions(f, rows), {rows, 1}), count});
  Value within = Cast(f, Reshaped(f, indices, {rows, out.back()}), DType::kI64);
  Value flat = f.Apply(OpKind::kGather, {Reshaped(f, x, {rows * shape.back()}), f.Apply(OpKind::kAdd, {first, within})},
                       {{"axis", int64_t{0}}});
  return f.Finish(Reshaped(f, flat, out));
}

}  // namespace

absl::StatusOr<Sorted> Sort(Graph& graph, Value x, int64_t axis, bool descending) {
  TAILOR_ASSIGN_OR_RETURN(axis, ResolveAxis(graph, "sort", x, axis));
  TAILOR_ASSIGN_OR_RETURN(Value keys, Swapped(graph, x, axis));
  const Shape shape = graph.type(keys).shape;
  TAILOR_ASSIGN_OR_RETURN(Sorted sorted,
                          MergeExchange(graph, keys, shape, descending ? Order::kDescending : Order::kAscending));
  TAILOR_ASSIGN_OR_RETURN(sorted.values, Swapped(graph, sorted.values, axis));
  TAILOR_ASSIGN_OR_RETURN(sorted.indices, Swapped(graph, sorted.indices, axis));
  return sorted;
}

absl::StatusOr<Sorted> TopK(Graph& graph, Value x, const DimExpr& k, int64_t axis, bool largest) {
  TAILOR_ASSIGN_OR_RETURN(axis, ResolveAxis(graph, "top_k", x, axis));
  Shape sizes = graph.type(x).shape;
  const std::optional<int64_t> missing = (k - sizes[axis]).constant();
  if (missing && *missing > 0) {
    return absl::InvalidArgumentError(absl::StrCat("top_k: k is ", graph.DimText(k), ", but axis ", axis,
                                                   " of operand \"x\" (", graph.NameOf(x), ") has size ",
                                                   graph.DimText(sizes[axis])));
  }
  if (k.constant() && *k.constant() <= kMostSelected) {
    TAILOR_ASSIGN_OR_RETURN(Value keys, Swapped(graph, x, axis));
    TAILOR_ASSIGN_OR_RETURN(Sorted first, SelectFirst(graph, keys, *k.constant(), largest));
    TAILOR_ASSIGN_OR_RETURN(first.values, Swapped(graph, first.values, axis));
    TAILOR_ASSIGN_OR_RETURN(first.indices, Swapped(graph, first.indices, axis));
    return first;
  }
  if (missing == 0) return Sort(graph, x, axis, largest);
  TAILOR_ASSIGN_OR_RETURN(Value keys, Swapped(graph, x, axis));
  TAILOR_ASSIGN_OR_RETURN(Value chosen, SelectByThreshold(graph, keys, k, largest));
  TAILOR_ASSIGN_OR_RETURN(keys, Picked(graph, keys, chosen));
  TAILOR_ASSIGN_OR_RETURN(Sorted sorted, MergeExchange(graph, keys, graph.type(keys).shape,
                                                       largest ? Order::kDescending : Order::kAscending, chosen));
  TAILOR_ASSIGN_OR_RETURN(sorted.values, Swapped(graph, sorted.values, axis));
  TAILOR_ASSIGN_OR_RETURN(sorted.indices, Swapped(graph, sorted.indices, axis));
  return sorted;
}

absl::StatusOr<Value> ArgsortRows(Graph& graph, Value x) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "argsort_rows", "x", x));
  const Shape shape = graph.type(x).shape;
  if (shape.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("argsort_rows: operand \"x\" (", graph.NameOf(x), ") has type ",
                                                   graph.TypeText(graph.type(x)), ", needs rank 2"));
  }
  TAILOR_ASSIGN_OR_RETURN(Sorted sorted, MergeExchange(graph, x, {shape[0]}, Order::kRows));
  return sorted.indices;
}

}  // namespace tailor
