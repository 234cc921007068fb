// An observer of every pass of the two pass lists (rewrites.cc, pipeline.cc); tests use it to count.
#ifndef TAILOR_FUSION_PASS_OBSERVER_H_
#define TAILOR_FUSION_PASS_OBSERVER_H_

#include "absl/strings/string_view.h"
#include "fusion/fusion_plan.h"
#include "fusion/rewrites.h"

namespace tailor {

// Called after each pass, in order, also if the pass changed nothing. The arguments are valid during the call.
class PassObserver {
 public:
  virtual ~PassObserver() = default;
  virtual void Rewritten(absl::string_view pass, const Graph& before, const Graph& after) = 0;
  virtual void Fused(absl::string_view pass, const Graph& graph, const FusionPlan& before, const FusionPlan& after) = 0;
};

// Rewrite and Fuse with an observer (may be null).
absl::StatusOr<Graph> RewriteObserved(const Graph& graph, const ShapeFacts& facts, PassObserver* observer,
                                      const AtPass& at_pass = {});
absl::StatusOr<FusionPlan> FuseObserved(const Graph& graph, const ShapeFacts& facts, const TargetTraits& traits,
                                        PassObserver* observer, const AtPass& at_pass = {});

}  // namespace tailor

#endif  // TAILOR_FUSION_PASS_OBSERVER_H_
