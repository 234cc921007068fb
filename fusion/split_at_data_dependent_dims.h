// Splits a graph into stages at its data-dependent dims (DISC section 4.2: fully dynamic shapes). Such a stage is a
// graph that becomes a host program of its own; a stage of a kernel plan is something else (docs/glossary.md).
#ifndef TAILOR_FUSION_SPLIT_AT_DATA_DEPENDENT_DIMS_H_
#define TAILOR_FUSION_SPLIT_AT_DATA_DEPENDENT_DIMS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// Splits `graph` into stages at its data-dependent dim sizes. Stage 0 binds its symbols from the graph's inputs. A
// stage with a `bind`, `while` or `if` that defines dim sizes ends in a continuation node (`rest`), which calls the
// next stage. Nodes that need these dim sizes are in later stages. The inputs of the next stage are the arguments of
// the continuation (ContinuationTypes, graph/region_rules.h); it binds its symbols from them as from any input. No
// stage has a `bind`. Without data-dependent dim sizes the only stage is the graph itself. A loop or branch whose dim
// sizes no output needs is dropped, with the nodes that use these dim sizes.
//
// Time and memory are linear in nodes plus, for each stage, the values that it passes on to later ones.
absl::StatusOr<std::vector<Graph>> SplitAtDataDependentDims(const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_FUSION_SPLIT_AT_DATA_DEPENDENT_DIMS_H_
