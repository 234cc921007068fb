// Rewrite: convolutions along a sequence keep the layout in which its channels are neighbours (BladeDISC section 6.2).
#ifndef TAILOR_FUSION_CHANNELS_LAST_H_
#define TAILOR_FUSION_CHANNELS_LAST_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// A convolution over one dim is a matmul of windows of x [batch, channels, positions] by constant weights. Where x is a
// transpose of [batch, positions, channels], or elementwise ops and padding of such values, the windows are taken of
// the values as they are in memory: a row of the matmul is then contiguous. The weights' channels become the inner dim
// of its depth. Requires one group, and enough channels. Elementwise nodes that others read as [batch, channels,
// positions] stay.
//
// Preserves: types, names, and values up to the order of a sum. Errors: RESOURCE_EXHAUSTED if memory for the weights is
// missing.
absl::StatusOr<Graph> KeepChannelsLast(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_CHANNELS_LAST_H_
