#include "fusion/merge_matmuls.h"

#include <algorithm>
#include <map>

#include "fusion/graph_rebuild.h"
#include "fusion/fusion_context.h"
#include "fusion/rearrange_constants.h"
#include "fusion/matmul_merges.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

class Merger {
 public:
  explicit Merger(const Graph& graph, std::vector<MatmulMerge> merges)
      : graph_(graph), merges_(std::move(merges)), part_of_(graph.nodes().size()) {
    for (size_t m = 0; m < merges_.size(); ++m) {
      const MatmulMerge& merge = merges_[m];
      for (size_t i = 0; i < merge.matmuls.size(); ++i) {
        part_of_[merge.matmuls[i]] = {static_cast<int>(m), static_cast<int>(i)};
        for (const MatmulMerge::Step& step : merge.steps) {
          if (step.nodes[i] >= 0) part_of_[step.nodes[i]] = {static_cast<int>(m), static_cast<int>(i)};
        }
      }
    }
    joined_.resize(merges_.size());
  }

  // The merged matmul takes the place of its first part: it depends only on the shared lhs and on constants.
  absl::StatusOr<std::optional<Value>> Rewrite(const NodeRewrite& r) {
    const auto [m, i] = part_of_[r.id];
    if (m < 0) return std::nullopt;
    const MatmulMerge& merge = merges_[m];
    if (r.id == merge.matmuls.front()) {
      TAILOR_ASSIGN_OR_RETURN(joined_[m], Join(r, merge));
    }
    if (r.id != merge.ends[i]) return Value{};
    return Columns(r, merge, i, joined_[m]);
  }

 private:
  struct Part {
    int merge = -1, number = -1;
  };

  absl::StatusOr<Value> Join(const NodeRewrite& r, const MatmulMerge& merge) {
    auto [weights, added] = weights_.try_emplace({merge.weights, merge.transposed});
    if (added) {
      TAILOR_ASSIGN_OR_RETURN(weights->second, JoinMatrices(graph_, merge.weights, merge.transposed, r.to));
    }
    Attributes attributes = r.node().attributes;
    attributes["transpose_rhs"] = int64_t{merge.transposed};
    TAILOR_ASSIGN_OR_RETURN(NodeId id, r.to.Append(OpKind::kDot, {r.operands[0], weights->second}, attributes));
    Value joined{id, 0};
    std::vector<NodeId> ends = merge.matmuls;
    for (const MatmulMerge::Step& step : merge.steps) {
      TAILOR_ASSIGN_OR_RETURN(joined, Follow(r.to, merge, step, joined, ends));
    }
    return joined;
  }

  // Appends `step` on `joined`, which consists of the parts `ends`; advances `ends`.
  absl::StatusOr<Value> Follow(Graph& to, const MatmulMerge& merge, const MatmulMerge::Step& step, Value joined,
                               std::vector<NodeId>& ends) {
    const auto first = std::find_if(step.nodes.begin(), step.nodes.end(), [](NodeId id) { return id >= 0; });
    const Node& pattern = graph_.node(*first);
    const Value pattern_end{ends[first - step.nodes.begin()], 0};
    std::vector<Value> operands;
    for (size_t o = 0; o < pattern.operands.size(); ++o) {
      if (pattern.operands[o] == pattern_end) {
        operands.push_back(joined);
        continue;
      }
      TAILOR_ASSIGN_OR_RETURN(Value constant, JoinOperand(to, merge, step, ends, o));
      operands.push_back(constant);
    }
    for (size_t i = 0; i < ends.size(); ++i) ends[i] = step.nodes[i] >= 0 ? step.nodes[i] : ends[i];
    TAILOR_ASSIGN_OR_RETURN(NodeId id, to.Append(pattern.op, operands, pattern.attributes));
    return Value{id, 0};
  }

  absl::StatusOr<Value> JoinOperand(Graph& to, const MatmulMerge& merge, const MatmulMerge::Step& step,
                                    const std::vector<NodeId>& ends, size_t operand) {
    std::vector<VectorPart> parts;
    DType dtype = DType::kInvalid;
    for (size_t i = 0; i < ends.size(); ++i) {
      VectorPart part{.columns = ColumnsOf(graph_, ends[i])};
      if (step.nodes[i] >= 0) {
        const Node& node = graph_.node(step.nodes[i]);
        const bool swapped = node.operands[operand] == Value{ends[i], 0};  // x + c here, c + x elsewhere
        const Value constant = node.operands[swapped ? 1 - operand : operand];
        part.constant = constant.node;
        dtype = graph_.type(constant).dtype;
      } else {
        part.fill = *NeutralOperand(step.op, graph_.type({ends[i], 0}).dtype);
      }
      parts.push_back(part);
    }
    const bool same = std::all_of(parts.begin(), parts.end(),
                                  [&](const VectorPart& part) { return part.constant == parts[0].constant; });
    const bool one = same && ElementCount(graph_.type({parts[0].constant, 0}).shape) == DimExpr(1);
    if (!one) return JoinVectors(graph_, dtype, parts, to);
    const Node& constant = graph_.node(parts[0].constant);
    return to.AddConstant(constant.string("name"), dtype, constant.dims("shape"),
                          graph_.constant_data(parts[0].constant));
  }

  absl::StatusOr<std::optional<Value>> Columns(const NodeRewrite& r, const MatmulMerge& merge, int number,
                                               Value joined) const {
    int64_t start = 0;
    for (int i = 0; i < number; ++i) start += ColumnsOf(graph_, merge.ends[i]);
    const Shape& sizes = r.node().results[0].shape;
    Shape starts(sizes.size(), 0);
    starts.back() = start;
    TAILOR_ASSIGN_OR_RETURN(Value columns,
                            AppendInPlace(r, OpKind::kSlice, {joined}, {{"starts", starts}, {"sizes", sizes}}));
    return columns;
  }

  const Graph& graph_;
  const std::vector<MatmulMerge> merges_;
  std::vector<Part> part_of_;                                      // by node
  std::vector<Value> joined_;                                      // by merge
  std::map<std::pair<std::vector<NodeId>, bool>, Value> weights_;  // layers that share weights share the merged ones
};

}  // namespace

absl::StatusOr<Graph> MergeMatmuls(const Graph& graph, const ShapeFacts& facts) {
  std::vector<MatmulMerge> merges = FindMatmulMerges(graph, facts).merges;
  const bool any = !merges.empty();
  Merger merger(graph, std::move(merges));
  const Uses uses(graph, std::vector<bool>(graph.nodes().size(), false));
  const auto rewrite = [&](const NodeRewrite& r) -> absl::StatusOr<std::optional<Value>> {
    if (any && !uses.live(r.id)) return Value{};  // it may read a value inside a merged matmul
    return merger.Rewrite(r);
  };
  return RebuildGraph(graph, {.rewrite = rewrite});
}

absl::Status ExplainMatmuls(const FusionContext& context, FusionPlan& plan) {
  for (Refusal& refusal : FindMatmulMerges(context.graph, context.facts).refusals) {
    plan.refusals.push_back(std::move(refusal));
  }
  return absl::OkStatus();
}

}  // namespace tailor
