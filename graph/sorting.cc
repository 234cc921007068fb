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

// The items to sort, and their order: elements along the last axis of any tensor, rows of a matrix, ascending, or
// elements packed with their indices.
enum class Order { kAscending, kDescending, kRows, kPacked };

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

// The loop's carried values: the algorithm's variables p, q, r and d, two invariants, the sorted items and, unless they
// are packed, their indices.
struct Exchange {
  enum Carried : size_t { kP, kQ, kR, kD, kTop, kCount, kKeys, kIndices };
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
  const Value d = loop.carried(Exchange::kD), count = loop.carried(Exchange::kCount),
              keys = loop.carried(Exchange::kKeys);
  const Shape& shape = graph.type(order == Order::kPacked ? keys : loop.carried(Exchange::kIndices)).shape;
  const int64_t axis = static_cast<int64_t>(shape.size()) - 1;
  const DType dtype = graph.type(count).dtype;
  const DType wide = dtype == DType::kI32 ? DType::kU32 : DType::kU64;  // unsigned: negative indices exceed the count
  Value i = Positions(f, shape.back(), dtype);
  Value low = f.Apply(OpKind::kEq, {And(f, i, loop.carried(Exchange::kP)), loop.carried(Exchange::kR)});
  Value partner = f.Apply(OpKind::kAdd, {i, Select(f, low, d, f.Apply(OpKind::kNeg, {d}))});
  Value inside = f.Apply(OpKind::kLt, {Cast(f, partner, wide), Cast(f, count, wide)});
  partner = Select(f, inside, partner, i);
  Value other = f.Apply(OpKind::kGather, {keys, partner}, {{"axis", axis}});
  std::vector<Value> next = NextPass(f, loop);
  next.push_back(loop.carried(Exchange::kTop));
  next.push_back(count);
  if (order == Order::kPacked) {
    next.push_back(Select(f, low, f.Apply(OpKind::kMin, {other, keys}), f.Apply(OpKind::kMax, {other, keys})));
  } else {
    const Value indices = loop.carried(Exchange::kIndices);
    Value other_index = f.Apply(OpKind::kGather, {indices, partner}, {{"axis", axis}});
    auto [other_first, this_first] = Compare(f, graph, order, other, keys);
    Value earlier = f.Apply(OpKind::kLt, {other_index, indices});
    other_first = Or(f, other_first, And(f, f.Apply(OpKind::kNot, {this_first}), earlier));
    Value take = f.Apply(OpKind::kEq, {other_first, low});
    Value take_key = take;
    if (order == Order::kRows) take_key = f.Apply(OpKind::kReshape, {take}, {{"shape", Shape{shape[0], 1}}});
    next.push_back(Select(f, take_key, other, keys));
    next.push_back(Select(f, take, other_index, indices));
  }
  TAILOR_RETURN_IF_ERROR(f.Finish(next.back()).status());
  return next;
}

// Sorts `keys` of `count` items along their last axis, or their rows, and the indices with them. Returns the loop's
// results.
absl::StatusOr<std::vector<Value>> MergeExchange(Graph& graph, Order order, const DimExpr& count, DType dtype,
                                                 Value keys, std::optional<Value> indices) {
  TAILOR_ASSIGN_OR_RETURN(const Value count_value, AppendDimSize(graph, count, dtype));
  Formula f(&graph);
  Value top = LargestPowerBelow(f, count_value, dtype);
  Value zero = f.Scalar(top, 0);
  TAILOR_RETURN_IF_ERROR(f.Finish(zero).status());
  std::vector<Loop::Operand> carried = {
      {"p", top}, {"q", top}, {"r", zero}, {"d", top}, {"top", top}, {"count", count_value}, {"keys", keys}};
  if (indices) carried.push_back({"indices", *indices});
  TAILOR_ASSIGN_OR_RETURN(Loop loop, Loop::Create(&graph, std::move(carried), {}));
  Formula condition(&loop.condition());
  const Value p = loop.carried(Exchange::kP);
  Value go_on = condition.Apply(OpKind::kGt, {p, condition.Scalar(p, 0)});
  TAILOR_RETURN_IF_ERROR(condition.Finish(go_on).status());
  TAILOR_ASSIGN_OR_RETURN(std::vector<Value> next, Pass(loop, order));
  return std::move(loop).Finish(go_on, std::move(next));
}

// An element and its index in one i64 that sorts like both: the key above, the index below. Requires keys of up to 32
// bits and indices from 0 to 2^31 - 1.
Value Packed(Formula& f, const Graph& graph, Value keys, Value indices, bool descending) {
  Value key = Cast(f, AppendOrderedKeys(f, graph, keys, !descending), DType::kI64);
  Value high = Sub(f, key, f.Scalar(key, 0x1p31));
  return Or(f, f.Apply(OpKind::kShiftLeft, {high, f.Scalar(high, 32)}), Cast(f, indices, DType::kI64));
}

// The indices that sort `keys` along their last axis, or rows of keys [N, M]: of shape `shape`, and of type IndexType
// or that of `given`. `given`: the indices of the keys; absent: their positions.
absl::StatusOr<Value> SortedIndices(Graph& graph, Value keys, const Shape& shape, Order order,
                                    std::optional<Value> given = std::nullopt) {
  const DType dtype = given ? graph.type(*given).dtype : IndexType(graph, shape.back());
  Formula f(&graph);
  Value indices = given ? *given : f.Apply(OpKind::kBroadcast, {Positions(f, shape.back(), dtype)}, {{"shape", shape}});
  TAILOR_RETURN_IF_ERROR(f.Finish(indices).status());
  const bool packs = order != Order::kRows && dtype == DType::kI32 && SizeOf(graph.type(keys).dtype) <= 4;
  if (!packs) {
    TAILOR_ASSIGN_OR_RETURN(const std::vector<Value> results,
                            MergeExchange(graph, order, shape.back(), dtype, keys, indices));
    return results[Exchange::kIndices];
  }
  Value packed = Packed(f, graph, keys, indices, order == Order::kDescending);
  TAILOR_RETURN_IF_ERROR(f.Finish(packed).status());
  TAILOR_ASSIGN_OR_RETURN(const std::vector<Value> results,
                          MergeExchange(graph, Order::kPacked, shape.back(), dtype, packed, std::nullopt));
  return f.Finish(Cast(f, And(f, results[Exchange::kKeys], f.Scalar(packed, 0x1p32 - 1)), dtype));
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

// The elements of x that `order` names along the last axis, and `order`, with dims `axis` and last swapped.
absl::StatusOr<Sorted> ElementsOf(Graph& graph, Value x, Value order, int64_t axis) {
  Sorted sorted;
  TAILOR_ASSIGN_OR_RETURN(sorted.values, AppendPicked(graph, x, order));
  Formula f(&graph);
  if (graph.type(order).dtype != DType::kI64) order = Cast(f, order, DType::kI64);
  TAILOR_ASSIGN_OR_RETURN(sorted.indices, f.Finish(order));
  TAILOR_ASSIGN_OR_RETURN(sorted.values, Swapped(graph, sorted.values, axis));
  TAILOR_ASSIGN_OR_RETURN(sorted.indices, Swapped(graph, sorted.indices, axis));
  return sorted;
}

}  // namespace

absl::StatusOr<Sorted> Sort(Graph& graph, Value x, int64_t axis, bool descending) {
  TAILOR_ASSIGN_OR_RETURN(axis, ResolveAxis(graph, "sort", x, axis));
  TAILOR_ASSIGN_OR_RETURN(Value keys, Swapped(graph, x, axis));
  TAILOR_ASSIGN_OR_RETURN(Value order, SortedIndices(graph, keys, graph.type(keys).shape,
                                                     descending ? Order::kDescending : Order::kAscending));
  return ElementsOf(graph, keys, order, axis);
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
  const bool few = k.constant() && *k.constant() <= kMostSelected;
  if (missing == 0 && !few) return Sort(graph, x, axis, largest);
  TAILOR_ASSIGN_OR_RETURN(Value keys, Swapped(graph, x, axis));
  if (few) {
    TAILOR_ASSIGN_OR_RETURN(Value order, SelectFirst(graph, keys, *k.constant(), largest));
    return ElementsOf(graph, keys, order, axis);
  }
  TAILOR_ASSIGN_OR_RETURN(Value chosen, SelectByThreshold(graph, keys, k, largest));
  TAILOR_ASSIGN_OR_RETURN(Value candidates, AppendPicked(graph, keys, chosen));
  TAILOR_ASSIGN_OR_RETURN(Value order, SortedIndices(graph, candidates, graph.type(candidates).shape,
                                                     largest ? Order::kDescending : Order::kAscending, chosen));
  return ElementsOf(graph, keys, order, axis);
}

absl::StatusOr<Value> ArgsortRows(Graph& graph, Value x) {
  TAILOR_RETURN_IF_ERROR(CheckValue(graph, "argsort_rows", "x", x));
  const Shape shape = graph.type(x).shape;
  if (shape.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("argsort_rows: operand \"x\" (", graph.NameOf(x), ") has type ",
                                                   graph.TypeText(graph.type(x)), ", needs rank 2"));
  }
  TAILOR_ASSIGN_OR_RETURN(Value order, SortedIndices(graph, x, {shape[0]}, Order::kRows));
  Formula f(&graph);
  return f.Finish(graph.type(order).dtype == DType::kI64 ? order : Cast(f, order, DType::kI64));
}

}  // namespace tailor
