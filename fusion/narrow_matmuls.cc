#include "fusion/narrow_matmuls.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "fusion/graph_rebuild.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

constexpr int64_t kLeastDepth = 16, kMostDepth = 8192;  // of a matrix times a vector
// Of an outer product. The rows of the rhs stay in the first-level cache.
constexpr int64_t kMostTerms = 8, kMostElements = 8192, kUnknownTerms = 2, kLeastColumns = 16;

// Appends the replacement of one dot.
class Narrowed {
 public:
  explicit Narrowed(const NodeRewrite& r)
      : r_(r),
        type_(r.node().results[0]),
        transposed_lhs_(r.node().i64("transpose_lhs") != 0),
        transposed_rhs_(r.node().i64("transpose_rhs") != 0) {}

  // reduce_sum(lhs * rhs), the vector along the lhs's K.
  absl::StatusOr<Value> ByReduction() {
    TAILOR_ASSIGN_OR_RETURN(Value lhs, Widened(r_.operands[0]));
    TAILOR_ASSIGN_OR_RETURN(Value rhs, Widened(r_.operands[1]));
    if (transposed_lhs_ == transposed_rhs_) {
      TAILOR_ASSIGN_OR_RETURN(rhs, Turned(rhs));
    }
    TAILOR_ASSIGN_OR_RETURN(Value products, Append(OpKind::kMul, {lhs, rhs}));
    const auto rank = static_cast<int64_t>(r_.to.type(products).shape.size());
    const std::vector<int64_t> depth = {rank - (transposed_lhs_ ? 2 : 1)};
    TAILOR_ASSIGN_OR_RETURN(Value sums, Append(OpKind::kReduceSum, {products},
                                               {{"axes", depth}, {"keep_dims", int64_t{!transposed_lhs_}}}));
    if (transposed_lhs_) {
      TAILOR_ASSIGN_OR_RETURN(sums, Append(OpKind::kReshape, {sums}, {{"shape", type_.shape}}));
    }
    return Named(sums);
  }

  // The sum of `terms` products of a column and a row.
  absl::StatusOr<Value> ByTerms(int64_t terms) {
    TAILOR_ASSIGN_OR_RETURN(Value lhs, Widened(r_.operands[0]));
    TAILOR_ASSIGN_OR_RETURN(Value rhs, Widened(r_.operands[1]));
    Value sum;
    for (int64_t k = 0; k < terms; ++k) {
      TAILOR_ASSIGN_OR_RETURN(Value column, At(lhs, k, transposed_lhs_ ? 2 : 1, transposed_lhs_));
      TAILOR_ASSIGN_OR_RETURN(Value row, At(rhs, k, transposed_rhs_ ? 1 : 2, transposed_rhs_));
      TAILOR_ASSIGN_OR_RETURN(Value term, Append(OpKind::kMul, {column, row}));
      if (k == 0) {
        sum = term;
      } else {
        TAILOR_ASSIGN_OR_RETURN(sum, Append(OpKind::kAdd, {sum, term}));
      }
    }
    return Named(sum);
  }

 private:
  absl::StatusOr<Value> Append(OpKind op, absl::Span<const Value> operands, Attributes attributes = {}) {
    TAILOR_ASSIGN_OR_RETURN(NodeId id, r_.to.Append(op, operands, std::move(attributes)));
    return Value{id, 0};
  }
  absl::StatusOr<Value> Cast(Value x, DType dtype) {
    if (r_.to.type(x).dtype == dtype) return x;
    return Append(OpKind::kCast, {x}, {{"dtype", dtype}});
  }
  bool IsNarrow() const { return type_.dtype == DType::kF16 || type_.dtype == DType::kBF16; }
  absl::StatusOr<Value> Widened(Value x) { return Cast(x, IsNarrow() ? DType::kF32 : type_.dtype); }
  // The result, under the name of the dot.
  absl::StatusOr<Value> Named(Value x) {
    TAILOR_ASSIGN_OR_RETURN(Value rounded, Cast(x, type_.dtype));
    r_.to.SetNodeName(rounded.node, r_.node().name);
    return rounded;
  }

  // A vector [..., K, 1] or [..., 1, K] as the other one.
  absl::StatusOr<Value> Turned(Value vector) {
    Shape shape = r_.to.type(vector).shape;
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    return Append(OpKind::kReshape, {vector}, {{"shape", shape}});
  }
  // Element k of the axis that is `from_end` from the end, which stays with size 1; `turned`: the last two dims
  // swapped.
  absl::StatusOr<Value> At(Value x, int64_t k, int64_t from_end, bool turned) {
    Shape shape = r_.to.type(x).shape, starts(shape.size(), 0);
    const size_t axis = shape.size() - from_end;
    shape[axis] = 1;
    starts[axis] = k;
    TAILOR_ASSIGN_OR_RETURN(Value slice, Append(OpKind::kSlice, {x}, {{"starts", starts}, {"sizes", shape}}));
    return turned ? Turned(slice) : absl::StatusOr<Value>(slice);
  }

  const NodeRewrite& r_;
  const TensorType& type_;
  const bool transposed_lhs_, transposed_rhs_;
};

// Whether the lhs is patches of an image: a matmul's staging copies them in runs, loops read element by element.
// Windows over one dim without strides, for one group, are neighbours in memory for loops too.
bool MultipliesPatches(const Graph& graph, const Node& dot) {
  const Node* lhs = &graph.node(dot.operands[0].node);
  while (lhs->op == OpKind::kTranspose || lhs->op == OpKind::kReshape) lhs = &graph.node(lhs->operands[0].node);
  if (lhs->op != OpKind::kWindow) return false;
  const std::vector<int64_t>& strides = lhs->i64s("strides");
  const Shape& rhs = graph.type(dot.operands[1]).shape;
  const bool one_group = std::all_of(rhs.begin(), rhs.end() - 2, [](const DimExpr& dim) { return dim == DimExpr(1); });
  return lhs->i64s("axes").size() != 1 || !one_group || (!strides.empty() && strides[0] != 1);
}

std::optional<int64_t> DepthOf(const Graph& graph, const Node& dot) {
  const Shape& lhs = graph.type(dot.operands[0]).shape;
  return lhs[lhs.size() - (dot.i64("transpose_lhs") != 0 ? 2 : 1)].constant();
}

absl::StatusOr<std::optional<Value>> Narrow(const NodeRewrite& r) {
  const Node& node = r.node();
  if (node.op != OpKind::kDot) return std::nullopt;
  const std::optional<int64_t> columns = node.results[0].shape.back().constant(), depth = DepthOf(r.from, node);
  if (columns == 1 && depth >= kLeastDepth && *depth <= kMostDepth) {
    TAILOR_ASSIGN_OR_RETURN(const Value sums, Narrowed(r).ByReduction());
    return sums;
  }
  if (IsOuterProduct(r.from, r.id)) {
    TAILOR_ASSIGN_OR_RETURN(const Value sum, Narrowed(r).ByTerms(*depth));
    return sum;
  }
  return std::nullopt;
}

}  // namespace

bool IsOuterProduct(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != OpKind::kDot) return false;
  const std::optional<int64_t> columns = node.results[0].shape.back().constant(), depth = DepthOf(graph, node);
  if (!depth || *depth < 1 || *depth > kMostTerms) return false;
  const bool fits = columns ? *columns >= kLeastColumns && *columns * *depth <= kMostElements : *depth <= kUnknownTerms;
  return fits && !MultipliesPatches(graph, node);
}

absl::StatusOr<Graph> NarrowMatmuls(const Graph& graph, const ShapeFacts&) {
  return RebuildGraph(graph, {.rewrite = Narrow});
}

}  // namespace tailor
