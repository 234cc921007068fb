#include "fusion/chain_matmuls.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "fusion/group_index.h"
#include "fusion/lhs_views.h"
#include "fusion/node_class.h"

namespace tailor {
namespace {

class Chainer {
 public:
  Chainer(const FusionContext& context, const GroupIndex& index)
      : context_(context), graph_(context.graph), facts_(context.facts), index_(index) {}

  // The matmul whose result group `rows` reads, and the one that takes the group's result as its lhs; -1: none.
  int MatmulBefore(int rows) const {
    int found = -1;
    for (int producer : index_.Producers(rows)) {
      if (index_.kind(producer) == GroupKind::kContraction && RankOfOutput(producer) == RankOfOutput(rows)) {
        found = producer;
      }
    }
    return found;
  }
  int MatmulAfter(int rows) const {
    for (int consumer : index_.Consumers(rows)) {
      if (index_.kind(consumer) != GroupKind::kContraction) continue;
      if (LhsOperand(consumer) == index_.group(rows).outputs.front()) return consumer;
    }
    return -1;
  }

  // The reason why the three groups cannot share blocks of rows; empty if they can.
  std::string Obstacle(int before, int rows, int after) const {
    for (int g : {before, rows}) {
      if (std::string reason = HandsOnOneResult(g, g == before ? rows : after); !reason.empty()) return reason;
    }
    const Value made = index_.group(before).outputs[0], taken = index_.group(rows).outputs[0];
    if (!index_.group(before).trailing_views.empty()) return "the matmul's result is stored through views";
    if (!KeepsRows(rows, made, taken)) {
      return absl::StrCat("the rows of ", graph_.NameOf(made), " are not computed in place");
    }
    const Node &first = Matmul(before), &second = Matmul(after);
    if (second.i64("transpose_lhs") != 0) return "the second matmul takes the rows as columns";
    if (first.results[0].dtype != second.results[0].dtype) return "the matmuls' element types differ";
    if (!SameRows(graph_.type(taken).shape, second.results[0].shape)) {
      return "the second matmul repeats the rows in its batch dims";
    }
    for (int matmul : {before, after}) {
      const FusionGroup& group = index_.group(matmul);
      if (PaddingOfLhs(context_, index_.uses(), index_.core(matmul), group.dominant) >= 0) {
        return "a matmul computes the padding of its lhs";
      }
    }
    for (const Node* matmul : {&first, &second}) {
      if (!IsComputed(matmul->operands[1])) {
        return absl::StrCat("every block of rows would read the constant ", graph_.NameOf(matmul->operands[1]),
                            " again");
      }
    }
    return "";
  }

 private:
  const Node& Matmul(int g) const { return graph_.node(index_.group(g).dominant); }
  Value LhsOperand(int g) const { return Matmul(g).operands[0]; }
  int RankOfOutput(int g) const { return graph_.type(index_.group(g).outputs.front()).rank(); }

  std::string HandsOnOneResult(int g, int reader) const {
    const FusionGroup& group = index_.group(g);
    if (group.outputs.size() != 1) return absl::StrCat(graph_.NameOf(group.outputs[0]), " is not the only result");
    const Value result = group.outputs[0];
    const bool read_elsewhere =
        index_.uses().stored(result.node) ||
        std::any_of(index_.uses().users(result.node).begin(), index_.uses().users(result.node).end(),
                    [&](NodeId user) { return !index_.uses().core(user) || index_.group_of(user) != reader; });
    if (read_elsewhere) return absl::StrCat(graph_.NameOf(result), " is wanted elsewhere as well");
    return "";
  }

  bool IsIdentity(const std::vector<int>& axes) const {
    for (size_t d = 0; d < axes.size(); ++d) {
      if (axes[d] >= 0 && axes[d] != static_cast<int>(d)) return false;
    }
    return true;
  }

  // Per operand dim: the axis of the group that the reduction iterates over.
  std::vector<int> OperandAxes(const FusionGroup& group, NodeId reduction) const {
    const Node& node = graph_.node(reduction);
    const int rank = graph_.type(node.operands[0]).rank();
    std::vector<int> reduced = group.reduce_axes.at(reduction), kept = group.axis_of.at(reduction);
    std::vector<bool> is_reduced(rank);
    for (int64_t axis : node.i64s("axes")) is_reduced[axis < 0 ? axis + rank : axis] = true;
    std::vector<int> axes;
    auto next_reduced = reduced.begin();
    auto next_kept = kept.begin();
    for (int d = 0; d < rank; ++d) {
      axes.push_back(is_reduced[d] ? *next_reduced++ : *next_kept);
      if (!is_reduced[d] || node.i64("keep_dims") != 0) ++next_kept;
    }
    return axes;
  }

  // Whether group `rows` reads `made` and writes `taken`, both [..., rows, columns], at the element of the current
  // iteration, with independent rows.
  bool KeepsRows(int rows, Value made, Value taken) const {
    const FusionGroup& group = index_.group(rows);
    const Shape& shape = graph_.type(made).shape;
    if (group.axes.size() != shape.size() || !SameShape(shape, graph_.type(taken).shape)) return false;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!facts_.ProvablyEqual(group.axes[d].dim_size, shape[d])) return false;
      if (group.axes[d].tile != (d + 1 == shape.size())) return false;
    }
    const auto aligned = [&](NodeId id) {
      const auto it = group.axis_of.find(id);
      return it != group.axis_of.end() && it->second.size() == shape.size() && IsIdentity(it->second);
    };
    if (!aligned(taken.node) || ClassOf(graph_.node(taken.node)) != FusionClass::kElementwise) return false;
    const std::vector<NodeId>& users = index_.uses().users(made.node);
    return std::all_of(users.begin(), users.end(), [&](NodeId user) {
      if (IsReduction(graph_.node(user))) return IsIdentity(OperandAxes(group, user));
      return ClassOf(graph_.node(user)) == FusionClass::kElementwise && aligned(user);
    });
  }

  bool SameShape(const Shape& a, const Shape& b) const {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](const DimExpr& x, const DimExpr& y) {
             return facts_.ProvablyEqual(x, y);
           });
  }

  // All but the last dim.
  bool SameRows(const Shape& a, const Shape& b) const {
    return SameShape({a.begin(), a.end() - 1}, {b.begin(), b.end() - 1});
  }

  bool IsComputed(Value v) const {
    while (index_.uses().floating(v.node) && !graph_.node(v.node).operands.empty()) v = graph_.node(v.node).operands[0];
    return graph_.node(v.node).op != OpKind::kConstant;
  }

  const FusionContext& context_;
  const Graph& graph_;
  const ShapeFacts& facts_;
  const GroupIndex& index_;
};

}  // namespace

absl::Status ChainMatmuls(const FusionContext& context, FusionPlan& plan) {
  if (!context.traits.row_blocks && context.traits.max_attention_row == 0) return absl::OkStatus();
  GroupIndex index(context, plan, "chain-matmuls");
  const Chainer chainer(context, index);
  for (int rows = 0; rows < index.size(); ++rows) {
    if (index.kind(rows) != GroupKind::kRow) continue;
    const int after = chainer.MatmulAfter(rows), before = chainer.MatmulBefore(rows);
    if (before < 0 || after < 0) continue;
    const auto chained = [&](int g) {
      return std::any_of(plan.chains.begin(), plan.chains.end(),
                         [&](const std::vector<int>& chain) { return std::count(chain.begin(), chain.end(), g) != 0; });
    };
    std::string obstacle = chainer.Obstacle(before, rows, after);
    if (obstacle.empty() && chained(before)) obstacle = "the matmul ends another chain";
    if (obstacle.empty()) {
      plan.chains.push_back({before, rows, after});
    } else {
      index.Refuse(before, rows, obstacle);
      index.Refuse(rows, after, obstacle);
    }
  }
  return absl::OkStatus();
}

}  // namespace tailor
