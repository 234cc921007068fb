#include "fusion/operand_map.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "analysis/reshape_groups.h"
#include "fusion/node_class.h"

namespace tailor {
namespace {

struct Mapper {
  const Graph& graph;
  const ShapeFacts& facts;
  const Node& node;
  const Shape& from;  // of the operand
  const Shape& to;    // of the result
  OperandMap map;

  bool Equal(const DimExpr& a, const DimExpr& b) const { return facts.ProvablyEqual(a, b); }
  bool Unit(const DimExpr& e) const { return ProvablyOne(facts, e); }

  // NumPy broadcasting: dims are aligned at the end.
  void Broadcast() {
    int shift = static_cast<int>(to.size()) - static_cast<int>(from.size());
    for (size_t d = 0; d < from.size(); ++d) {
      const DimExpr& dim_size = to[d + shift];
      if (Unit(from[d])) {
        map.dims.push_back(kUnitDim);
      } else if (Equal(from[d], dim_size)) {
        map.dims.push_back(static_cast<int>(d) + shift);
      } else {
        map.dims.push_back(kOtherDim);
        map.unproved.emplace_back(from[d], dim_size);
        map.replicates = true;
      }
    }
  }

  void Transpose() {
    const std::vector<int64_t>& permutation = node.i64s("permutation");
    map.dims.resize(from.size());
    for (size_t i = 0; i < to.size(); ++i) map.dims[permutation[i]] = static_cast<int>(i);
  }

  // The only dim of [begin, end) that is not provably 1; -1 if there is none or more than one.
  int OnlyDim(const Shape& shape, int begin, int end) const {
    int only = -1;
    for (int d = begin; d < end; ++d) {
      if (Unit(shape[d])) continue;
      if (only >= 0) return -1;
      only = d;
    }
    return only;
  }

  void Reshape() {
    map.dims.assign(from.size(), kOtherDim);
    for (const ReshapeGroup& group : MatchReshape(from, to, facts)) {
      int source = OnlyDim(from, group.from_begin, group.from_end);
      int target = OnlyDim(to, group.to_begin, group.to_end);
      if (source >= 0 && target >= 0 && Equal(from[source], to[target])) map.dims[source] = target;
    }
  }

  void Slice() {
    const Shape &starts = node.dims("starts"), &sizes = node.dims("sizes");
    const std::vector<int64_t>& steps = node.i64s("steps");
    for (size_t d = 0; d < from.size(); ++d) {
      bool whole = starts[d] == DimExpr(0) && (steps.empty() || steps[d] == 1) && Equal(sizes[d], from[d]);
      map.dims.push_back(whole ? static_cast<int>(d) : kOtherDim);
    }
  }

  void Concat() {
    int axis = static_cast<int>(node.i64("axis"));
    if (axis < 0) axis += static_cast<int>(to.size());
    for (int d = 0; d < static_cast<int>(from.size()); ++d) map.dims.push_back(d == axis ? kOtherDim : d);
    map.replicates = true;  // every result element evaluates every operand
  }

  void Pad() {
    if (from.empty() && to.size() != from.size()) return;  // the value: rank 0
    const Shape &low = node.dims("low"), &high = node.dims("high");
    const std::vector<int64_t>& interior = node.i64s("interior");
    for (size_t d = 0; d < from.size(); ++d) {
      bool whole = low[d] == DimExpr(0) && high[d] == DimExpr(0) && interior[d] == 0;
      map.dims.push_back(whole ? static_cast<int>(d) : kOtherDim);
    }
  }

  // Windows that overlap read an element more than once.
  void Window() {
    const std::vector<int64_t>& axes = node.i64s("axes");
    for (int d = 0; d < static_cast<int>(from.size()); ++d) map.dims.push_back(d);
    for (size_t i = 0; i < axes.size(); ++i) {
      std::optional<int64_t> size = facts.Canonical(node.dims("sizes")[i]).constant();
      int64_t stride = node.i64s("strides")[i], dilation = node.i64s("dilations")[i];
      if (!size || *size > INT32_MAX || (*size - 1) * dilation >= stride) map.replicates = true;
      if (size != 1 || stride != 1) map.dims[axes[i]] = kOtherDim;
    }
  }

  void Gather(int operand) {
    int source_rank = graph.type(node.operands[0]).rank();
    int index_rank = graph.type(node.operands[1]).rank();
    int axis = static_cast<int>(node.i64("axis"));
    if (axis < 0) axis += source_rank;
    if (operand == 1) {
      for (int d = 0; d < index_rank; ++d) map.dims.push_back(axis + d);
      return;
    }
    for (int d = 0; d < source_rank; ++d) {
      map.dims.push_back(d < axis ? d : d == axis ? kOtherDim : d - 1 + index_rank);
    }
    map.replicates = true;
  }

  void Reduce() {
    int rank = static_cast<int>(from.size());
    std::vector<bool> reduced(rank, false);
    for (int64_t axis : node.i64s("axes")) reduced[axis < 0 ? axis + rank : axis] = true;
    bool keep = node.i64("keep_dims") != 0;
    int next = 0;
    for (int d = 0; d < rank; ++d) {
      map.dims.push_back(reduced[d] ? kReducedDim : next);
      if (!reduced[d] || keep) ++next;
    }
  }

  void Opaque() {
    map.dims.assign(from.size(), kOtherDim);
    map.replicates = true;
  }

  // Dims of size 1 read index 0 for every op; result dims that read no operand dim mean replication.
  void Settle() {
    for (size_t d = 0; d < from.size(); ++d) {
      if (map.dims[d] != kReducedDim && Unit(from[d])) map.dims[d] = kUnitDim;
    }
    if (!map.aligned()) return;
    for (size_t r = 0; r < to.size(); ++r) {
      bool read = std::find(map.dims.begin(), map.dims.end(), static_cast<int>(r)) != map.dims.end();
      if (!read && !Unit(to[r])) map.replicates = true;
    }
  }
};

// Number of dims of [begin, end) that are not provably 1.
int CountReal(const ShapeFacts& facts, const Shape& shape, int begin, int end) {
  return static_cast<int>(std::count_if(shape.begin() + begin, shape.begin() + end,
                                        [&](const DimExpr& dim_size) { return !ProvablyOne(facts, dim_size); }));
}

// For `whole` = bcast(a, c): c. Else `whole`.
DimExpr OtherLeaf(const DimExpr& whole, const DimExpr& a) {
  if (whole.terms().size() != 1 || whole.terms()[0].factors.size() != 1) return whole;
  const DimExpr::Atom& atom = *whole.terms()[0].factors[0].atom;
  if (atom.kind != DimExpr::AtomKind::kBcast) return whole;
  return atom.rhs == a ? OtherLeaf(atom.lhs, a) : OtherLeaf(atom.rhs, a);
}

}  // namespace

bool OperandMap::aligned() const { return std::find(dims.begin(), dims.end(), kOtherDim) == dims.end(); }

OperandMap MapOperand(const Graph& graph, const ShapeFacts& facts, NodeId id, int operand) {
  const Node& node = graph.node(id);
  Mapper mapper{graph, facts, node, graph.type(node.operands[operand]).shape, node.results[0].shape, {}};
  switch (InfoOf(node.op).shape) {
    case ShapeRule::kSameAs0:
    case ShapeRule::kAlongAxis:
    case ShapeRule::kBroadcast:
    case ShapeRule::kBroadcastTo:
      mapper.Broadcast();
      break;
    case ShapeRule::kTranspose:
      mapper.Transpose();
      break;
    case ShapeRule::kReshape:
      mapper.Reshape();
      break;
    case ShapeRule::kSlice:
      mapper.Slice();
      break;
    case ShapeRule::kConcat:
      mapper.Concat();
      break;
    case ShapeRule::kPad:
      mapper.Pad();
      break;
    case ShapeRule::kWindow:
      mapper.Window();
      break;
    case ShapeRule::kGather:
      mapper.Gather(operand);
      break;
    case ShapeRule::kReduce:
      mapper.Reduce();
      break;
    default:
      mapper.Opaque();
      break;
  }
  mapper.Settle();
  return std::move(mapper.map);
}

bool ReshapeOnlySplits(const Graph& graph, const ShapeFacts& facts, NodeId reshape) {
  const Node& node = graph.node(reshape);
  const Shape& from = graph.type(node.operands[0]).shape;
  std::vector<ReshapeGroup> groups = MatchReshape(from, node.results[0].shape, facts);
  return std::all_of(groups.begin(), groups.end(), [&](const ReshapeGroup& group) {
    return CountReal(facts, from, group.from_begin, group.from_end) <= 1;
  });
}

bool ReshapeOnlyJoins(const Graph& graph, const ShapeFacts& facts, NodeId reshape) {
  const Node& node = graph.node(reshape);
  const Shape& to = node.results[0].shape;
  std::vector<ReshapeGroup> groups = MatchReshape(graph.type(node.operands[0]).shape, to, facts);
  return std::all_of(groups.begin(), groups.end(), [&](const ReshapeGroup& group) {
    return CountReal(facts, to, group.to_begin, group.to_end) <= 1;
  });
}

bool MovesLastDim(const Node& node) {
  if (node.op != OpKind::kTranspose) return false;
  const std::vector<int64_t>& permutation = node.i64s("permutation");
  return !permutation.empty() && permutation.back() + 1 != static_cast<int64_t>(permutation.size());
}

bool SpreadsLastDim(const Graph& graph, NodeId id) {
  for (const Node* view = &graph.node(id); view->op == OpKind::kTranspose || view->op == OpKind::kReshape;
       view = &graph.node(view->operands[0].node)) {
    if (MovesLastDim(*view)) return true;
  }
  return false;
}

bool ProvablyOne(const ShapeFacts& facts, const DimExpr& dim_size) { return facts.Canonical(dim_size).constant() == 1; }

std::string UnequalDimSizes(const Graph& graph, const DimExpr& a, const DimExpr& whole) {
  DimExpr b = OtherLeaf(whole, a);
  std::string first = graph.DimText(a), second = graph.DimText(b);
  if (a.constant() && b.constant()) return absl::StrCat("dim sizes ", first, " and ", second, " differ");
  return absl::StrCat("dim sizes ", first, " and ", second, " are not provably equal; assume_equal(", first, ", ",
                      second, ") would allow it");
}

const OperandMap& OperandMaps::of(NodeId node, int operand) const {
  std::vector<std::optional<OperandMap>>& known = known_[node];
  if (known.empty()) known.resize(graph_.node(node).operands.size());
  if (!known[operand]) known[operand] = MapOperand(graph_, facts_, node, operand);
  return *known[operand];
}

}  // namespace tailor
