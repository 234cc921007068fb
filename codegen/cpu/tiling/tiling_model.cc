#include "codegen/cpu/tiling/tiling_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "codegen/contract/panels.h"
#include "codegen/cpu/tiling/tile_shapes.h"

namespace tailor::gemm {
namespace {

// The type V of tiling_cost.h for numbers. A class, so that its functions are found where the formula is instantiated.
struct Number {
  float value = 0;
  Number() = default;
  Number(float v) : value(v) {}  // NOLINT: implicit, like conversions of floats
};
Number operator+(Number a, Number b) { return a.value + b.value; }
Number operator-(Number a, Number b) { return a.value - b.value; }
Number operator*(Number a, Number b) { return a.value * b.value; }
Number operator/(Number a, Number b) { return a.value / b.value; }
Number Floor(Number x) { return std::floor(x.value); }
Number Ceil(Number x) { return std::ceil(x.value); }
Number Min(Number a, Number b) { return std::min(a.value, b.value); }
Number Max(Number a, Number b) { return std::max(a.value, b.value); }
Number Choose(Number x, Number then, Number otherwise) { return x.value > 0 ? then : otherwise; }

Number Of(int64_t number) { return static_cast<float>(number); }

TilingTerms<Number> TermsOf(const MatmulTiling& tiling) {
  return {Of(tiling.rows),      Of(tiling.panels),      Of(tiling.whole_rows), Of(tiling.whole_panels),
          Of(tiling.task_rows), Of(tiling.task_panels), Of(tiling.least_m),    Of(tiling.most_m)};
}

ShapeTerms<Number> TermsOf(const ContractionTile& tile, const MatmulShape& dim_sizes) {
  const int64_t panels = dim_sizes.n / kPanelColumns + (dim_sizes.n % kPanelColumns != 0);
  return {Of(dim_sizes.m),     Of(dim_sizes.n),       Of(panels),    Of(dim_sizes.k),
          Of(dim_sizes.batch), Of(dim_sizes.threads), Of(tile.depth)};
}

}  // namespace

std::vector<const CostProfile*> BuiltInCostsOf(const TargetTraits& traits) {
  const std::string_view level = traits.vector_bytes >= 64   ? "x86-64-v4"
                                 : traits.vector_bytes >= 32 ? "x86-64-v3"
                                                             : "x86-64-v2";
  std::vector<const CostProfile*> profiles = {&BuiltInCostProfile(level)};
  for (const MachineCosts& machine : BuiltInMachineCosts(level)) profiles.push_back(&machine.costs);
  return profiles;
}

MatmulTiling RuleTiling(const ContractionTile& tile, int pieces, int64_t m) {
  MatmulTiling tiling;
  tiling.rows = RowLimit(tile, m);
  const int64_t tiles = std::max<int64_t>(1, (m + tiling.rows - 1) / tiling.rows);
  tiling.panels = m == 0 ? tile.panels : PanelsForRows(tile, pieces, static_cast<int>((m + tiles - 1) / tiles));
  tiling.task_rows = static_cast<int>(tile.task_rows);
  tiling.task_panels = static_cast<int>(tile.task_panels);
  return tiling;
}

float PredictTiling(const MatmulTiling& tiling, const ContractionTile& tile, const MatmulShape& dim_sizes,
                    const CostProfile& profile) {
  const MachineTerms<Number> machine = {Of(CostProfile::kNearDepth), profile.cached_bytes, profile.line_ns,
                                        profile.fetch_overlap,       profile.chunk_ns,     profile.fork_ns};
  const auto tile_of = [&](Number rows, Number panels) -> TileTerms<Number> {
    const TileCost& cost = profile.Of(static_cast<int>(rows.value), static_cast<int>(panels.value));
    return {cost.fixed, cost.near_step, cost.far_step};
  };
  return PredictedTime(TermsOf(tiling), TermsOf(tile, dim_sizes), machine, tile_of).value;
}

MatmulTiling ChooseTiling(const ContractionTile& tile, int pieces, const MatmulShape& dim_sizes,
                          const CostProfile& profile) {
  MatmulTiling best = RuleTiling(tile, pieces, dim_sizes.m);
  float least = PredictTiling(best, tile, dim_sizes, profile) * (1 - profile.margin);
  for (const MatmulTiling& tiling : tile.tilings) {
    const float time = PredictTiling(tiling, tile, dim_sizes, profile);
    if (time < least) best = tiling, least = time;
  }
  return best;
}

std::vector<MatmulTiling> TilingFamily(const TargetTraits& traits, int pieces, const ContractionTile& tile,
                                       bool further_tiles) {
  std::vector<MatmulTiling> family;
  const auto add = [&](int rows, int panels, int64_t most_m) {
    for (const bool whole_rows : {false, true}) {
      for (const bool whole_panels : {false, true}) {
        for (const int halved : {0, 1, 2}) {  // task size to halve: none, panels, rows
          const int task_panels = static_cast<int>(halved == 1 ? tile.task_panels / 2 : tile.task_panels);
          const int task_rows = static_cast<int>(halved == 2 ? tile.task_rows / 2 : tile.task_rows);
          family.push_back({.rows = rows,
                            .panels = panels,
                            .whole_rows = whole_rows,
                            .whole_panels = whole_panels,
                            .task_rows = task_rows / rows * rows,
                            .task_panels = task_panels,
                            .least_m = rows > tile.rows ? tile.rows + 1 : 0,
                            .most_m = most_m});
        }
      }
    }
  };
  add(tile.rows, tile.panels, INT64_MAX);
  if (!further_tiles) return family;
  constexpr int kMostRows = 12;  // more rows spill
  for (int rows = kMostRows; rows > 0; --rows) {
    for (int panels = static_cast<int>(tile.task_panels); panels > 0; --panels) {
      if (!FitsRegisters(traits, pieces, rows, panels)) continue;
      if (rows != tile.rows) add(rows, panels, 4 * rows);
      break;
    }
  }
  return family;
}

std::vector<MatmulTiling> WorthwhileTilings(const std::vector<MatmulTiling>& family, const ContractionTile& tile,
                                            int pieces, const std::vector<MatmulShape>& samples,
                                            const std::vector<const CostProfile*>& profiles) {
  struct Candidate {
    MatmulTiling tiling;
    std::vector<float> times;
  };
  const auto times_of = [&](auto tiling_of) {
    std::vector<float> times;
    for (const CostProfile* profile : profiles) {
      for (const MatmulShape& sample : samples)
        times.push_back(PredictTiling(tiling_of(sample), tile, sample, *profile));
    }
    return times;
  };
  const std::vector<float> rule =
      times_of([&](const MatmulShape& sample) { return RuleTiling(tile, pieces, sample.m); });
  std::vector<Candidate> kept;
  const auto wins = [&](const Candidate& candidate) {
    constexpr float kWorthwhile = 0.95f;
    // Times from here on contain a tile of unknown cost, of which a thread may do a part.
    constexpr float kMeasured = TileCost::kUnknown / 1e3f;
    std::vector<float> least = rule;
    for (const Candidate& other : kept) {
      if (&other == &candidate) continue;
      for (size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], other.times[i]);
    }
    for (size_t i = 0; i < least.size(); ++i) {
      if (candidate.times[i] < std::min(kMeasured, kWorthwhile * least[i])) return true;
    }
    return false;
  };
  // Tilings kept later may have made an earlier one dispensable.
  const auto prune = [&] {
    for (auto candidate = kept.begin(); candidate != kept.end();) {
      candidate = wins(*candidate) ? candidate + 1 : kept.erase(candidate);
    }
  };
  for (const MatmulTiling& tiling : family) {
    if (kept.size() == kMostTilings) prune();
    if (kept.size() == kMostTilings) break;
    Candidate candidate = {tiling, times_of([&](const MatmulShape&) { return tiling; })};
    if (wins(candidate)) kept.push_back(std::move(candidate));
  }
  prune();
  std::vector<MatmulTiling> tilings;
  for (const Candidate& candidate : kept) tilings.push_back(candidate.tiling);
  return tilings;
}

static_assert(CostProfile::kMaxPrefetchDistance < 1 << kAheadBits && kAheadBit + kAheadBits == 32);
uint64_t TilingWord(const MatmulTiling& tiling, float ahead) {
  return static_cast<uint64_t>(tiling.rows) | static_cast<uint64_t>(tiling.panels) << 8 |
         static_cast<uint64_t>(tiling.whole_rows) << 16 | static_cast<uint64_t>(tiling.whole_panels) << 17 |
         static_cast<uint64_t>(ahead) << kAheadBit | static_cast<uint64_t>(tiling.task_rows) << 32 |
         static_cast<uint64_t>(tiling.task_panels) << 48;
}

int64_t TilingTasks(const MatmulTiling& tiling, const MatmulShape& dim_sizes) {
  const int64_t columns = int64_t{tiling.task_panels} * kPanelColumns;
  return (dim_sizes.m + tiling.task_rows - 1) / tiling.task_rows * ((dim_sizes.n + columns - 1) / columns) *
         dim_sizes.batch;
}

int64_t TilingChunk(const MatmulTiling& tiling, const ContractionTile& tile, const MatmulShape& dim_sizes) {
  return static_cast<int64_t>(TasksOf(TermsOf(tiling), TermsOf(tile, dim_sizes)).tasks_per_chunk.value);
}

}  // namespace tailor::gemm
