#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "bench/measuring_thread.h"
#include "codegen/gemm/panels.h"
#include "codegen/target_machine.h"
#include "tools/tune/commands.h"
#include "tools/tune/interleaved_times.h"
#include "tools/tune/plain_product.h"
#include "tools/tune/profile_fit.h"
#include "tools/tune/schedule_space.h"

namespace tailor {
namespace {

// Tiles on each side of what is timed: they share operands, which lie in L2.
constexpr int kTiles = 4;

// Code whose tiles are all of one micro-kernel, where extents are multiples of it.
struct TimedTile {
  int rows, panels;
  std::unique_ptr<PlainProduct> product;
};

std::vector<TimedTile> CompileTiles(const TargetTraits& traits) {
  std::vector<TimedTile> tiles;
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    for (int panels = 1; panels <= CostProfile::kPanels; ++panels) {
      if (!FitsRegisters(traits, rows, panels)) continue;
      const ProductForm form{.n = kTiles * panels * kPanelColumns};
      const ContractionTile tile{.rows = rows, .panels = panels, .task_rows = kTiles * rows, .task_panels = panels};
      tiles.push_back({rows, panels, PlainProduct::Compile(form, tile)});
    }
  }
  return tiles;
}

// Nanoseconds of a tile, by tile and then depth: the least of the passes, in each of which all take turns.
std::vector<std::vector<double>> TimeTiles(const std::vector<TimedTile>& tiles, const std::vector<int64_t>& depths,
                                           int passes) {
  constexpr double kSeconds = 3e-5;
  PlainOperands operands(kTiles * CostProfile::kRows, kTiles * CostProfile::kPanels * kPanelColumns, depths.back());
  std::vector<Call> calls;
  for (const TimedTile& tile : tiles) {
    for (const int64_t depth : depths) {
      const int64_t n = kTiles * tile.panels * kPanelColumns;
      calls.push_back(operands.Bind(*tile.product, kTiles * tile.rows, n, depth));
    }
  }
  const std::vector<double> least = LeastTimes(calls, passes, kSeconds);
  std::vector<std::vector<double>> times(tiles.size());
  for (size_t i = 0; i < least.size(); ++i) {
    times[i / depths.size()].push_back(1e9 * least[i] / (kTiles * kTiles));
  }
  return times;
}

}  // namespace

void MeasureProfile(const ProfileArguments& arguments) {
  if (arguments.passes < 1 || arguments.keep < 0) throw std::runtime_error("--passes is at least 1, --keep 0 or more");
  std::ofstream out;
  if (!arguments.output.empty()) out.open(arguments.output);
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
  StayOnThisCpu();
  const std::vector<TimedTile> tiles = CompileTiles(HostCpuTarget().traits);
  const std::vector<int64_t> depths = {64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 896, 1024};
  const auto is_held_out = [](int64_t depth) { return depth == 96 || depth == 320 || depth == 640 || depth == 896; };
  const std::vector<std::vector<double>> least = TimeTiles(tiles, depths, arguments.passes);
  std::vector<TileTimes> times;
  for (size_t t = 0; t < tiles.size(); ++t) {
    times.push_back({.rows = tiles[t].rows, .panels = tiles[t].panels});
    for (size_t d = 0; d < depths.size(); ++d) {
      std::vector<DepthTime>& points = is_held_out(depths[d]) ? times.back().held_out : times.back().fitted;
      points.push_back({static_cast<double>(depths[d]), least[t][d]});
    }
  }
  const std::vector<TileFit> fits = FitTiles(times);
  const std::vector<double> ranks = RankTiles(fits, RankingSizes());
  std::fputs(FitTable(fits, ranks).c_str(), stdout);
  if (arguments.output.empty()) return;
  out << CostProfileText(ProfileOf(BuiltInCostProfile(HostCpuTarget().level), fits, ranks, arguments.keep));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
}

}  // namespace tailor
