// Rewrite: replaces every dim of every type and attribute by its canonical form (ShapeFacts::Canonical). Later passes
// can then compare dims by structure.
#ifndef TAILOR_FUSION_CANONICALIZE_DIMS_H_
#define TAILOR_FUSION_CANONICALIZE_DIMS_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Preserves: values, names, order of nodes. Symbols that are provably equal become one symbol, the representative of
// their class.
absl::StatusOr<Graph> CanonicalizeDims(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_CANONICALIZE_DIMS_H_
