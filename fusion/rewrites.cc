// The graph rewrites, in order.

#include "fusion/rewrites.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "fusion/canonicalize_dims.h"
#include "fusion/channels_last.h"
#include "fusion/eliminate_broadcasts.h"
#include "fusion/group_queries.h"
#include "fusion/merge_equal_nodes.h"
#include "fusion/merge_matmuls.h"
#include "fusion/narrow_matmuls.h"
#include "fusion/pass_observer.h"
#include "fusion/remove_dead_nodes.h"
#include "fusion/separate_outputs.h"
#include "fusion/simplify_algebra.h"
#include "fusion/simplify_views.h"
#include "fusion/split_long_matmuls.h"
#include "graph/dump.h"
#include "graph/status_macros.h"
#include "graph/verifier.h"

namespace tailor {
namespace {

struct Pass {
  const char* name;
  absl::StatusOr<Graph> (*run)(const Graph& graph, const ShapeFacts& facts);
  bool optional = false;  // later passes do not need it
};

// The complete list of rewrites, in order. A pass absent from this list does not exist.
constexpr Pass kPasses[] = {
    {"canonicalize-dims", CanonicalizeDims},        // first: later passes compare structure
    {"eliminate-broadcasts", EliminateBroadcasts},  // uncovers neutral constants
    {"simplify-algebra", SimplifyAlgebra, true},
    {"quantize-once", QuantizeOnce, true},
    {"scale-one-operand", ScaleOneOperand, true},
    {"keep-channels-last", KeepChannelsLast, true},  // makes transposes of transposes
    {kKeepImagesChannelsLast, KeepImagesChannelsLast, true},
    {"group-queries", GroupQueries, true},  // makes reshapes of reshapes
    {"compose-views", ComposeViews},        // may leave identities
    {"remove-identity-views", RemoveIdentityViews},
    {"reshape-constants", ReshapeConstants},  // views are final
    {"merge-equal-nodes", MergeEqualNodes, true},
    {"merge-matmuls", MergeMatmuls, true},    // equal lhs are one node
    {"narrow-matmuls", NarrowMatmuls, true},  // after merging: N is final
    {"split-long-matmuls", SplitLongMatmuls},
    {"reshape-constants", ReshapeConstants},  // reshapes made by the split
    {"remove-dead-nodes", RemoveDeadNodes},
    {"separate-outputs", SeparateOutputs},  // last: its copies are identity views
};

}  // namespace

std::vector<std::string> OptionalRewrites() {
  std::vector<std::string> names;
  for (const Pass& pass : kPasses) {
    if (pass.optional) names.emplace_back(pass.name);
  }
  return names;
}

absl::StatusOr<Graph> Rewrite(const Graph& graph, const ShapeFacts& facts, const AtPass& at_pass) {
  return RewriteObserved(graph, facts, nullptr, at_pass);
}

absl::StatusOr<Graph> RewriteObserved(const Graph& graph, const ShapeFacts& facts, PassObserver* observer,
                                      const AtPass& at_pass) {
  Graph current = graph;
  VerifiedRegions verified;
  for (int i = 0; i < static_cast<int>(std::size(kPasses)); ++i) {
    if (at_pass) {
      TAILOR_ASSIGN_OR_RETURN(const bool runs, at_pass("rewrite", kPasses[i].name));
      if (!runs && kPasses[i].optional) continue;
    }
    TAILOR_ASSIGN_OR_RETURN(Graph next, kPasses[i].run(current, facts));
    if (observer != nullptr) observer->Rewritten(kPasses[i].name, current, next);
    current = std::move(next);
    if (absl::Status valid = VerifyGraph(current, &verified); !valid.ok()) {
      return absl::InternalError(absl::StrCat("after ", kPasses[i].name, ": ", valid.message()));
    }
    if (DumpWanted()) TAILOR_RETURN_IF_ERROR(DumpPass("rewrite", i, kPasses[i].name, current.ToText()));
  }
  return current;
}

}  // namespace tailor
