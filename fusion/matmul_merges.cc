#include "fusion/matmul_merges.h"

#include <algorithm>
#include <climits>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "fusion/fusion_context.h"
#include "fusion/node_class.h"
#include "fusion/operand_map.h"

namespace tailor {
namespace {

std::vector<bool> Views(const Graph& graph) {
  std::vector<bool> views;
  for (const Node& node : graph.nodes()) views.push_back(IsFree(node));
  return views;
}

bool Commutes(OpKind op) { return op == OpKind::kAdd || op == OpKind::kMul; }

int PositionOf(const Node& node, Value operand) {
  return static_cast<int>(std::find(node.operands.begin(), node.operands.end(), operand) - node.operands.begin());
}

// Lhs, whether it is transposed and whether the matrix is (bits), K, dtype of the result.
using Key = std::tuple<Value, int64_t, bool, int64_t, DType>;

class Finder {
 public:
  Finder(const Graph& graph, const ShapeFacts& facts)
      : graph_(graph),
        facts_(facts),
        uses_(graph, Views(graph)),
        depth_(graph.nodes().size()),
        first_read_(graph.nodes().size(), kNever) {
    const auto count = static_cast<NodeId>(graph.nodes().size());
    for (NodeId id = 0; id < count; ++id) {
      for (Value operand : graph.node(id).operands) depth_[id] = std::max(depth_[id], depth_[operand.node]);
      if (IsContraction(graph.node(id))) ++depth_[id];
    }
    for (NodeId id = count - 1; id >= 0; --id) {
      for (NodeId user : uses_.users(id)) {
        const int read = IsContraction(graph.node(user)) ? depth_[user] : first_read_[user];
        first_read_[id] = std::min(first_read_[id], read);
      }
    }
  }

  MatmulMerges Run() {
    std::map<Key, std::vector<NodeId>> sharing;
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      if (uses_.live(id) && IsContraction(graph_.node(id)) && WeightsOf(id) >= 0) sharing[KeyOf(id)].push_back(id);
    }
    for (auto& [key, matmuls] : sharing) {
      for (std::vector<NodeId>& near : ReadTogether(std::move(matmuls))) Merge(std::move(near), std::get<2>(key));
    }
    while (DropOneWithSharedWeights()) {
    }
    return std::move(found_);
  }

 private:
  // The constant matrix that the matmul reads, directly or transposed; -1 if the rhs is no constant.
  NodeId WeightsOf(NodeId matmul) const {
    Value rhs = graph_.node(matmul).operands[1];
    if (IsTransposeOfMatrix(rhs)) rhs = graph_.node(rhs.node).operands[0];
    const Shape& shape = graph_.type(rhs).shape;
    if (graph_.node(rhs.node).op != OpKind::kConstant || shape.size() != 2) return -1;
    return shape[0].constant() > 0 && shape[1].constant() > 0 ? rhs.node : -1;
  }

  bool IsTransposeOfMatrix(Value v) const {
    return graph_.node(v.node).op == OpKind::kTranspose &&
           graph_.node(v.node).i64s("permutation") == std::vector<int64_t>{1, 0};
  }

  Key KeyOf(NodeId matmul) const {
    const Node& dot = graph_.node(matmul);
    const bool transposed = (dot.i64("transpose_rhs") != 0) != IsTransposeOfMatrix(dot.operands[1]);
    const Shape& matrix = graph_.type({WeightsOf(matmul), 0}).shape;
    return {dot.operands[0], dot.i64("transpose_lhs"), transposed, *matrix[transposed ? 1 : 0].constant(),
            dot.results[0].dtype};
  }

  // A merged result stays in memory until its last reader. Matmuls whose first readers lie far apart, such as the keys
  // of all layers that attend to one sequence, are therefore split into runs.
  std::vector<std::vector<NodeId>> ReadTogether(std::vector<NodeId> matmuls) {
    constexpr int kApart = 2;  // attention: the matmul that reads values follows the one that reads keys
    const auto read = [&](NodeId id) { return first_read_[id]; };
    std::stable_sort(matmuls.begin(), matmuls.end(), [&](NodeId a, NodeId b) { return read(a) < read(b); });
    std::vector<std::vector<NodeId>> runs;
    for (NodeId id : matmuls) {
      if (runs.empty() || read(id) - read(runs.back().front()) >= kApart) {
        if (!runs.empty()) Refuse(runs.back().front(), id, "their results are read far apart");
        runs.emplace_back();
      }
      runs.back().push_back(id);
    }
    for (std::vector<NodeId>& run : runs) std::sort(run.begin(), run.end());
    return runs;
  }

  void Merge(std::vector<NodeId> matmuls, bool transposed) {
    while (matmuls.size() > 1) {
      MatmulMerge merge{.matmuls = matmuls, .transposed = transposed, .ends = matmuls};
      while (TakeStep(merge)) {
      }
      std::vector<NodeId> accepted;
      for (size_t i = 0; i < matmuls.size(); ++i) {
        const std::string reason = WhyNot(merge.ends[i]);
        if (reason.empty()) accepted.push_back(matmuls[i]);
        if (!reason.empty()) Refuse(matmuls[i == 0 ? 1 : 0], matmuls[i], reason);
      }
      if (accepted.size() == matmuls.size()) {
        for (NodeId id : matmuls) merge.weights.push_back(WeightsOf(id));
        found_.merges.push_back(std::move(merge));
        return;
      }
      matmuls = std::move(accepted);
    }
  }

  // ---- Common elementwise steps ----

  // Whether `v` is a constant with one element per column of `end`'s result, or one for all.
  bool IsOverColumns(Value v, NodeId end) const {
    if (graph_.node(v.node).op != OpKind::kConstant) return false;
    const DimExpr elements = ElementCount(graph_.type(v).shape);
    if (elements == DimExpr(1)) return true;
    return elements == DimExpr(ColumnsOf(graph_, end)) && graph_.type(v).shape.back() == elements;
  }

  // The only reader of `end`, if it is an elementwise op whose other operands are constants over columns; else -1.
  NodeId NextOf(NodeId end) const {
    if (uses_.stored(end) || uses_.users(end).size() != 1) return -1;
    const NodeId next = uses_.users(end)[0];
    const Node& node = graph_.node(next);
    if (ClassOf(node) != FusionClass::kElementwise || node.results[0].shape != graph_.type({end, 0}).shape) return -1;
    if (std::count(node.operands.begin(), node.operands.end(), Value{end, 0}) != 1) return -1;
    const bool constants = std::all_of(node.operands.begin(), node.operands.end(), [&](Value v) {
      return v == Value{end, 0} || IsOverColumns(v, end);
    });
    return constants ? next : -1;
  }

  bool TakeStep(MatmulMerge& merge) const {
    std::vector<NodeId> next;
    for (NodeId end : merge.ends) next.push_back(NextOf(end));
    for (NodeId pattern : next) {
      if (pattern < 0) continue;
      MatmulMerge::Step step{graph_.node(pattern).op, {}};
      bool fits = true;
      for (size_t i = 0; i < next.size(); ++i) {
        const bool same_op = next[i] >= 0 && graph_.node(next[i]).op == step.op;
        step.nodes.push_back(same_op ? next[i] : -1);
        fits &= same_op ? Alike(pattern, merge.ends, next[i], merge.ends[i]) : MayLack(pattern, merge.ends[i]);
      }
      if (!fits) continue;
      for (size_t i = 0; i < next.size(); ++i) merge.ends[i] = step.nodes[i] >= 0 ? step.nodes[i] : merge.ends[i];
      merge.steps.push_back(std::move(step));
      return true;
    }
    return false;
  }

  bool Alike(NodeId pattern, const std::vector<NodeId>& ends, NodeId other, NodeId end) const {
    const Node &a = graph_.node(pattern), &b = graph_.node(other);
    if (a.attributes != b.attributes || a.results[0].dtype != b.results[0].dtype) return false;
    if (Commutes(a.op)) return true;
    const int position = PositionOf(b, {end, 0});
    const Value before = a.operands[position];
    return std::any_of(ends.begin(), ends.end(), [&](NodeId id) { return before == Value{id, 0}; });
  }

  // Whether `end` may be followed by `pattern`'s op with a neutral operand. Only binary ops have one.
  bool MayLack(NodeId pattern, NodeId end) const {
    const Node& node = graph_.node(pattern);
    if (!NeutralOperand(node.op, node.results[0].dtype)) return false;
    const bool left = Commutes(node.op) || graph_.node(node.operands[1].node).op == OpKind::kConstant;
    return left && graph_.type({end, 0}).dtype == node.results[0].dtype;
  }

  // ---- Fusions that a merge must not lose ----

  // The reason why the columns of a merged result cannot replace `end`; empty if they can.
  std::string WhyNot(NodeId end) const {
    bool only_elementwise = true;
    std::string reason = WhyNotRead(end, true, only_elementwise);
    if (!reason.empty() || !only_elementwise) return reason;
    return absl::StrCat("the readers of ", graph_.NameOf({end, 0}), " are fused with its matmul");
  }

  // As WhyNot, for the readers of `id`; recurses through views. `in_place`: each element is where the matmul puts it,
  // up to transposes.
  std::string WhyNotRead(NodeId id, bool in_place, bool& only_elementwise) const {
    if (uses_.stored(id)) return absl::StrCat(graph_.NameOf({id, 0}), " would have to be copied out of their result");
    for (NodeId user : uses_.users(id)) {
      const Node& node = graph_.node(user);
      if (!IsFree(node)) {
        only_elementwise &= in_place && ClassOf(node) == FusionClass::kElementwise;
        continue;
      }
      if (node.op == OpKind::kReshape && !ReshapeOnlySplits(graph_, facts_, user)) {
        return absl::StrCat("reshape ", graph_.NameOf({user, 0}), " joins columns with rows");
      }
      std::string reason = WhyNotRead(user, in_place && node.op == OpKind::kTranspose, only_elementwise);
      if (!reason.empty()) return reason;
    }
    return "";
  }

  // ---- Weights ----

  // Weights with other readers would be in memory twice: drops one matmul with such weights.
  bool DropOneWithSharedWeights() {
    std::map<NodeId, const MatmulMerge*> merge_of;
    for (const MatmulMerge& merge : found_.merges) {
      for (NodeId matmul : merge.matmuls) merge_of[matmul] = &merge;
    }
    for (size_t m = 0; m < found_.merges.size(); ++m) {
      const MatmulMerge& merge = found_.merges[m];
      for (NodeId weights : merge.weights) {
        if (OnlyReadAs(weights, merge, merge_of)) continue;
        Refuse(merge.matmuls[0], merge.matmuls[1],
               absl::StrCat("constant ", graph_.NameOf({weights, 0}), " has other readers, and would be stored twice"));
        found_.merges.erase(found_.merges.begin() + static_cast<int64_t>(m));
        return true;
      }
    }
    return false;
  }

  bool OnlyReadAs(NodeId weights, const MatmulMerge& merge,
                  const std::map<NodeId, const MatmulMerge*>& merge_of) const {
    const std::vector<NodeId>& readers = uses_.readers(weights);
    return !uses_.stored(weights) && std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
      const auto it = merge_of.find(reader);
      return it != merge_of.end() && it->second->weights == merge.weights && it->second->transposed == merge.transposed;
    });
  }

  void Refuse(NodeId a, NodeId b, std::string reason) {
    found_.refusals.push_back({std::min(a, b), std::max(a, b), "merge-matmuls", std::move(reason)});
  }

  const Graph& graph_;
  const ShapeFacts& facts_;
  const Uses uses_;
  static constexpr int kNever = INT_MAX;
  std::vector<int> depth_;       // number of matmuls on the longest path from an input
  std::vector<int> first_read_;  // least depth of the matmuls that read the node, directly or indirectly
  MatmulMerges found_;
};

}  // namespace

MatmulMerges FindMatmulMerges(const Graph& graph, const ShapeFacts& facts) { return Finder(graph, facts).Run(); }

std::optional<double> NeutralOperand(OpKind op, DType dtype) {
  switch (op) {
    case OpKind::kAdd:
      return IsFloat(dtype) ? -0.0 : 0.0;
    case OpKind::kSub:
      return 0.0;
    case OpKind::kMul:
    case OpKind::kDiv:
      return 1.0;
    default:
      return std::nullopt;
  }
}

int64_t ColumnsOf(const Graph& graph, NodeId id) { return *graph.type({id, 0}).shape.back().constant(); }

}  // namespace tailor
