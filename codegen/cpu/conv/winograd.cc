#include "codegen/cpu/conv/winograd.h"

#include <algorithm>
#include <utility>

#include "codegen/plan/plan_queries.h"

namespace tailor::gemm {
namespace {

// Rounds up to an odd number of cache lines, so that elements a stride apart fall into different cache sets.
int64_t OddLines(int64_t elements) {
  constexpr int64_t kLine = 16;
  return ((elements + kLine - 1) / kLine | 1) * kLine;
}

}  // namespace

WinogradImage WinogradImageOf(const Contraction& c) {
  const size_t rank = c.lhs.args.size();
  if (c.channels_last) return {.channels = rank - 1, .height = rank - 3, .width = rank - 2};
  return {.channels = rank - 3, .height = rank - 2, .width = rank - 1};
}

WinogradScratch ScratchOfWinograd(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile) {
  WinogradScratch s{.tiles = tile.winograd_tiles, .supertiles = WinogradSupertiles(c, tile)};
  const int64_t columns = std::max(tile.panels, tile.tall_panels) * kPanelColumns;
  const int64_t channels = WinogradChannels(plan, c), side = WinogradSupertileResults(c), halo = WinogradHalo(c);
  const int64_t rows = s.supertiles * side + halo;  // staged, of a block one supertile wide: the most elements
  int64_t staging = 0;
  if (c.channels_last) {
    s.channel_stride = 1;
    s.tile_stride = OddLines(channels);
    s.image_stride = OddLines(s.tiles * s.tile_stride);
    staging = rows * (side + halo) * kWinogradStagedChannels;
  } else {
    const int64_t margin = WinogradStagingMargin(c);
    s.channel_stride = OddLines(s.tiles + kPanelColumns);
    s.tile_stride = 1;
    s.image_stride = OddLines(channels * s.channel_stride);
    staging = rows * (side + margin) + margin;
  }
  s.product_stride = OddLines(s.tiles * columns);
  int64_t end = 0;
  const auto place = [&](int64_t elements) { return std::exchange(end, end + WholeLanes(elements)); };
  s.staging = place(staging);
  s.image = place(kWinogradPoints * s.image_stride);
  s.products = place(kWinogradPoints * s.product_stride);
  s.results = place((4 * s.tiles + kPanelColumns) * columns);
  s.bytes = end * static_cast<int64_t>(sizeof(float));
  return s;
}

}  // namespace tailor::gemm
