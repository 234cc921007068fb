// Random graphs: whatever they hold, each pass leaves a valid plan, and every edge between groups has a
// reason.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "fusion/fusion_context.h"
#include "fusion/rewrites.h"
#include "graph/graph.h"

namespace tailor {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    for (const char* name : {"M", "N", "K"}) {
      SymbolInfo info;
      info.name = name;
      symbols_.push_back(DimExpr::Symbol(*graph_.AddSymbol(info)));
    }
    for (size_t i = 0; i < symbols_.size(); ++i) {
      Shape shape = {symbols_[i], symbols_[(i + 1) % symbols_.size()], 8};
      values_.push_back(*graph_.AddInput(absl::StrCat("x", i), DType::kF32, shape));
    }
    indices_ = *graph_.AddInput("indices", DType::kI64, {symbols_[0], 2});
  }

  Graph Build(int nodes) {
    while (nodes > 0) nodes -= TryNode();
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(graph_.AddOutput(absl::StrCat("y", i), Pick()).ok());
    }
    return std::move(graph_);
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  // Prefers recent values, so that chains grow.
  Value Pick() {
    int count = static_cast<int>(values_.size());
    return values_[count - 1 - std::min(Below(count), Below(count))];
  }

  // Appends one node if the random choice is well typed.
  bool TryNode() {
    Value x = Pick();
    const Shape shape = graph_.type(x).shape;
    int rank = static_cast<int>(shape.size());
    switch (Below(13)) {
      case 0:
      case 1:
        return Add(Below(2) == 0 ? OpKind::kExp : OpKind::kNeg, {x});
      case 2:
      case 3:
        return Add(Below(2) == 0 ? OpKind::kAdd : OpKind::kDiv, {x, Pick()});
      case 4:
      case 5:
        return rank > 0 && Add(Below(2) == 0 ? OpKind::kReduceSum : OpKind::kReduceMax, {x},
                               {{"axes", std::vector<int64_t>{Below(rank)}}, {"keep_dims", int64_t{Below(2)}}});
      case 6:
        return Add(OpKind::kTranspose, {x}, {{"permutation", Permutation(rank)}});
      case 7:
        return Add(OpKind::kReshape, {x}, {{"shape", Reshaped(shape)}});
      case 8:
        return Add(OpKind::kDot, {x, Pick()},
                   {{"transpose_lhs", int64_t{Below(2)}}, {"transpose_rhs", int64_t{Below(2)}}});
      case 9:
        return rank > 0 && Add(OpKind::kGather, {x, indices_}, {{"axis", int64_t{Below(rank)}}});
      case 10:
        return Add(OpKind::kIota, {}, {{"shape", Shape{symbols_[1], 8}}, {"axis", int64_t{0}}, {"dtype", DType::kF32}});
      case 11:
        return Add(OpKind::kBroadcast, {x}, {{"shape", Broadcast(shape)}});
      default:
        return Add(OpKind::kConcat, {x, x}, {{"axis", int64_t{0}}});
    }
  }

  std::vector<int64_t> Permutation(int rank) {
    std::vector<int64_t> permutation(rank);
    for (int d = 0; d < rank; ++d) permutation[d] = d;
    std::shuffle(permutation.begin(), permutation.end(), random_);
    return permutation;
  }

  // Two neighbours joined, or one dim of extent 1 added.
  Shape Reshaped(Shape shape) {
    if (shape.size() >= 2 && Below(2) == 0) {
      int d = Below(static_cast<int>(shape.size()) - 1);
      shape[d] = shape[d] * shape[d + 1];
      shape.erase(shape.begin() + d + 1);
    } else {
      shape.insert(shape.begin() + Below(static_cast<int>(shape.size()) + 1), 1);
    }
    return shape;
  }

  Shape Broadcast(Shape shape) {
    for (DimExpr& extent : shape) {
      if (extent == DimExpr(1)) extent = symbols_[0];
    }
    shape.insert(shape.begin(), symbols_[2]);
    return shape;
  }

  bool Add(OpKind op, std::vector<Value> operands, Attributes attributes = {}) {
    absl::StatusOr<NodeId> id = graph_.Append(op, operands, std::move(attributes));
    if (id.ok() && graph_.type({*id, 0}).rank() <= 5) values_.push_back({*id, 0});
    return id.ok();
  }

  std::mt19937 random_;
  Graph graph_;
  std::vector<DimExpr> symbols_;
  std::vector<Value> values_;
  Value indices_;
};

// Every pair of groups where one reads what the other writes has a refusal.
void ExpectReasons(const Graph& graph, const FusionPlan& plan) {
  Uses uses = Uses::Of(graph, plan);
  std::map<NodeId, size_t> group_of;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    for (NodeId id : plan.groups[g].nodes) {
      if (uses.core(id)) group_of[id] = g;
    }
  }
  std::set<std::pair<size_t, size_t>> explained;
  for (const Refusal& refusal : plan.refusals) {
    EXPECT_FALSE(refusal.reason.empty());
    explained.emplace(group_of.at(refusal.producer), group_of.at(refusal.consumer));
  }
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    for (Value input : plan.groups[g].inputs) {
      if (!uses.core(input.node)) continue;
      EXPECT_TRUE(explained.count({group_of.at(input.node), g})) << graph.NameOf(input) << "\n" << plan.ToText(graph);
    }
  }
}

TEST(PlanProperty, RandomGraphsGiveValidPlans) {
  int fused = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = RandomGraph(seed).Build(4 + static_cast<int>(seed % 24));
    absl::StatusOr<ShapeFacts> facts = ShapeFacts::Collect(graph);
    if (!facts.ok()) continue;  // contradictory extents are the graph's fault
    absl::StatusOr<Graph> rewritten = Rewrite(graph, *facts);
    ASSERT_TRUE(rewritten.ok()) << rewritten.status() << "\n" << graph.ToText();
    absl::StatusOr<FusionPlan> plan = Fuse(*rewritten, *facts, TargetTraits());
    ASSERT_TRUE(plan.ok()) << plan.status() << "\n" << rewritten->ToText();
    ASSERT_EQ(VerifyFusionPlan(*plan, *rewritten), absl::OkStatus());
    ExpectReasons(*rewritten, *plan);
    if (HasFailure()) return;
    ++fused;
  }
  EXPECT_GT(fused, 200);
}

}  // namespace
}  // namespace tailor
