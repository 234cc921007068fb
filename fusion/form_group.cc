#include "fusion/form_group.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "fusion/axis_propagation.h"
#include "fusion/lhs_views.h"
#include "fusion/node_class.h"
#include "fusion/operand_map.h"
#include "graph/status_macros.h"
#include "graph/visits.h"

namespace tailor {
namespace {

struct Former {
  const FusionContext& context;
  const Uses& uses;
  std::vector<NodeId> core;
  FusionGroup group;

  const Graph& graph() const { return context.graph; }
  bool InCore(NodeId id) const { return std::binary_search(core.begin(), core.end(), id); }

  // Collects the core nodes, the floating nodes that they read through, and the values read from memory.
  void CollectNodes() {
    CountVisits(core.size());
    std::set<NodeId> nodes(core.begin(), core.end());
    std::set<Value> inputs;
    std::vector<NodeId> pending = core;
    while (!pending.empty()) {
      NodeId id = pending.back();
      pending.pop_back();
      for (Value operand : graph().node(id).operands) {
        if (InCore(operand.node) || IsLiteral(graph(), operand)) continue;
        if (!uses.floating(operand.node)) {
          inputs.insert(operand);
        } else if (nodes.insert(operand.node).second) {
          pending.push_back(operand.node);
        }
      }
    }
    group.nodes.assign(nodes.begin(), nodes.end());
    group.inputs.assign(inputs.begin(), inputs.end());
  }

  void CollectOutputs() {
    for (NodeId id : core) {
      const std::vector<NodeId>& readers = uses.readers(id);
      bool read_outside = std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !InCore(r); });
      if (!read_outside && !uses.stored(id)) continue;
      for (size_t r = 0; r < graph().node(id).results.size(); ++r)
        group.outputs.push_back({id, static_cast<int32_t>(r)});
    }
  }

  absl::Status ChooseDominant() {
    bool reduces = false;
    for (NodeId id : core) {
      const Node& node = graph().node(id);
      if (IsControl(node)) {
        group.kind = GroupKind::kControl;
        group.dominant = id;
        if (core.size() == 1) return absl::OkStatus();
        return absl::FailedPreconditionError("control flow runs between kernels, not in them");
      }
      if (IsScatter(node)) {
        group.kind = GroupKind::kScatter;
        group.dominant = id;
        if (core.size() == 1) return absl::OkStatus();
        return absl::FailedPreconditionError("a scatter updates memory in order, in kernels of its own");
      }
      if (IsScan(node)) {
        if (group.dominant >= 0) return IsScanWithoutGroup();
        group.kind = GroupKind::kScan;
        group.dominant = id;
      }
      if (IsContraction(node)) {
        if (group.kind == GroupKind::kScan) return IsScanWithoutGroup();
        if (group.kind == GroupKind::kContraction) {
          return absl::FailedPreconditionError("two matmuls have loop nests of their own");
        }
        group.kind = GroupKind::kContraction;
        group.dominant = id;
      }
      reduces |= IsReduction(node);
    }
    if (!reduces) return absl::OkStatus();
    if (group.kind == GroupKind::kScan) return IsScanWithoutGroup();
    if (group.kind == GroupKind::kContraction) {
      return absl::FailedPreconditionError("a matmul is tiled over its columns, a reduction needs whole rows");
    }
    group.kind = GroupKind::kRow;
    group.dominant = DominantReduction();
    return absl::OkStatus();
  }

  static absl::Status IsScanWithoutGroup() {
    return absl::FailedPreconditionError("a scan runs in order, in a loop nest of its own");
  }

  // The first reduction of the highest rank; all others must map onto its dims.
  NodeId DominantReduction() const {
    NodeId best = -1;
    for (NodeId id : core) {
      if (!IsReduction(graph().node(id))) continue;
      if (best < 0 || RealRank(id) > RealRank(best)) best = id;
    }
    return best;
  }

  // Number of dims of the reduced operand that are not provably 1.
  int RealRank(NodeId reduction) const {
    const Shape& shape = graph().type(graph().node(reduction).operands[0]).shape;
    return static_cast<int>(std::count_if(
        shape.begin(), shape.end(), [&](const DimExpr& dim_size) { return !ProvablyOne(context.facts, dim_size); }));
  }

  absl::Status FormLoop() {
    const Shape& shape = graph().type(group.outputs.front()).shape;
    for (Value output : group.outputs) {
      const Shape& other = graph().type(output).shape;
      std::string pair = absl::StrCat("outputs ", graph().NameOf(group.outputs.front()), " and ",
                                      graph().NameOf(output), " have different domains: ");
      if (other.size() != shape.size()) {
        return absl::FailedPreconditionError(
            absl::StrCat(pair, "ranks ", shape.size(), " and ", other.size(), " differ"));
      }
      for (size_t d = 0; d < shape.size(); ++d) {
        if (context.facts.ProvablyEqual(shape[d], other[d])) continue;
        return absl::FailedPreconditionError(absl::StrCat(pair, UnequalDimSizes(graph(), shape[d], other[d])));
      }
    }
    for (const DimExpr& dim_size : shape) group.axes.push_back({dim_size, false});
    return absl::OkStatus();
  }

  // The dims of one update run in parallel; the dims that number the updates run in order.
  void FormScatter() {
    const Node& scatter = graph().node(group.dominant);
    const Shape& indices = graph().type(scatter.operands[1]).shape;
    const Shape& updates = graph().type(scatter.operands[2]).shape;
    const size_t count = indices.size() - 1;
    for (size_t d = count; d < updates.size(); ++d) group.axes.push_back({updates[d], false});
    for (size_t d = 0; d < count; ++d) group.axes.push_back({indices[d], true});
  }

  absl::Status FormScan() {
    const Shape& shape = graph().type({group.dominant, 0}).shape;
    const auto axis = static_cast<size_t>(graph().node(group.dominant).i64("axis"));
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != axis) group.axes.push_back({shape[d], false});
    }
    group.axes.push_back({shape[axis], true});
    return absl::OkStatus();
  }

  absl::Status FormRow() {
    const Shape& shape = graph().type(graph().node(group.dominant).operands[0]).shape;
    const OperandMap& map = context.maps.of(group.dominant, 0);
    for (bool tile : {false, true}) {
      for (size_t d = 0; d < shape.size(); ++d) {
        if ((map.dims[d] == kReducedDim) == tile) group.axes.push_back({shape[d], tile});
      }
    }
    return absl::OkStatus();
  }

  absl::Status FormContraction() {
    if (group.outputs.size() != 1) {
      return absl::FailedPreconditionError(absl::StrCat("the matmul would write ", group.outputs.size(), " results (",
                                                        ValueNames(group.outputs), "), and its kernel writes one"));
    }
    TAILOR_RETURN_IF_ERROR(SplitTrailingViews());
    TAILOR_ASSIGN_OR_RETURN(const std::set<NodeId> prologue, Prologue());
    for (NodeId id : core) {
      if (prologue.contains(id)) continue;
      bool trailing = std::count(group.trailing_views.begin(), group.trailing_views.end(), id) != 0;
      if (id == group.dominant || trailing || ClassOf(graph().node(id)) == FusionClass::kElementwise) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(graph().NameOf({id, 0}), " is no elementwise epilogue of the matmul"));
    }
    const Node& dot = graph().node(group.dominant);
    for (const DimExpr& dim_size : dot.results[0].shape) group.axes.push_back({dim_size, false});
    const Shape& lhs = graph().type(dot.operands[0]).shape;
    group.axes.push_back({lhs[lhs.size() - (dot.i64("transpose_lhs") != 0 ? 2 : 1)], true});
    return absl::OkStatus();
  }

  // The core nodes before the matmul: the padding of its lhs and the nodes that it is computed from.
  absl::StatusOr<std::set<NodeId>> Prologue() const {
    std::set<NodeId> nodes;
    std::vector<NodeId> pending = {PaddingOfLhs(context, uses, core, group.dominant)};
    if (pending.back() < 0) return nodes;
    if (!context.traits.free_index_arithmetic && ReadsRuns(graph().node(group.dominant))) {
      return absl::FailedPreconditionError(absl::StrCat("the windows of ", graph().NameOf({pending.back(), 0}),
                                                        " are contiguous in memory, but not in a staging buffer"));
    }
    while (!pending.empty()) {
      const NodeId id = pending.back();
      pending.pop_back();
      if (!nodes.insert(id).second) continue;
      if (IsExpensive(graph().node(id))) {
        return absl::FailedPreconditionError(absl::StrCat(graph().NameOf({id, 0}), " (",
                                                          InfoOf(graph().node(id).op).text,
                                                          ") would be computed again for many tasks"));
      }
      for (Value operand : graph().node(id).operands) {
        NodeId source = operand.node;
        while (uses.floating(source) && !graph().node(source).operands.empty()) {
          if (!context.traits.free_index_arithmetic && ReadsAcrossRows(source)) {
            return absl::FailedPreconditionError(
                absl::StrCat("every task would read ", graph().NameOf({source, 0}), " across rows"));
          }
          source = graph().node(source).operands[0].node;
        }
        if (InCore(source)) pending.push_back(source);
      }
    }
    return nodes;
  }

  // Whether a row of the matmul's lhs is a run of elements in memory: the windows along a sequence [batch, positions,
  // channels], without dilation (fusion/channels_last.h).
  bool ReadsRuns(const Node& dot) const {
    const Node& joined = graph().node(dot.operands[0].node);
    if (dot.i64("transpose_lhs") != 0 || joined.op != OpKind::kReshape) return false;
    const Node& moved = graph().node(joined.operands[0].node);
    if (moved.op != OpKind::kTranspose) return false;
    const Node& window = graph().node(moved.operands[0].node);
    if (window.op != OpKind::kWindow) return false;
    const std::vector<int64_t>& dilations = window.i64s("dilations");
    return window.i64s("axes") == std::vector<int64_t>{1} && window.results[0].shape.size() == 4 &&
           moved.i64s("permutation") == std::vector<int64_t>{0, 1, 3, 2} && (dilations.empty() || dilations[0] == 1);
  }

  // Whether neighbours of the view's last dim are rows apart in its operand.
  bool ReadsAcrossRows(NodeId view) const {
    const Node& node = graph().node(view);
    return MovesLastDim(node) && !ProvablyOne(context.facts, graph().type(node.operands[0]).shape.back());
  }

  // The nodes computed from the matmul's result, the matmul included.
  std::set<NodeId> Followers() const {
    std::set<NodeId> followers = {group.dominant};
    for (NodeId id : group.nodes) {
      for (Value operand : graph().node(id).operands) {
        if (followers.contains(operand.node)) followers.insert(id);
      }
    }
    return followers;
  }

  // The last node of the chain of views that starts at a value computed in place by the matmul. It is the output, or
  // the value that the final elementwise nodes read. -1: there are no such views.
  absl::StatusOr<NodeId> EndOfTrailingViews(const std::set<NodeId>& followers) const {
    std::set<NodeId> ends, pending = {group.outputs.front().node};
    while (!pending.empty()) {
      const NodeId id = *pending.begin();
      pending.erase(pending.begin());
      if (id == group.dominant) return -1;
      if (ClassOf(graph().node(id)) == FusionClass::kView) {
        ends.insert(id);
        continue;
      }
      for (Value operand : graph().node(id).operands) {
        if (followers.contains(operand.node)) pending.insert(operand.node);
      }
    }
    if (ends.size() == 1) return *ends.begin();
    return absl::FailedPreconditionError("the matmul's result is read through several views");
  }

  // Checks that each element of a node after the views is computed once, at the end of the views.
  absl::Status CheckShapesAfterViews(NodeId end, const std::set<NodeId>& followers) const {
    const Shape& shape = graph().type({end, 0}).shape;
    for (auto follower = followers.upper_bound(end); follower != followers.end(); ++follower) {
      const NodeId id = *follower;
      const Shape& other = graph().type({id, 0}).shape;
      const bool same = shape.size() == other.size() &&
                        std::equal(shape.begin(), shape.end(), other.begin(), [&](const DimExpr& a, const DimExpr& b) {
                          return context.facts.ProvablyEqual(a, b);
                        });
      if (same) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(graph().NameOf({id, 0}), " repeats the matmul's result after views of it"));
    }
    return absl::OkStatus();
  }

  // Turns the chain of views before the output, or before its final elementwise nodes, into the store index.
  absl::Status SplitTrailingViews() {
    const std::set<NodeId> followers = Followers();
    TAILOR_ASSIGN_OR_RETURN(const NodeId end, EndOfTrailingViews(followers));
    if (end < 0) return absl::OkStatus();
    NodeId id = end;
    while (ClassOf(graph().node(id)) == FusionClass::kView) {
      group.trailing_views.insert(group.trailing_views.begin(), id);
      id = graph().node(id).operands[0].node;
    }
    if (!InCore(id)) return absl::FailedPreconditionError("the views do not read the matmul's result");
    for (NodeId view : group.trailing_views) TAILOR_RETURN_IF_ERROR(CheckTrailingView(view));
    return CheckShapesAfterViews(end, followers);
  }

  // Each result element must have one address, found without division. Allowed: transposes, reshapes that join dims,
  // and any reshape at the end (memory order is unchanged).
  absl::Status CheckTrailingView(NodeId view) const {
    const Node& node = graph().node(view);
    if (node.op == OpKind::kTranspose || view == group.trailing_views.back()) {
      if (node.op == OpKind::kTranspose || node.op == OpKind::kReshape) return absl::OkStatus();
    }
    if (node.op != OpKind::kReshape) {
      return absl::FailedPreconditionError(
          absl::StrCat(InfoOf(node.op).text, " ", graph().NameOf({view, 0}), " does not cover the matmul's result"));
    }
    if (ReshapeOnlyJoins(graph(), context.facts, view)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("reshape ", graph().NameOf({view, 0}), " splits dims before another view"));
  }

  std::string ValueNames(const std::vector<Value>& values) const {
    std::string names;
    for (Value v : values) absl::StrAppend(&names, names.empty() ? "" : ", ", graph().NameOf(v));
    return names;
  }

  absl::Status FormDomain() {
    switch (group.kind) {
      case GroupKind::kLoop:
        return FormLoop();
      case GroupKind::kRow:
        return FormRow();
      case GroupKind::kScan:
        return FormScan();
      default:
        return FormContraction();
    }
  }

  absl::Status Form() {
    CollectNodes();
    CollectOutputs();
    TAILOR_RETURN_IF_ERROR(ChooseDominant());
    if (group.kind == GroupKind::kControl) return absl::OkStatus();
    if (group.kind == GroupKind::kScatter) {
      FormScatter();
      return absl::OkStatus();
    }
    TAILOR_RETURN_IF_ERROR(FormDomain());
    return PropagateAxes(context, uses, group);
  }
};

}  // namespace

absl::StatusOr<FusionGroup> FormGroup(const FusionContext& context, const Uses& uses, std::vector<NodeId> core) {
  Former former{context, uses, std::move(core), {}};
  TAILOR_RETURN_IF_ERROR(former.Form());
  return std::move(former.group);
}

}  // namespace tailor
