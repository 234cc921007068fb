#include "bench/product_candidate.h"

#include <algorithm>
#include <utility>

#include "codegen/contract/panels.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/link/target_machine.h"
#include "tools/tune/interleaved_times.h"

namespace tailor::bench {
namespace {

// As one thread sees them: without those that differ in their tasks alone.
std::vector<ProductCut> FamilyForOneThread(int pieces, const ContractionTile& tile) {
  std::vector<ProductCut> family;
  for (const ProductCut& cut : gemm::CutFamily(HostCpuTarget().traits, pieces, tile, /*further_tiles=*/true)) {
    if (cut.task_panels != tile.task_panels || cut.task_rows != tile.task_rows / cut.rows * cut.rows) continue;
    family.push_back(cut);
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

CutProduct::CutProduct(const tune::MatmulForm& form) {
  const Schedule schedule = cpu::ScheduleContraction(tune::PlainProductPlan(form), HostCpuTarget().traits);
  tile_ = schedule.tile;
  pieces_ = kPanelColumns / schedule.lanes;
  family_ = FamilyForOneThread(pieces_, tile_);
  ContractionTile all = tile_;
  all.cuts = family_;
  code_ = tune::PlainProduct::Compile(form, all);
}

ProductCut CutProduct::Chosen(const gemm::ProductExtents& extents) const {
  return gemm::ChooseCut(tile_, pieces_, extents, tune::HostCosts());
}

Regret MeasureRegret(const CutProduct& product, const gemm::ProductExtents& extents) {
  std::vector<ProductCut> cuts = {product.Rule(extents.m), product.Chosen(extents)};
  for (const ProductCut& cut : product.family()) {
    // Tiles of few rows are worse than others where there are many, and of more rows than there are the same.
    const bool sensible = cut.rows >= std::min<int64_t>(extents.m, 4) && cut.rows < extents.m + 3;
    if (sensible || cut.rows == product.tile().rows) cuts.push_back(cut);
  }
  constexpr int kRounds = 30;
  constexpr double kSeconds = 2e-4;
  tune::PlainOperands operands(extents.m, extents.n, extents.k);
  std::vector<tune::Call> calls;
  for (const ProductCut& cut : cuts) calls.push_back(operands.Bind(product.code(), &cut));
  std::vector<double> even, odd;
  for (const std::vector<double>& times : tune::InterleavedTimes(calls, kRounds, kSeconds)) {
    even.push_back(Least(times, 0));
    odd.push_back(Least(times, 1));
  }
  const size_t best = std::min_element(even.begin(), even.end()) - even.begin();
  const bool same = cuts[0] == cuts[1];  // two measurements of it
  const double rule = same ? std::min(odd[0], odd[1]) : odd[0];
  return {cuts[1], cuts[best], (same ? rule : odd[1]) / odd[best], rule / odd[best]};
}

std::vector<gemm::ProductExtents> HeldOutProducts() {
  std::vector<gemm::ProductExtents> products;
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{448, 832}, {700, 250}, {1088, 1984}}) {
    for (const int64_t m : {2, 5, 7, 8, 9, 11, 13, 17, 23, 37, 90, 250}) products.push_back({m, n, k});
  }
  return products;
}

}  // namespace tailor::bench
