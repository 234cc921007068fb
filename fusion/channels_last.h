// Rewrites: convolutions keep the layout in which channels are neighbours (the layout pass of BladeDISC section 6.2).
#ifndef TAILOR_FUSION_CHANNELS_LAST_H_
#define TAILOR_FUSION_CHANNELS_LAST_H_

#include "absl/status/statusor.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Convolutions are matmuls of windows of x [batch, channels, positions...] by constant weights, pools and depthwise
// convolutions reductions of windows. Where all that computes or reads a set of linked images can do so
// (fusion/image_layouts.h), they are computed as [batch, positions..., channels]: a row of a matmul is then contiguous,
// and so are the lanes of a reduction. Weights are permuted while compiling: the channels become the inner dim of K.
//
// Preserves: types, names, and values up to the order of a sum. Errors: RESOURCE_EXHAUSTED if memory for the weights is
// missing.

// Sequences: one dim of positions.
absl::StatusOr<Graph> KeepChannelsLast(const Graph& graph, const ShapeFacts& facts);
// Images: two. On targets with TargetTraits::images_channels_last.
constexpr char kKeepImagesChannelsLast[] = "keep-images-channels-last";
absl::StatusOr<Graph> KeepImagesChannelsLast(const Graph& graph, const ShapeFacts& facts);

}  // namespace tailor

#endif  // TAILOR_FUSION_CHANNELS_LAST_H_
