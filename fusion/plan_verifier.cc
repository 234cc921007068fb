// Structural invariants of a FusionPlan: a failure is a bug of the pass that made it.

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "fusion/fusion_context.h"
#include "fusion/fusion_plan.h"
#include "fusion/node_class.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

struct Verifier {
  const FusionPlan& plan;
  const Graph& graph;
  Uses uses;
  std::vector<int> owner;     // group of each core node
  std::vector<bool> written;  // values in memory before the current group

  template <typename... Args>
  absl::Status Error(size_t g, const Args&... args) const {
    return absl::InternalError(absl::StrCat("fusion plan: g", g, ": ", args...));
  }
  std::string Name(NodeId id) const { return graph.NameOf({id, 0}); }

  absl::Status CheckNodes(size_t g) {
    const FusionGroup& group = plan.groups[g];
    if (group.nodes.empty()) return Error(g, "has no nodes");
    NodeId previous = -1;
    for (NodeId id : group.nodes) {
      if (id <= previous || id >= static_cast<NodeId>(graph.nodes().size())) return Error(g, "nodes do not ascend");
      previous = id;
      if (!uses.live(id)) return Error(g, "has the unused node ", Name(id));
      if (!uses.core(id)) {
        if (!uses.floating(id)) return Error(g, Name(id), " has no code");
        continue;
      }
      if (owner[id] >= 0) return Error(g, Name(id), " is in g", owner[id], " too");
      owner[id] = static_cast<int>(g);
    }
    return absl::OkStatus();
  }

  bool Has(const FusionGroup& group, NodeId id) const {
    return std::binary_search(group.nodes.begin(), group.nodes.end(), id);
  }

  absl::Status CheckInputs(size_t g) const {
    const FusionGroup& group = plan.groups[g];
    std::set<Value> expected;
    for (NodeId id : group.nodes) {
      for (Value operand : graph.node(id).operands) {
        if (!Has(group, operand.node) && !IsLiteral(graph, operand)) expected.insert(operand);
      }
    }
    if (std::vector<Value>(expected.begin(), expected.end()) != group.inputs) {
      return Error(g, "inputs are not the values that its nodes read");
    }
    for (Value input : group.inputs) {
      if (HasCode(graph.node(input.node)) && !written[input.node]) {
        return Error(g, "reads ", graph.NameOf(input), ", which no earlier group writes");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs(size_t g) const {
    const FusionGroup& group = plan.groups[g];
    std::vector<Value> expected;
    for (NodeId id : group.nodes) {
      if (!uses.core(id)) continue;
      const std::vector<NodeId>& readers = uses.readers(id);
      bool outside = std::any_of(readers.begin(), readers.end(), [&](NodeId r) { return !Has(group, r); });
      if (!outside && !uses.stored(id)) continue;
      for (size_t r = 0; r < graph.node(id).results.size(); ++r) expected.push_back({id, static_cast<int32_t>(r)});
    }
    if (expected != group.outputs) return Error(g, "outputs are not the values that others read");
    if (expected.empty() && group.kind != GroupKind::kControl) return Error(g, "writes nothing");
    return absl::OkStatus();
  }

  absl::Status CheckAxes(size_t g) const {
    const FusionGroup& group = plan.groups[g];
    bool tile = false;
    for (const GroupAxis& axis : group.axes) {
      if (tile && !axis.tile) return Error(g, "a group dim follows a tile dim");
      tile = axis.tile;
    }
    for (const auto& [id, axes] : group.axis_of) {
      if (!Has(group, id)) return Error(g, "maps ", Name(id), ", which it has not");
      if (static_cast<int>(axes.size()) != graph.type({id, 0}).rank()) return Error(g, Name(id), " has another rank");
      std::set<int> seen;
      for (int axis : axes) {
        if (axis < -1 || axis >= static_cast<int>(group.axes.size())) return Error(g, Name(id), " has no such axis");
        if (axis >= 0 && !seen.insert(axis).second) return Error(g, Name(id), " has an axis twice");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckKind(size_t g) const {
    const FusionGroup& group = plan.groups[g];
    int matmuls = 0, reductions = 0, scans = 0, scatters = 0, controls = 0;
    for (NodeId id : group.nodes) {
      matmuls += IsContraction(graph.node(id));
      reductions += IsReduction(graph.node(id));
      scans += IsScan(graph.node(id));
      scatters += IsScatter(graph.node(id));
      controls += IsControl(graph.node(id));
      if (IsReduction(graph.node(id)) != (group.reduce_axes.count(id) != 0)) {
        return Error(g, Name(id), " has the wrong reduce axes");
      }
      if (IsReduction(graph.node(id)) && group.axis_of.count(id) == 0) return Error(g, Name(id), " has no axes");
    }
    GroupKind kind = controls != 0     ? GroupKind::kControl
                     : scatters != 0   ? GroupKind::kScatter
                     : scans != 0      ? GroupKind::kScan
                     : matmuls != 0    ? GroupKind::kContraction
                     : reductions != 0 ? GroupKind::kRow
                                       : GroupKind::kLoop;
    const int nests = matmuls + scans + scatters + controls;
    if (nests > 1 || (nests == 1 && reductions != 0)) return Error(g, "has several loop nests");
    if (kind != group.kind) return Error(g, "has the wrong kind");
    if ((group.dominant >= 0) != (kind != GroupKind::kLoop)) return Error(g, "has the wrong dominant node");
    if (group.dominant >= 0 && !Has(group, group.dominant)) return Error(g, "does not have its dominant node");
    return absl::OkStatus();
  }

  absl::Status CheckTrailingViews(size_t g) const {
    const FusionGroup& group = plan.groups[g];
    const std::vector<NodeId>& views = group.trailing_views;
    for (size_t i = 0; i < views.size(); ++i) {
      bool is_view = ClassOf(graph.node(views[i])) == FusionClass::kView;
      if (!is_view || !Has(group, views[i])) return Error(g, Name(views[i]), " is no trailing view of it");
      if (i > 0 && graph.node(views[i]).operands[0].node != views[i - 1])
        return Error(g, "trailing views are no chain");
    }
    if (views.empty()) return absl::OkStatus();
    if (group.kind != GroupKind::kContraction) return Error(g, "has trailing views, but no matmul");
    const NodeId output = group.outputs.front().node;
    if (views.back() > output || (views.back() < output && ClassOf(graph.node(output)) != FusionClass::kElementwise)) {
      return Error(g, "trailing views do not end in the output nor below its epilogue");
    }
    return absl::OkStatus();
  }

  // Each group of a chain passes its only output to the next, and no group is in two chains.
  absl::Status CheckChains() const {
    std::set<int> links;
    for (const std::vector<int>& chain : plan.chains) {
      if (chain.size() < 2) return absl::InternalError("fusion plan: a chain of one group");
      for (size_t i = 0; i < chain.size(); ++i) {
        if (chain[i] < 0 || chain[i] >= static_cast<int>(plan.groups.size())) {
          return absl::InternalError(absl::StrCat("fusion plan: no group g", chain[i], " to chain"));
        }
        if (!links.insert(chain[i]).second) return Error(chain[i], "is chained twice");
        if (i + 1 == chain.size()) continue;
        if (chain[i + 1] <= chain[i]) return Error(chain[i], "follows what it feeds");
        const FusionGroup &from = plan.groups[chain[i]], &to = plan.groups[chain[i + 1]];
        if (from.outputs.size() != 1 || uses.stored(from.outputs[0].node))
          return Error(chain[i], "feeds not only a link");
        for (NodeId reader : uses.readers(from.outputs[0].node)) {
          if (!Has(to, reader)) return Error(chain[i], "feeds not only the next link");
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run() {
    for (size_t g = 0; g < plan.groups.size(); ++g) {
      TAILOR_RETURN_IF_ERROR(CheckNodes(g));
      TAILOR_RETURN_IF_ERROR(CheckInputs(g));
      TAILOR_RETURN_IF_ERROR(CheckOutputs(g));
      TAILOR_RETURN_IF_ERROR(CheckAxes(g));
      TAILOR_RETURN_IF_ERROR(CheckKind(g));
      TAILOR_RETURN_IF_ERROR(CheckTrailingViews(g));
      for (Value output : plan.groups[g].outputs) written[output.node] = true;
    }
    for (NodeId id = 0; id < static_cast<NodeId>(owner.size()); ++id) {
      if (uses.core(id) && owner[id] < 0) {
        return absl::InternalError(absl::StrCat("fusion plan: no group has ", Name(id)));
      }
    }
    return CheckChains();
  }
};

}  // namespace

absl::Status VerifyFusionPlan(const FusionPlan& plan, const Graph& graph) {
  size_t count = graph.nodes().size();
  return Verifier{plan, graph, Uses::Of(graph, plan), std::vector<int>(count, -1), std::vector<bool>(count, false)}
      .Run();
}

}  // namespace tailor
