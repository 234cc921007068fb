// Which convolutions Winograd's algorithm computes (codegen/cpu/conv/winograd.h).
#ifndef TAILOR_CODEGEN_LOWER_WINOGRAD_WINDOWS_H_
#define TAILOR_CODEGEN_LOWER_WINOGRAD_WINDOWS_H_

#include <optional>

#include "analysis/shape_facts.h"
#include "fusion/fusion_plan.h"
#include "graph/graph.h"

namespace tailor::lower {

struct WinogradWindows {
  NodeId node;                 // the window node that the matmul multiplies
  int dilation = 1;            // of both dims
  bool channels_last = false;  // the image is [batch, H, W, C], and K is [3, 3, C]
};

// The windows of a matmul group if Winograd's algorithm applies: 3 x 3 windows over all channels of images in f32, with
// stride 1 and dilation 1, 2 or 4. nullopt for few channels, where the transforms cost more than they save, and for few
// windows, where reading 16 points of the weights instead of 9 does.
std::optional<WinogradWindows> FindWinogradWindows(const Graph& graph, const ShapeFacts& facts,
                                                   const FusionGroup& group);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_WINOGRAD_WINDOWS_H_
