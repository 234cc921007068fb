// The fusion pipeline: small groups first, larger ones from them (BladeDISC 4.1).

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "fusion/absorb_views.h"
#include "fusion/chain_matmuls.h"
#include "fusion/fuse_dot_epilogue.h"
#include "fusion/fuse_elementwise.h"
#include "fusion/fuse_reduce.h"
#include "fusion/fuse_scan.h"
#include "fusion/fusion_context.h"
#include "fusion/fusion_plan.h"
#include "fusion/merge_matmuls.h"
#include "fusion/pass_observer.h"
#include "fusion/remote_stitch.h"
#include "fusion/stitch.h"
#include "graph/dump.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Keeps one refusal per edge and pass, only for edges that are still between kernels. Views at either end may have
// joined their readers since.
absl::Status SettleRefusals(const FusionContext& context, FusionPlan& plan) {
  const Graph& graph = context.graph;
  Uses uses = Uses::Of(graph, plan);
  std::vector<int> kernel_of(plan.groups.size());
  std::iota(kernel_of.begin(), kernel_of.end(), 0);
  for (const std::vector<int>& chain : plan.chains) {
    for (int g : chain) kernel_of[g] = chain.back();
  }
  std::map<NodeId, int> node_in;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    for (NodeId id : plan.groups[g].nodes) {
      if (uses.core(id)) node_in[id] = kernel_of[g];
    }
  }
  std::set<std::tuple<NodeId, NodeId, std::string>> seen;
  std::vector<Refusal> kept;
  for (Refusal& refusal : plan.refusals) {
    while (uses.floating(refusal.producer) && !graph.node(refusal.producer).operands.empty()) {
      refusal.producer = graph.node(refusal.producer).operands[0].node;
    }
    if (uses.floating(refusal.consumer)) refusal.consumer = uses.readers(refusal.consumer).front();
    const auto producer = node_in.find(refusal.producer), consumer = node_in.find(refusal.consumer);
    if (producer == node_in.end() || consumer == node_in.end() || producer->second == consumer->second) continue;
    if (!seen.emplace(refusal.producer, refusal.consumer, refusal.pass).second) continue;
    kept.push_back(std::move(refusal));
  }
  std::stable_sort(kept.begin(), kept.end(), [](const Refusal& a, const Refusal& b) {
    return std::tie(a.producer, a.consumer) < std::tie(b.producer, b.consumer);
  });
  plan.refusals = std::move(kept);
  return absl::OkStatus();
}

struct Pass {
  const char* name;
  absl::Status (*run)(const FusionContext& context, FusionPlan& plan);
  bool optional = false;  // later passes do not need it
};

// The complete fusion pipeline, in order. A pass absent from this list does not exist.
constexpr Pass kPasses[] = {
    {"absorb-views", AbsorbViews},                 // first: every later pass sees through views
    {"merge-matmuls", ExplainMatmuls},             // records the refusals of the rewrite
    {"fuse-elementwise", FuseElementwise, true},   // epilogues match whole chains
    {"fuse-dot-epilogue", FuseDotEpilogue, true},  // before reductions claim the chains
    {"fuse-reduce", FuseReduce, true},
    {"stitch", Stitch, true},
    {"fuse-scan", FuseScan, true},  // takes loops that rows left
    {"remote-stitch", RemoteStitch, true},
    {"chain-matmuls", ChainMatmuls, true},  // groups must be final
    {"settle-refusals", SettleRefusals},    // last: refusals of edges between kernels remain
};

}  // namespace

std::vector<std::string> OptionalFusions() {
  std::vector<std::string> names;
  for (const Pass& pass : kPasses) {
    if (pass.optional) names.emplace_back(pass.name);
  }
  return names;
}

absl::StatusOr<FusionPlan> Fuse(const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                                const AtPass& at_pass) {
  return FuseObserved(graph, facts, traits, nullptr, at_pass);
}

absl::StatusOr<FusionPlan> FuseObserved(const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                                        PassObserver* observer, const AtPass& at_pass) {
  FusionContext context{graph, facts, traits};
  std::vector<bool> none_floating(graph.nodes().size(), false);
  TAILOR_ASSIGN_OR_RETURN(FusionPlan plan, OneNodeGroups(context, std::move(none_floating)));
  for (int i = 0; i < static_cast<int>(std::size(kPasses)); ++i) {
    if (at_pass) {
      TAILOR_ASSIGN_OR_RETURN(const bool runs, at_pass("fuse", kPasses[i].name));
      if (!runs && kPasses[i].optional) continue;
    }
    const FusionPlan before = observer != nullptr ? plan : FusionPlan{};
    TAILOR_RETURN_IF_ERROR(kPasses[i].run(context, plan));
    if (observer != nullptr) observer->Fused(kPasses[i].name, graph, before, plan);
    if (absl::Status valid = VerifyFusionPlan(plan, graph); !valid.ok()) {
      return absl::InternalError(absl::StrCat("after ", kPasses[i].name, ": ", valid.message()));
    }
    if (DumpWanted()) TAILOR_RETURN_IF_ERROR(DumpPass("fusion", i, kPasses[i].name, plan.ToText(graph)));
  }
  return plan;
}

}  // namespace tailor
