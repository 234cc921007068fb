#include "bench/tiled_matmul.h"

#include <algorithm>
#include <utility>

#include "codegen/contract/panels.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/link/target_machine.h"
#include "tools/tune/interleaved_times.h"

namespace tailor::bench {
namespace {

// The tilings that differ on one thread: not only in their tasks.
std::vector<MatmulTiling> FamilyForOneThread(int pieces, const ContractionTile& tile) {
  std::vector<MatmulTiling> family;
  for (const MatmulTiling& tiling : gemm::TilingFamily(HostCpuTarget().traits, pieces, tile, /*further_tiles=*/true)) {
    if (tiling.task_panels != tile.task_panels || tiling.task_rows != tile.task_rows / tiling.rows * tiling.rows)
      continue;
    family.push_back(tiling);
    family.back().least_m = 0;
    family.back().most_m = INT64_MAX;
  }
  return family;
}

// The least of a call's times in the even rounds, or in the odd ones.
double Least(const std::vector<double>& times, size_t first) {
  double least = times[first];
  for (size_t round = first; round < times.size(); round += 2) least = std::min(least, times[round]);
  return least;
}

}  // namespace

std::string TileText(const MatmulTiling& tiling) {
  return std::string(tiling.whole_rows ? "whole " : "") + std::to_string(tiling.rows) + "x" +
         (tiling.whole_panels ? "whole " : "") + std::to_string(tiling.panels);
}

TiledMatmul::TiledMatmul(const tune::MatmulForm& form) {
  const Schedule schedule = cpu::ScheduleContraction(tune::PlainMatmulPlan(form), HostCpuTarget().traits);
  tile_ = schedule.tile;
  pieces_ = kPanelColumns / schedule.lanes;
  family_ = FamilyForOneThread(pieces_, tile_);
  ContractionTile all = tile_;
  all.tilings = family_;
  code_ = tune::PlainMatmul::Compile(form, all);
}

MatmulTiling TiledMatmul::Chosen(const gemm::MatmulShape& dim_sizes) const {
  return gemm::ChooseTiling(tile_, pieces_, dim_sizes, tune::HostCosts());
}

Regret MeasureRegret(const TiledMatmul& matmul, const gemm::MatmulShape& dim_sizes) {
  std::vector<MatmulTiling> tilings = {matmul.Rule(dim_sizes.m), matmul.Chosen(dim_sizes)};
  for (const MatmulTiling& tiling : matmul.family()) {
    // With many rows, tiles of few rows are worse than others; tiles of more rows than there are do the same.
    const bool sensible = tiling.rows >= std::min<int64_t>(dim_sizes.m, 4) && tiling.rows < dim_sizes.m + 3;
    if (sensible || tiling.rows == matmul.tile().rows) tilings.push_back(tiling);
  }
  constexpr int kRounds = 30;
  constexpr double kSeconds = 2e-4;
  tune::PlainOperands operands(dim_sizes.m, dim_sizes.n, dim_sizes.k);
  std::vector<tune::Call> calls;
  for (const MatmulTiling& tiling : tilings) calls.push_back(operands.Bind(matmul.code(), &tiling));
  std::vector<double> even, odd;
  for (const std::vector<double>& times : tune::InterleavedTimes(calls, kRounds, kSeconds)) {
    even.push_back(Least(times, 0));
    odd.push_back(Least(times, 1));
  }
  const size_t best = std::min_element(even.begin(), even.end()) - even.begin();
  const bool same = tilings[0] == tilings[1];  // two measurements of one tiling
  const double rule = same ? std::min(odd[0], odd[1]) : odd[0];
  return {tilings[1], tilings[best], (same ? rule : odd[1]) / odd[best], rule / odd[best]};
}

std::vector<gemm::MatmulShape> HeldOutMatmuls() {
  std::vector<gemm::MatmulShape> matmuls;
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{448, 832}, {700, 250}, {1088, 1984}}) {
    for (const int64_t m : {2, 5, 7, 8, 9, 11, 13, 17, 23, 37, 90, 250}) matmuls.push_back({m, n, k});
  }
  return matmuls;
}

}  // namespace tailor::bench
