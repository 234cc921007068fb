// Products of windows of 3 x 3 elements by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", section 4.1). Each tile of 2 x 2 results is of a tile of 4 x 4 elements of the
// image. Both it and the weights of a pair of channels become 16 points, sums of their elements; of each point on its
// own the sums over channels are a product of matrices, and sums of the 16 products are the four results. That is 16
// multiply-adds where windows take 36.
//
// A plan asks for it by the layout of the weights, kWinogradPanels16, and else says what it would say: a box, of
// [N, C, H + 2, W + 2], whose windows of 3 x 3 are the rows of the product, and K = C * 9.
#ifndef TAILOR_CODEGEN_CPU_CONV_WINOGRAD_H_
#define TAILOR_CODEGEN_CPU_CONV_WINOGRAD_H_

#include <cstdint>

#include "codegen/contract/panels.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"

namespace tailor::gemm {

inline bool IsWinograd(const KernelPlan& plan, const Contraction& contraction) {
  return plan.buffers[contraction.rhs.ref].layout == ConstantLayout::kWinogradPanels16;
}

inline int64_t WinogradChannels(const KernelPlan& plan, const Contraction& contraction) {
  return plan.axes[contraction.k].dim_size.constant / (kWinogradWindow * kWinogradWindow);
}

// A worker's scratch: what it holds of a block of tiles. Sizes and places in f32 elements, places in whole vectors.
struct WinogradScratch {
  int64_t tiles;           // of a block, at most
  int64_t channel_stride;  // from channel to channel of one point of the image
  int64_t image_stride;    // from point to point of the image: [16][C][tiles]
  int64_t product_stride;  // from point to point of products: [16][tiles][panels * 16]
  int64_t staging, image, products, results;
  int64_t bytes;
};
WinogradScratch ScratchOfWinograd(const KernelPlan& plan, const Contraction& contraction, const ContractionTile& tile);
// Elements of each row of the box beside 2 for each tile: what vectors read beyond their tiles.
inline constexpr int64_t kWinogradStagingMargin = 2 * kPanelColumns + 2;

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_CONV_WINOGRAD_H_
