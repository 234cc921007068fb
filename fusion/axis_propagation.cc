#include "fusion/axis_propagation.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "fusion/axis_hints.h"
#include "fusion/node_class.h"
#include "fusion/operand_map.h"
#include "graph/status_macros.h"
#include "graph/visits.h"

namespace tailor {
namespace {

// Limit on cheap nodes that are recomputed for every reader.
constexpr int kMaxReplicatedNodes = 8;
// The same limit for nodes that compute a gather's innermost indices, on CPUs: they are recomputed per element in
// 64-bit lanes.
constexpr int kMaxReplicatedIndexNodes = 1;

bool Contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Walks back from the outputs along the hinted axes and decides how each node is used.
struct Walk {
  const FusionContext& context;
  const Uses& uses;
  FusionGroup& group;
  AxisHints hints;
  std::map<NodeId, NodeUse> use;
  std::map<NodeId, std::string> unproved;  // why some dim of the node has no axis
  std::vector<NodeId> roots;
  std::map<NodeId, bool> depends;  // whether it depends on a reduction, matmul or scan of the group

  const Graph& graph() const { return context.graph; }
  std::string Name(NodeId id) const { return graph().NameOf({id, 0}); }
  bool InGroup(NodeId id) const { return std::binary_search(group.nodes.begin(), group.nodes.end(), id); }
  bool IsRoot(NodeId id) const { return std::find(roots.begin(), roots.end(), id) != roots.end(); }
  template <typename... Args>
  absl::Status Refuse(const Args&... args) const {
    return absl::FailedPreconditionError(absl::StrCat(args...));
  }

  bool RealAxis(int axis) const { return !ProvablyOne(context.facts, group.axes[axis].dim_size); }
  // Whether `axes` contains every axis of dim size != 1 that satisfies `wanted`.
  template <typename Predicate>
  bool Covers(const std::vector<int>& axes, Predicate wanted) const {
    for (int a = 0; a < static_cast<int>(group.axes.size()); ++a) {
      if (wanted(a) && RealAxis(a) && !Contains(axes, a)) return false;
    }
    return true;
  }
  bool CoversRows(const std::vector<int>& axes) const {
    return Covers(axes, [&](int a) { return !group.axes[a].tile; });
  }
  bool CoversDomain(const std::vector<int>& axes) const {
    return Covers(axes, [&](int a) { return group.kind != GroupKind::kContraction || !group.axes[a].tile; });
  }
  bool HasTile(const std::vector<int>& axes) const {
    return std::any_of(axes.begin(), axes.end(), [&](int a) { return a >= 0 && group.axes[a].tile; });
  }
  // One value per row.
  bool PerRow(const std::vector<int>& axes) const {
    return group.kind == GroupKind::kRow && CoversRows(axes) && !HasTile(axes);
  }
  bool Replicated(const NodeUse& u) const {
    if (u.kind == NodeUse::Kind::kMany) return true;
    return u.kind == NodeUse::Kind::kAligned && !CoversDomain(u.axes) && !PerRow(u.axes);
  }

  std::string AxesText() const {
    std::string text = "[";
    for (size_t a = 0; a < group.axes.size(); ++a) {
      bool first_tile = group.axes[a].tile && (a == 0 || !group.axes[a - 1].tile);
      absl::StrAppend(&text,
                      first_tile ? (a == 0 ? "| " : " | ")
                      : a == 0   ? ""
                                 : ", ",
                      graph().DimText(group.axes[a].dim_size));
    }
    return text + "]";
  }

  static bool InOrder(const std::vector<int>& axes) {
    for (int d = 0; d < static_cast<int>(axes.size()); ++d) {
      if (axes[d] != kUnitDim && axes[d] != d) return false;
    }
    return true;
  }

  // Views that rows and matmuls store through.
  bool IsStoredView(NodeId id) const {
    return group.kind != GroupKind::kLoop && ClassOf(graph().node(id)) == FusionClass::kView;
  }

  // Roots: the nodes that the loop nest computes for the outputs. A loop computes views in place; rows and matmuls
  // store through them.
  absl::Status FindRoots() {
    for (Value output : group.outputs) {
      // Elementwise nodes after a matmul's trailing views are computed at the end of the views.
      NodeId id = group.trailing_views.empty() ? output.node : group.trailing_views.back();
      while (IsStoredView(id)) {
        OpKind op = graph().node(id).op;
        if (op != OpKind::kTranspose && op != OpKind::kReshape) {
          return Refuse(InfoOf(op).text, " ", Name(id), " does not cover its operand");
        }
        id = graph().node(id).operands[0].node;
      }
      if (!InGroup(id)) return Refuse("output ", Name(output.node), " is a view of memory");
      if (!IsRoot(id)) roots.push_back(id);
    }
    return absl::OkStatus();
  }

  void FindDependents() {
    for (NodeId id : group.nodes) {
      const Node& node = graph().node(id);
      bool found = id == group.dominant || IsReduction(node);
      for (Value operand : node.operands) found = found || (InGroup(operand.node) && depends[operand.node]);
      depends[id] = found;
    }
  }

  // The reason why dim `d` of `id` has no axis. If one axis is left for it, names the two dim sizes that would have to
  // be equal.
  std::string MissingAxis(NodeId id, size_t d) const {
    const DimExpr& dim_size = graph().type({id, 0}).shape[d];
    std::string text = absl::StrCat("dim ", d, " of ", Name(id), " is no axis of the domain ", AxesText());
    std::vector<int> left;
    for (int a = 0; a < static_cast<int>(group.axes.size()); ++a) {
      bool contracted = group.kind == GroupKind::kContraction && group.axes[a].tile;
      if (!contracted && RealAxis(a) && !Contains(hints.of(id), a)) left.push_back(a);
    }
    if (left.size() != 1 || context.facts.ProvablyEqual(dim_size, group.axes[left[0]].dim_size)) return text;
    return absl::StrCat(text, ": ", UnequalDimSizes(graph(), dim_size, group.axes[left[0]].dim_size));
  }

  // Index coverage (BladeDISC 4.2): each element of an output is computed exactly once.
  absl::Status StartAtRoot(NodeId id) {
    const std::vector<int>& axes = hints.of(id);
    std::vector<int> seen;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (axes[d] == kUnitDim) continue;
      if (axes[d] == kUnknownAxis || Contains(seen, axes[d])) return Refuse(MissingAxis(id, d));
      seen.push_back(axes[d]);
    }
    if (group.kind == GroupKind::kContraction && !InOrder(axes)) {
      return Refuse(Name(id), " permutes or moves the dims of the matmul");
    }
    if (!CoversDomain(axes) && !PerRow(axes)) {
      return Refuse(Name(id), " covers neither the domain ", AxesText(), " nor its rows");
    }
    use[id] = {NodeUse::Kind::kAligned, axes};
    return absl::OkStatus();
  }

  void Combine(NodeId id, const NodeUse& added) {
    NodeUse& old = use[id];
    if (old.kind == NodeUse::Kind::kNone) {
      old = added;
    } else if (old != added) {
      old = {NodeUse::Kind::kMany, {}};
    }
  }

  // Whether each element of `id` reads the element of the operand with its own index.
  bool SameIndex(NodeId id, int operand, const OperandMap& map) const {
    const Node& node = graph().node(id);
    if (graph().type(node.operands[operand]).shape != node.results[0].shape) return false;
    for (int d = 0; d < static_cast<int>(map.dims.size()); ++d) {
      if (map.dims[d] != d && map.dims[d] != kUnitDim) return false;
    }
    return true;
  }

  NodeUse Through(NodeId id, int operand, const NodeUse& u, const OperandMap& map) const {
    using Kind = NodeUse::Kind;
    if (u.kind == Kind::kMany) return {Kind::kMany, {}};
    if (u.kind == Kind::kOnce || !map.aligned()) {
      if (map.replicates || Replicated(u)) return {Kind::kMany, {}};
      return u.kind == Kind::kOnce && SameIndex(id, operand, map) ? u : NodeUse{Kind::kOnce, {}, id, operand};
    }
    NodeUse result{Kind::kAligned, {}};
    for (size_t d = 0; d < map.dims.size(); ++d) {
      int r = map.dims[d];
      result.axes.push_back(r == kReducedDim ? hints.domain(id)[d] : r == kUnitDim ? kUnitDim : u.axes[r]);
    }
    return result;
  }

  absl::Status Visit(NodeId id) {
    CountVisits();
    const NodeUse& u = use[id];
    const Node& node = graph().node(id);
    if (IsReduction(node)) TAILOR_RETURN_IF_ERROR(CheckReduction(id, u));
    if (IsContraction(node)) return absl::OkStatus();
    if (IsScan(node) && u.kind == NodeUse::Kind::kAligned && u.axes != hints.of(id)) {
      return Refuse(Name(id), " is read at other elements than it has reached");
    }
    for (int i = 0; i < static_cast<int>(node.operands.size()); ++i) {
      NodeId operand = node.operands[i].node;
      if (!InGroup(operand)) continue;
      const OperandMap& map = hints.map(id, i);
      for (const auto& [a, b] : map.unproved) unproved[operand] = UnequalDimSizes(graph(), a, b);
      Combine(operand, Through(id, i, u, map));
    }
    return absl::OkStatus();
  }

  absl::Status CheckReduction(NodeId id, const NodeUse& u) {
    if (u.kind != NodeUse::Kind::kAligned) return Refuse(Name(id), " is read at other rows than its own");
    const std::vector<int>& domain = hints.domain(id);
    const OperandMap& map = hints.map(id, 0);
    std::vector<int> reduced;
    for (size_t d = 0; d < domain.size(); ++d) {
      if (domain[d] == kUnknownAxis) {
        return Refuse("dim ", d, " that ", Name(id), " reads is no axis of the domain ", AxesText());
      }
      if (map.dims[d] == kReducedDim) reduced.push_back(domain[d]);
    }
    if (!CoversRows(u.axes) || HasTile(u.axes)) {
      return Refuse(Name(id), " has other rows than the domain ", AxesText());
    }
    bool tiles_only =
        std::all_of(reduced.begin(), reduced.end(), [&](int a) { return a == kUnitDim || group.axes[a].tile; });
    if (!tiles_only || !Covers(reduced, [&](int a) { return group.axes[a].tile; })) {
      return Refuse(Name(id), " reduces other axes than the domain ", AxesText());
    }
    group.reduce_axes[id] = reduced;
    return absl::OkStatus();
  }

  bool GathersInnermost(const Node& gather) const {
    const int last = graph().type(gather.operands[0]).rank() - 1;
    const int64_t axis = gather.i64("axis");
    return graph().type(gather.operands[1]).rank() > 0 && (axis == last || axis == -1);
  }

  // The nodes that a gather's indices are computed from, for gathers along the innermost dim.
  std::set<NodeId> InnermostIndices() const {
    std::set<NodeId> found;
    for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) {
      const Node& node = graph().node(*it);
      const bool follows = found.contains(*it);
      const bool gathers = node.op == OpKind::kGather && GathersInnermost(node);
      for (size_t i = 0; i < node.operands.size(); ++i) {
        if ((follows || (gathers && i > 0)) && InGroup(node.operands[i].node)) found.insert(node.operands[i].node);
      }
    }
    return found;
  }

  // Refuses recomputation of expensive nodes, and reads of a reduction's or matmul's successors at other elements.
  absl::Status CheckCost() const {
    const std::set<NodeId> indices = context.traits.free_index_arithmetic ? std::set<NodeId>() : InnermostIndices();
    int replicated = 0, replicated_indices = 0;
    for (const auto& [id, u] : use) {
      if (u.kind == NodeUse::Kind::kNone) continue;
      const Node& node = graph().node(id);
      auto blame = unproved.find(id);
      std::string why = blame == unproved.end() ? "" : absl::StrCat(": ", blame->second);
      if (depends.at(id) && u.kind != NodeUse::Kind::kAligned) {
        const std::string follows = id == group.dominant ? "" : absl::StrCat(" follows ", Name(group.dominant), " and");
        return Refuse(Name(id), follows, " is read at other elements", why);
      }
      if (!Replicated(u)) continue;
      if (uses.core(id) && !context.traits.free_index_arithmetic && SpreadsLastDim(graph(), id)) {
        return Refuse(Name(id), " (", InfoOf(node.op).text, ") would be read lane by lane for many readers", why);
      }
      if (IsFree(node)) continue;
      if (IsExpensive(node)) {
        return Refuse(Name(id), " (", InfoOf(node.op).text, ") would be computed again for many readers", why);
      }
      if (indices.contains(id) && ++replicated_indices > kMaxReplicatedIndexNodes) {
        return Refuse("more than ", kMaxReplicatedIndexNodes, " nodes before ", Name(id),
                      " would compute an index again for many elements", why);
      }
      if (++replicated > kMaxReplicatedNodes) {
        return Refuse("more than ", kMaxReplicatedNodes, " nodes before ", Name(id),
                      " would be computed again for many readers", why);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run() {
    TAILOR_RETURN_IF_ERROR(FindRoots());
    FindDependents();
    for (NodeId root : roots) TAILOR_RETURN_IF_ERROR(StartAtRoot(root));
    for (auto it = group.nodes.rbegin(); it != group.nodes.rend(); ++it) {
      if (use[*it].kind != NodeUse::Kind::kNone) TAILOR_RETURN_IF_ERROR(Visit(*it));
    }
    TAILOR_RETURN_IF_ERROR(CheckRoots());
    TAILOR_RETURN_IF_ERROR(CheckCost());
    for (const auto& [id, u] : use) {
      if (IsRoot(id)) group.axis_of[id] = hints.of(id);
      if (IsRoot(id) && u.kind != NodeUse::Kind::kAligned) group.read_elsewhere.push_back(id);
      if (uses.core(id) && !IsStoredView(id) && u.kind == NodeUse::Kind::kAligned) group.axis_of[id] = u.axes;
    }
    return absl::OkStatus();
  }

  // Rows are staged, so a written value has one index. A loop recomputes it where needed.
  absl::Status CheckRoots() const {
    if (group.kind == GroupKind::kLoop) return absl::OkStatus();
    for (NodeId root : roots) {
      if (use.at(root).kind != NodeUse::Kind::kAligned) {
        return Refuse("output ", Name(root), " is also read at other elements");
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status PropagateAxes(const FusionContext& context, const Uses& uses, FusionGroup& group) {
  return Walk{context, uses, group, AxisHints(context, group), {}, {}, {}, {}}.Run();
}

}  // namespace tailor
