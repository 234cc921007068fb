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

WinogradScratch ScratchOfWinograd(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile) {
  WinogradScratch s{.tiles = tile.winograd_tiles, .supertiles = WinogradSupertiles(c, tile)};
  const int64_t columns = std::max(tile.panels, tile.tall_panels) * kPanelColumns;
  s.channel_stride = OddLines(s.tiles + kPanelColumns);
  s.image_stride = OddLines(WinogradChannels(plan, c) * s.channel_stride);
  s.product_stride = OddLines(s.tiles * columns);
  // A block one supertile wide has the largest staging buffer.
  const int64_t side = WinogradSupertileResults(c), margin = WinogradStagingMargin(c);
  const int64_t staging = (s.supertiles * side + WinogradHalo(c)) * (side + margin);
  int64_t end = 0;
  const auto place = [&](int64_t elements) { return std::exchange(end, end + WholeLanes(elements)); };
  s.staging = place(staging + margin);
  s.image = place(kWinogradPoints * s.image_stride);
  s.products = place(kWinogradPoints * s.product_stride);
  s.results = place((4 * s.tiles + kPanelColumns) * columns);
  s.bytes = end * static_cast<int64_t>(sizeof(float));
  return s;
}

}  // namespace tailor::gemm
