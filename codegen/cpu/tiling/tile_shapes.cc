#include "codegen/cpu/tiling/tile_shapes.h"

#include <algorithm>

#include "codegen/contract/panels.h"

namespace tailor::gemm {
namespace {

// Independent sums that keep the multipliers of current cores busy: latency times throughput.
constexpr int kChains = 8;

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

// Sizes of the tiles that `count` items in tiles of at most `limit` give: the smaller and the larger.
std::pair<int, int> TilingSizes(int64_t count, int limit, bool whole) {
  const int64_t tiles = CeilDiv(count, limit);
  if (!whole) return {static_cast<int>(count / tiles), static_cast<int>(CeilDiv(count, tiles))};
  const int rest = static_cast<int>(count - (tiles - 1) * limit);
  return {rest, tiles == 1 ? rest : limit};
}

// Counts of items that may occur: multiples of `unit` from `least` to `most`; if `fixed`, only `most`.
struct Counts {
  int64_t least, most, unit;
  bool fixed;
};

// (larger size, size) of every tile of every count. Beyond `steady` units the same tiles recur.
template <typename Limit>
std::set<std::pair<int, int>> TilingsOf(const Counts& counts, int64_t steady, Limit limit_of, bool whole = false) {
  std::set<std::pair<int, int>> tilings;
  const auto add = [&](int64_t count) {
    if (count < std::max<int64_t>(counts.least, 1)) return;
    const auto [small, large] = TilingSizes(count, limit_of(count), whole);
    tilings.insert({large, small});
    tilings.insert({large, large});
  };
  if (counts.fixed) {
    add(counts.most);
  } else {
    const int64_t last = std::min(counts.most, counts.least + steady * counts.unit);
    for (int64_t count = counts.unit; count <= last; count += counts.unit) add(count);
  }
  return tilings;
}

Counts RowsOf(const DimSizeRange& m) { return {0, m.max, m.divisor, m.fixed}; }
Counts PanelsOf(const DimSizeRange& n) {
  const int64_t unit = n.divisor % kPanelColumns == 0 ? n.divisor / kPanelColumns : 1;
  return {0, CeilDiv(n.max, kPanelColumns), unit, n.fixed};
}

}  // namespace

bool FitsRegisters(const TargetTraits& traits, int pieces, int rows, int panels) {
  const int columns = panels * pieces, temporaries = traits.fused_multiply_add ? 1 : 2;
  return rows * columns + std::min(rows, columns) + temporaries < traits.vector_registers;
}

int PiecesOf(const DimSizeRange& n, int lanes) {
  return static_cast<int>(CeilDiv(std::clamp<int64_t>(n.max, 1, kPanelColumns), lanes));
}

std::pair<int, int> BestTile(const TargetTraits& traits, int pieces, int most_panels) {
  const int most_rows = std::max(6, kChains / (most_panels * pieces));
  std::pair<int, int> best = {1, 1};
  // Per step of K: rows + columns loads, rows * columns multiply-adds.
  auto fewer_loads = [&](int rows, int columns) {
    const int best_columns = best.second * pieces;
    return (rows + columns) * best.first * best_columns < (best.first + best_columns) * rows * columns;
  };
  for (int panels = 1; panels <= most_panels; ++panels) {
    for (int rows = 1; rows <= most_rows; ++rows) {
      if (FitsRegisters(traits, pieces, rows, panels) && fewer_loads(rows, panels * pieces)) best = {rows, panels};
    }
  }
  return best;
}

std::pair<int, int> TallestTile(const TargetTraits& traits, int pieces, const ContractionTile& tile) {
  constexpr int kMostRows = 9, kMultiplyAddsPerLoad = 2;
  for (int rows = kMostRows; rows > tile.rows; --rows) {
    for (int panels = tile.panels; panels > 0; --panels) {
      const int columns = panels * pieces;
      const bool pays = rows * columns >= kMultiplyAddsPerLoad * (rows + columns);
      if (pays && FitsRegisters(traits, pieces, rows, panels)) return {rows, panels};
    }
  }
  return {0, 0};
}

std::pair<int, int> PackedTile(const TargetTraits& traits, int pieces, const ContractionTile& tile) {
  constexpr int kMostRows = 14, kPanels = 2;
  for (int rows = kMostRows; rows > tile.rows; --rows) {
    if (FitsRegisters(traits, pieces, rows, kPanels)) return {rows, kPanels};
  }
  return {tile.rows, tile.panels};
}

int RowLimit(const ContractionTile& tile, int64_t m) {
  if (tile.tall_rows == 0) return tile.rows;
  const bool tall = m <= 2 * tile.tall_rows && CeilDiv(m, tile.tall_rows) < CeilDiv(m, tile.rows);
  return tall ? tile.tall_rows : tile.rows;
}

int PanelsForRows(const ContractionTile& tile, int pieces, int rows) {
  if (rows > tile.rows) return tile.tall_panels;
  if (tile.task_panels == ContractionTile::kAllPanels) return tile.panels;  // more panels would not stay in L1
  const int wide = static_cast<int>(std::min<int64_t>(tile.task_panels, kChains / (rows * pieces)));
  return std::max(tile.panels, wide);
}

std::set<std::pair<int, int>> ReachableTiles(const DimSizeRange& m, const DimSizeRange& n, const ContractionTile& tile,
                                             int pieces) {
  const int64_t rows_steady = 2 * tile.tall_rows + tile.rows * tile.rows;  // tall tiles, then others
  const auto row_limit = [&tile](int64_t rows) { return RowLimit(tile, rows); };
  std::set<std::pair<int, int>> tiles;
  for (const auto& [most_rows, rows] : TilingsOf(RowsOf(m), rows_steady, row_limit)) {
    const int limit = PanelsForRows(tile, pieces, most_rows);
    for (const auto& [most_panels, panels] :
         TilingsOf(PanelsOf(n), limit * limit, [limit](int64_t) { return limit; })) {
      tiles.insert({rows, panels});
    }
  }
  for (const MatmulTiling& tiling : tile.tilings) {
    Counts counts = RowsOf(m);
    counts.least = tiling.least_m;
    if (counts.fixed && counts.most > tiling.most_m) continue;
    counts.most = std::min(counts.most, tiling.most_m);
    const auto rows = TilingsOf(
        counts, tiling.rows * tiling.rows, [&](int64_t) { return tiling.rows; }, tiling.whole_rows);
    const auto panels = TilingsOf(
        PanelsOf(n), tiling.panels * tiling.panels, [&](int64_t) { return tiling.panels; }, tiling.whole_panels);
    for (const auto& [most_rows, height] : rows) {
      for (const auto& [most_panels, width] : panels) tiles.insert({height, width});
    }
  }
  return tiles;
}

}  // namespace tailor::gemm
