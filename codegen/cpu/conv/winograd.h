// Convolutions with 3 x 3 windows by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", section 4.1). A tile of 2 x 2 results depends on a tile of 4 x 4 image elements.
// Image tiles, and the weights of each pair of an input and an output channel, are transformed to 16 values each, the
// points. Per point, the sum over input channels is a matmul. The inverse transform makes the four results from the 16
// products. That is 16 multiply-adds per tile and channel pair instead of 36.
//
// A plan selects it by the layout of the weights, kWinogradPanels16. In all else the plan is the ordinary contraction:
// a staged lhs of [batch..., C, H + 2d, W + 2d] (d: the dilation), whose windows are the rows of the matmul, and K =
// [C, 3, 3]; or, channels last, [batch..., H + 2d, W + 2d, C] and K = [3, 3, C].
//
// Windows of dilation d read every d-th row and column, so the image falls into d * d images with dense windows, and
// tile t of one side has the results t / d * 2d + t % d and the one d further. A supertile is the d * d tiles with the
// same t / d on both sides: its (2d) * (2d) results are adjacent. Blocks are made of whole supertiles.
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

// Dims of the staged image.
struct WinogradImage {
  size_t channels, height, width;
};
WinogradImage WinogradImageOf(const Contraction& contraction);

// Channels that are staged and transformed at a time, of an image channels last: whole vectors.
inline constexpr int64_t kWinogradStagedChannels = 32;
static_assert(kWinogradStagedChannels % kPanelColumns == 0);

// Of one side of a supertile.
inline int64_t WinogradSupertileResults(const Contraction& contraction) {
  return int64_t{kWinogradResults} * contraction.dilation;
}

// By how much a side of the image exceeds that of the results.
inline int64_t WinogradHalo(const Contraction& contraction) {
  return int64_t{kWinogradWindow - 1} * contraction.dilation;
}

inline int64_t WinogradSupertiles(const Contraction& contraction, const ContractionTile& tile) {
  return tile.winograd_tiles / (int64_t{contraction.dilation} * contraction.dilation);
}

// Layout of a worker's scratch for one block of tiles. Strides and offsets count f32 elements; offsets are multiples of
// 16.
struct WinogradScratch {
  int64_t tiles;           // per block, at most
  int64_t supertiles;      // per block, at most
  int64_t channel_stride;  // between channels of one point of the image
  int64_t tile_stride;     // between tiles of one point of the image
  int64_t image_stride;    // between points of the image: [16][C][tiles]; channels last: [16][tiles][C]
  int64_t product_stride;  // between points of the products: [16][tiles][panels * 16]
  int64_t staging, image, products, results;
  int64_t bytes;
};
WinogradScratch ScratchOfWinograd(const KernelPlan& plan, const Contraction& contraction, const ContractionTile& tile);
// Channels first: extra elements per row of the staging buffer, beyond 2 per tile: vectors read past their tiles.
inline int64_t WinogradStagingMargin(const Contraction& contraction) {
  return 2 * (kPanelColumns + contraction.dilation);
}

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_CONV_WINOGRAD_H_
