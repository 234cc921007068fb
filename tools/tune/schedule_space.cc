#include "tools/tune/schedule_space.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "codegen/contract/panels.h"
#include "codegen/cpu/tiling/tile_shapes.h"

namespace tailor::tune {
namespace {

constexpr int64_t kLineBytes = 64, kElementBytes = 4;

enum Index { kRows, kPanels, kTallRows, kTallPanels, kTaskTiles, kTaskPanels, kDepth };

// Registers that 16 sums fill.
int PiecesOf(const TargetTraits& traits) {
  return std::max<int>(1, kPanelColumns * kElementBytes / traits.vector_bytes);
}

std::vector<int64_t> Upto(int64_t last) {
  std::vector<int64_t> values;
  for (int64_t value = 1; value <= last; ++value) values.push_back(value);
  return values;
}

class Constraints {
 public:
  Constraints(const MatmulForm& form, const TargetTraits& traits, const CacheGeometry& caches)
      : n_(*form.n), k_(*form.k), traits_(traits), caches_(caches), pieces_(PiecesOf(traits)) {}

  bool Allow(const Assignment& values) const {
    const ContractionTile tile = TileOf(values);
    if ((values[kTallRows] == 0) != (values[kTallPanels] == 0)) return false;  // "no tall tile" has one spelling
    if (tile.tall_rows > 0 && (tile.tall_rows <= tile.rows || tile.tall_panels > tile.panels)) return false;
    if (tile.panels > tile.task_panels) return false;
    return KeepsRegisters(tile.rows, tile.panels) && KeepsRegisters(tile.tall_rows, tile.tall_panels) &&
           FitsWays(tile.rows) && FitsWays(tile.tall_rows) && FitsL2(tile) && SumsFit(tile);
  }

  double Penalty(const Assignment& values) const {
    const ContractionTile tile = TileOf(values);
    constexpr double kManyLoads = 0.5, kUnevenPanels = 0.2, kMicroKernel = 0.01;
    double penalty = 0;
    const int columns = tile.panels * pieces_;
    if (tile.rows * columns < 2 * (tile.rows + columns)) penalty += kManyLoads;
    if ((n_ + kPanelColumns - 1) / kPanelColumns % tile.panels != 0) penalty += kUnevenPanels;
    const DimSizeRange m{.max = INT64_MAX, .divisor = 1, .fixed = false}, n{.max = n_, .divisor = 1, .fixed = true};
    return penalty + kMicroKernel * static_cast<double>(gemm::ReachableTiles(m, n, tile, pieces_).size());
  }

 private:
  // Nothing of a step is kept on the stack: neither sums nor, from 13 rows of two panels on, the rows' addresses.
  bool KeepsRegisters(int rows, int panels) const {
    constexpr int kMostAddresses = 12;
    return FitsRegisters(traits_, rows, panels) && (panels < 2 || rows <= kMostAddresses);
  }

  // Rows lie 4 * K bytes apart, and a line of them serves 16 steps. A line of a panel serves one step: it is streamed.
  bool FitsWays(int rows) const {
    const int64_t sets = std::max<int64_t>(1, caches_.l1_bytes / kLineBytes / caches_.l1_ways);
    std::map<int64_t, int> lines;  // by set
    for (int64_t row = 0; row < rows; ++row) ++lines[row * k_ * kElementBytes / kLineBytes % sets];
    int fullest = 0;
    for (const auto& [set, count] : lines) fullest = std::max(fullest, count);
    return fullest + 1 <= caches_.l1_ways;
  }

  bool FitsL2(const ContractionTile& tile) const {
    const int64_t depth = std::min(tile.depth, k_);
    return (tile.task_rows + tile.panels * kPanelColumns) * depth * kElementBytes <= caches_.l2_bytes;
  }

  // The code reserves space for the sums of task_rows x panels; with few rows tiles are wider.
  bool SumsFit(const ContractionTile& tile) const {
    if (tile.depth >= k_) return true;
    const int64_t room = tile.task_rows * tile.panels;
    if (room * kPanelColumns * kElementBytes > caches_.l1_bytes / 2) return false;
    // Beyond `steady` rows, tiles have the limit or one less, and a task has no more of them.
    const int64_t steady = std::max(tile.rows * tile.rows, 2 * tile.tall_rows) + 2 * tile.task_rows;
    for (int64_t m = 1; m <= steady; ++m) {
      const int64_t limit = gemm::RowLimit(tile, m), tiles = (m + limit - 1) / limit, rows = (m + tiles - 1) / tiles;
      const int64_t blocks = (m + tile.task_rows - 1) / tile.task_rows;
      const int64_t of_block = std::min(m, (tiles + blocks - 1) / blocks * rows);
      const int64_t panels = gemm::PanelsForRows(tile, pieces_, static_cast<int>(rows));
      if (of_block > rows && of_block * panels > room) return false;
    }
    return true;
  }

  const int64_t n_, k_;
  const TargetTraits traits_;
  const CacheGeometry caches_;
  const int pieces_;
};

int64_t Asked(int name, int64_t otherwise) {
  const int64_t answer = sysconf(name);
  return answer > 0 ? answer : otherwise;
}

}  // namespace

bool FitsRegisters(const TargetTraits& traits, int rows, int panels) {
  return gemm::FitsRegisters(traits, PiecesOf(traits), rows, panels);
}

CacheGeometry ThisMachinesCaches() {
  const CacheGeometry unknown;
  return {.l1_bytes = Asked(_SC_LEVEL1_DCACHE_SIZE, unknown.l1_bytes),
          .l1_ways = static_cast<int>(Asked(_SC_LEVEL1_DCACHE_ASSOC, unknown.l1_ways)),
          .l2_bytes = Asked(_SC_LEVEL2_CACHE_SIZE, unknown.l2_bytes)};
}

ContractionTile TileOf(const Assignment& values) {
  ContractionTile tile;
  tile.rows = static_cast<int>(values[kRows]);
  tile.panels = static_cast<int>(values[kPanels]);
  tile.tall_rows = static_cast<int>(values[kTallRows]);
  tile.tall_panels = tile.tall_rows == 0 ? 0 : static_cast<int>(values[kTallPanels]);
  tile.task_rows = values[kTaskTiles] * tile.rows;
  tile.task_panels = values[kTaskPanels];
  tile.depth = values[kDepth];
  return tile;
}

Assignment AssignmentOf(const ContractionTile& tile) {
  return {tile.rows,        tile.panels, tile.tall_rows, tile.tall_panels, tile.task_rows / tile.rows,
          tile.task_panels, tile.depth};
}

SearchSpace ScheduleSpace(const MatmulForm& form, const TargetTraits& traits, const CacheGeometry& caches) {
  std::vector<int64_t> depths = {128, 256, 512, 1024, 2048, 4096};
  while (depths.size() > 1 && depths[depths.size() - 2] >= *form.k) depths.pop_back();  // never reached
  std::vector<Parameter> parameters = {{"rows", Upto(14)},
                                       {"panels", Upto(8)},
                                       {"tall_rows", {0, 7, 8, 9, 10, 11, 12, 13, 14}},
                                       {"tall_panels", {0, 1, 2, 3, 4}},
                                       {"task_tiles", {1, 2, 4, 8, 12, 16, 24, 32}},
                                       {"task_panels", {2, 4, 8, 16, 32, 64}},
                                       {"depth", depths}};
  const Constraints constraints(form, traits, caches);
  return SearchSpace(
      std::move(parameters), [constraints](const Assignment& values) { return constraints.Allow(values); },
      [constraints](const Assignment& values) { return constraints.Penalty(values); });
}

}  // namespace tailor::tune
