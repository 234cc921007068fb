#include "fusion/absorb_views.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "fusion/form_group.h"
#include "fusion/lhs_views.h"
#include "fusion/node_class.h"
#include "fusion/operand_map.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Whether a matmul can read its operand through this node: the address must be a linear function of the view's indices.
// A reshape of a value in memory leaves addresses unchanged; constants are stored in panels.
bool IsLinear(const FusionContext& context, NodeId id) {
  const Node& node = context.graph.node(id);
  if (node.op == OpKind::kIota || IsLiteral(context.graph, node.operands[0])) return false;
  const Node& operand = context.graph.node(node.operands[0].node);
  bool of_memory = node.op == OpKind::kReshape && !IsFree(operand) && operand.op != OpKind::kConstant;
  return node.op != OpKind::kReshape || of_memory || ReshapeOnlySplits(context.graph, context.facts, id);
}

// Whether `id` reshapes views of windows or slices. If the result must be materialized (of windows, many times as large
// as the source), the view before the reshape goes to memory: its loops run along dims and need no index divisions.
bool ReshapesParts(const FusionContext& context, NodeId id) {
  const Graph& graph = context.graph;
  if (graph.node(id).op != OpKind::kReshape) return false;
  for (NodeId view = graph.node(id).operands[0].node; ClassOf(graph.node(view)) == FusionClass::kView;
       view = graph.node(view).operands[0].node) {
    const OpKind op = graph.node(view).op;
    if (op == OpKind::kWindow || op == OpKind::kSlice) return true;
  }
  return false;
}

// How matmuls read a node through floating views.
struct MatmulReads {
  bool other = false;              // as the rhs
  std::optional<Dependences> lhs;  // as the lhs: dependences of each dim, united over all such matmuls
};

MatmulReads ReadsOf(const FusionContext& context, const Uses& uses, const std::vector<bool>& floating,
                    const std::vector<MatmulReads>& reads, NodeId id) {
  MatmulReads result;
  const auto add = [&](const Dependences& of) {
    if (!result.lhs) result.lhs = Dependences(of.size(), kOnNothing);
    for (size_t d = 0; d < of.size(); ++d) (*result.lhs)[d] |= of[d];
  };
  for (NodeId user : uses.users(id)) {
    const Node& node = context.graph.node(user);
    if (IsContraction(node)) {
      if (node.operands[0].node == id) add(OfLhs(context.graph, user));
      result.other = result.other || node.operands[1].node == id;
    } else if (floating[user]) {
      result.other = result.other || reads[user].other;
      if (!reads[user].lhs) continue;
      const std::optional<Dependences> through = ThroughView(context, user, *reads[user].lhs);
      if (through) add(*through);
    }
  }
  return result;
}

// Whether `id` has one user, and is in memory for nothing else.
bool HasOneUser(const Uses& uses, NodeId id) { return !uses.stored(id) && uses.users(id).size() == 1; }

// A node in a chain of views that a matmul could store its result through (FormGroup).
struct ResultView {
  bool in_chain = false;
  bool transposes = false;  // the chain up to here moves the last dim
  bool one_reader = false;  // it ends the chain: one elementwise node reads it
  bool ends = false;        // no transpose or reshape reads it, or the chain ends with it
};

// Per node: how it stands in the views of a matmul's result, or of elementwise nodes on it with one user each.
std::vector<ResultView> ViewsOfResults(const FusionContext& context, const Uses& uses) {
  const Graph& graph = context.graph;
  std::vector<bool> results(graph.nodes().size(), false);  // matmuls, and single-use elementwise nodes on them
  std::vector<bool> continued(results);                    // views of `results` that another view may follow
  std::vector<ResultView> views(results.size());
  for (NodeId id = 0; id < static_cast<NodeId>(results.size()); ++id) {
    const Node& node = graph.node(id);
    results[id] = IsContraction(node);
    for (Value operand : node.operands) {
      if (!HasOneUser(uses, operand.node)) continue;
      if (ClassOf(node) == FusionClass::kElementwise) {
        const bool in_place = graph.type({id, 0}).shape == graph.type(operand).shape;
        results[id] = results[id] || (results[operand.node] && in_place);
      } else if (node.op == OpKind::kTranspose || node.op == OpKind::kReshape) {
        views[id].in_chain = results[operand.node] || continued[operand.node];
        views[id].transposes = views[operand.node].transposes || MovesLastDim(node);
        continued[id] =
            views[id].in_chain && (node.op == OpKind::kTranspose || ReshapeOnlyJoins(graph, context.facts, id));
      }
    }
  }
  for (NodeId id = 0; id < static_cast<NodeId>(results.size()); ++id) {
    if (!views[id].in_chain) continue;
    const std::vector<NodeId>& users = uses.users(id);
    views[id].one_reader = HasOneUser(uses, id) && ClassOf(graph.node(users[0])) == FusionClass::kElementwise;
    views[id].ends = !continued[id] || std::none_of(users.begin(), users.end(), [&](NodeId user) {
      return graph.node(user).op == OpKind::kTranspose || graph.node(user).op == OpKind::kReshape;
    });
  }
  return views;
}

// Whether loops read `id` through overlapping windows: pads, views and cheap elementwise nodes may lie between.
bool IsImageOfWindows(const FusionContext& context, const Uses& uses, const std::vector<NodeId>& fed_matmul,
                      const std::vector<bool>& images, NodeId id) {
  const std::vector<NodeId>& users = uses.users(id);
  return std::any_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = context.graph.node(user);
    if (node.op == OpKind::kWindow) return fed_matmul[user] < 0 && context.maps.of(user, 0).replicates;
    const bool passes = ClassOf(node) == FusionClass::kView || ClassOf(node) == FusionClass::kElementwise ||
                        (node.op == OpKind::kPad && node.operands[0].node == id);
    return images[user] && passes && !IsExpensive(node);
  });
}

// Whether matmuls read `id` only as their lhs, in place.
bool IsLhsView(const FusionContext& context, NodeId id, const MatmulReads& reads) {
  return reads.lhs && !reads.other && ThroughView(context, id, *reads.lhs);
}

}  // namespace

absl::StatusOr<FusionPlan> OneNodeGroups(const FusionContext& context, std::vector<bool> floating) {
  Uses uses(context.graph, std::move(floating));
  FusionPlan plan;
  for (NodeId id = 0; id < static_cast<NodeId>(context.graph.nodes().size()); ++id) {
    if (!uses.core(id)) continue;
    TAILOR_ASSIGN_OR_RETURN(FusionGroup group, FormGroup(context, uses, {id}));
    plan.groups.push_back(std::move(group));
  }
  return plan;
}

absl::Status AbsorbViews(const FusionContext& context, FusionPlan& plan) {
  const Graph& graph = context.graph;
  Uses uses(graph, std::vector<bool>(graph.nodes().size(), false));
  std::vector<bool> floating(graph.nodes().size(), false);
  std::vector<bool> stored(graph.nodes().size(), false);     // views that a floating reshape reads from memory
  std::vector<NodeId> fed_matmul(graph.nodes().size(), -1);  // a matmul behind floating nodes; -1: none
  std::vector<MatmulReads> reads(graph.nodes().size());
  std::vector<bool> images(graph.nodes().size(), false);
  const std::vector<ResultView> views = ViewsOfResults(context, uses);
  std::vector<Refusal> refusals = std::move(plan.refusals);
  for (NodeId id = static_cast<NodeId>(floating.size()) - 1; id >= 0; --id) {
    if (!uses.live(id)) continue;
    images[id] = IsImageOfWindows(context, uses, fed_matmul, images, id);
    if (!IsFree(graph.node(id))) continue;
    NodeId& matmul = fed_matmul[id];
    for (NodeId user : uses.users(id)) {
      if (IsContraction(graph.node(user))) matmul = user;
      if (floating[user] && fed_matmul[user] >= 0) matmul = fed_matmul[user];
    }
    reads[id] = ReadsOf(context, uses, floating, reads, id);
    if (matmul >= 0 && !uses.stored(id) && !IsLinear(context, id) && ReshapesParts(context, id)) {
      stored[graph.node(id).operands[0].node] = !IsLhsView(context, id, reads[id]);
      floating[id] = true;
      continue;
    }
    if (stored[id] || views[id].one_reader) continue;
    if (views[id].transposes && views[id].ends && matmul < 0) continue;
    if (images[id] && !context.traits.free_index_arithmetic && SpreadsLastDim(graph, id)) continue;
    floating[id] = !uses.stored(id) && (matmul < 0 || IsLinear(context, id));
    if (!floating[id] && matmul >= 0 && !uses.stored(id)) {
      refusals.push_back({id, matmul, "absorb-views",
                          absl::StrCat(InfoOf(graph.node(id).op).text, " ", graph.NameOf({id, 0}),
                                       " is no linear index map of the matmul's operand")});
    }
  }
  TAILOR_ASSIGN_OR_RETURN(plan, OneNodeGroups(context, std::move(floating)));
  plan.refusals = std::move(refusals);
  return absl::OkStatus();
}

}  // namespace tailor
