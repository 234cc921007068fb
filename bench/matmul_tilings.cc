// matmul-tilings: the quality of the tiling choice of f32 matmuls on this machine (codegen/cpu/tiling/tiling_model.h).
// One table over matmuls of held-out dim sizes:
// - predicted over measured time of the rule's tiling, scaled by one factor for all rows, the machine's speed;
// - regret: time of the chosen tiling, and of the rule's, over that of the best of the family.
// Times are CPU times of one thread, pinned to one CPU.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "bench/tiled_matmul.h"
#include "codegen/link/target_machine.h"
#include "tools/measure/measuring_thread.h"
#include "tools/tune/interleaved_times.h"

namespace tailor::bench {
namespace {

std::string DimSizes(const gemm::MatmulShape& e) {
  return std::to_string(e.m) + "x" + std::to_string(e.k) + "x" + std::to_string(e.n);
}

void PrintTables() {
  constexpr int kRounds = 60;
  constexpr double kSeconds = 2e-4;
  const CostProfile& profile = tune::HostCosts();
  std::printf("| M x K x N | predicted / measured | rule | chosen | best | rule / best | chosen / best |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  struct Row {
    gemm::MatmulShape dim_sizes;
    double off;
    MatmulTiling rule;
    Regret regret;
  };
  std::vector<Row> rows;
  std::vector<double> offs;
  int64_t k = 0;
  std::unique_ptr<TiledMatmul> matmul;
  for (const gemm::MatmulShape& e : HeldOutMatmuls()) {
    if (matmul == nullptr || e.k != k) matmul = std::make_unique<TiledMatmul>(tune::MatmulForm{.n = e.n, .k = e.k});
    k = e.k;
    const MatmulTiling rule = matmul->Rule(e.m);
    tune::PlainOperands operands(e.m, e.n, e.k);
    const double measured = 1e9 * tune::LeastTimes({operands.Bind(matmul->code(), &rule)}, kRounds, kSeconds)[0];
    rows.push_back(
        {e, gemm::PredictTiling(rule, matmul->tile(), e, profile) / measured, rule, MeasureRegret(*matmul, e)});
    offs.push_back(rows.back().off);
  }
  std::nth_element(offs.begin(), offs.begin() + offs.size() / 2, offs.end());
  const double speed = offs[offs.size() / 2];
  double off = 0, of_rule = 0, of_choice = 0;
  for (const Row& row : rows) {
    off += std::abs(std::log(row.off / speed)), of_rule += std::log(row.regret.of_rule);
    of_choice += std::log(row.regret.of_choice);
    std::printf("| %s | %.2f | %s | %s | %s | %.3f | %.3f |\n", DimSizes(row.dim_sizes).c_str(), row.off / speed,
                TileText(row.rule).c_str(), TileText(row.regret.chosen).c_str(), TileText(row.regret.best).c_str(),
                row.regret.of_rule, row.regret.of_choice);
  }
  const auto count = static_cast<double>(rows.size());
  std::printf("\nMean error of predictions: %.1f %%. Mean regret: rule %.3f, choice %.3f.\n",
              100 * (std::exp(off / count) - 1), std::exp(of_rule / count), std::exp(of_choice / count));
}

}  // namespace
}  // namespace tailor::bench

int main() {
  tailor::PinToCurrentCpu();
  tailor::bench::PrintTables();
  return 0;
}
