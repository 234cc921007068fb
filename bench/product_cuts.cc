// product-cuts: how well the choice between cuts of f32 products is made (codegen/gemm/cut_model.h), on this machine.
// `product-cuts profile [LEVEL]` measures a cost profile and prints its text, for the machine's best CPU level or the
// one named. Without arguments, two tables over products of held-out extents:
// - predicted against measured time of the cuts that the rule gives, up to one factor for all: the machine's speed;
// - how much longer the chosen cut and the rule's take than the best of the family: their regret.
// Times are CPU times of one thread, on one CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/measuring_thread.h"
#include "bench/product_candidate.h"
#include "codegen/gemm/panels.h"

namespace tailor {
namespace {

double Hundredths(double value) { return std::round(100 * value) / 100; }

// A line through points, not below 0 at 0, weighted so that shares of the time count: {at 0, slope}.
std::pair<double, double> FitLine(const std::vector<std::pair<double, double>>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [x, y] : points) {
    const double weight = 1 / (y * y);
    n += weight, sx += weight * x, sy += weight * y, sxx += weight * x * x, sxy += weight * x * y;
  }
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  if (slope * sx > sy) return {0, Hundredths(sxy / sxx)};
  return {Hundredths((sy - slope * sx) / n), Hundredths(slope)};
}

// The least time of many short ones, all jobs in turn in each pass: so whatever else the machine does, each job has
// moments to itself.
class LeastTimes {
 public:
  void Add(ProductCut cut, ProductExtents extents) { jobs_.push_back({cut, extents}); }
  // In nanoseconds, by job.
  std::vector<double> Measure(const CutProduct& product, int passes) const {
    ProductExtents most;
    for (const auto& [cut, e] : jobs_) most = {std::max(most.m, e.m), std::max(most.n, e.n), std::max(most.k, e.k)};
    ProductOperands operands(most);
    std::vector<double> least(jobs_.size(), 1e30);
    for (int pass = 0; pass < passes; ++pass) {
      for (size_t i = 0; i < jobs_.size(); ++i) {
        const auto& [cut, e] = jobs_[i];
        const int runs = 1 + static_cast<int>(1e6 / static_cast<double>(e.m * e.n * e.k));
        operands.Run(product, cut, e);
        const double begin = ThreadSeconds();
        for (int r = 0; r < runs; ++r) operands.Run(product, cut, e);
        least[i] = std::min(least[i], (ThreadSeconds() - begin) * 1e9 / runs);
      }
    }
    return least;
  }

 private:
  std::vector<std::pair<ProductCut, ProductExtents>> jobs_;
};

constexpr int64_t kDepths[] = {64, 128, 192, 256, 384, 512, 768, 1024};

// What tiles cost whose operands are in L2: 4 x 4 of them that share them.
void MeasureTiles(const CutProduct& product, CostProfile* profile) {
  constexpr int kTiles = 4;
  std::vector<ProductCut> cuts;
  LeastTimes jobs;
  for (const ProductCut& cut : product.family()) {
    if (cut.whole_rows || cut.whole_panels) continue;
    for (int panels = 1; panels <= cut.panels; ++panels) {
      cuts.push_back(cut);
      cuts.back().panels = panels;
      for (const int64_t depth : kDepths)
        jobs.Add(cuts.back(), {kTiles * cut.rows, kTiles * panels * kPanelColumns, depth});
    }
  }
  const std::vector<double> times = jobs.Measure(product, 150);
  for (size_t i = 0; i < cuts.size(); ++i) {
    std::vector<std::pair<double, double>> near, far;
    for (size_t d = 0; d < std::size(kDepths); ++d) {
      const double time = times[i * std::size(kDepths) + d] / (kTiles * kTiles);
      if (kDepths[d] <= CostProfile::kNearDepth) near.push_back({kDepths[d], time});
      if (kDepths[d] >= CostProfile::kNearDepth) far.push_back({kDepths[d], time});
    }
    const auto [fixed, step] = FitLine(near);
    profile->Of(cuts[i].rows, cuts[i].panels) = {static_cast<float>(fixed), static_cast<float>(step),
                                                 static_cast<float>(FitLine(far).second), 0};
  }
}

// What panels cost that do not stay in L2: one row waits for each, two tiles of six hide some of it.
void MeasureLines(const CutProduct& product, CostProfile* profile) {
  const ProductExtents one = {1, 1984, 1088}, two = {2 * product.tile().rows, 1984, 1088};
  LeastTimes jobs;
  jobs.Add(product.Rule(1), one);
  ProductCut cut = product.Rule(two.m);
  cut.rows = product.tile().rows, cut.panels = product.tile().panels;
  jobs.Add(cut, two);
  const std::vector<double> times = jobs.Measure(product, 150);
  const int64_t panels = one.n / kPanelColumns;
  profile->line = static_cast<float>(Hundredths(times[0] / static_cast<double>(panels * one.k)));
  // What is left of the wait, where nothing hides it and where everything does.
  profile->hidden = 0;
  const double waiting = PredictCut(cut, product.tile(), two, *profile);
  profile->hidden = 1;
  const double hiding = PredictCut(cut, product.tile(), two, *profile);
  const double share = waiting > hiding ? (waiting - times[1]) / (waiting - hiding) : 0;
  profile->hidden = static_cast<float>(Hundredths(std::clamp(share, 0.0, 1.0)));
}

void PrintProfile(const CpuTarget& target) {
  const CutProduct product({}, target);
  CostProfile profile = BuiltInCostProfile(target.level);
  MeasureTiles(product, &profile);
  MeasureLines(product, &profile);
  std::fputs(CostProfileText(profile).c_str(), stdout);
}

std::string Extents(const ProductExtents& e) {
  return std::to_string(e.m) + "x" + std::to_string(e.k) + "x" + std::to_string(e.n);
}

std::string Tile(const ProductCut& cut) {
  return std::string(cut.whole_rows ? "whole " : "") + std::to_string(cut.rows) + "x" +
         (cut.whole_panels ? "whole " : "") + std::to_string(cut.panels);
}

void PrintTables() {
  const CpuTarget& target = HostCpuTarget();
  const CostProfile& profile = BuiltInCostProfile(target.level);
  std::printf("| M x K x N | predicted / measured | rule | chosen | best | rule / best | chosen / best |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  struct Row {
    ProductExtents extents;
    double off;
    ProductCut rule;
    Regret regret;
  };
  std::vector<Row> rows;
  std::vector<double> offs;
  int64_t k = 0;
  std::unique_ptr<CutProduct> product;
  for (const ProductExtents& e : HeldOutProducts()) {
    if (product == nullptr || e.k != k) product = std::make_unique<CutProduct>(ProductForm{.n = e.n, .k = e.k}, target);
    k = e.k;
    const ProductCut rule = product->Rule(e.m);
    LeastTimes job;
    job.Add(rule, e);
    const double measured = job.Measure(*product, 60)[0];
    rows.push_back({e, PredictCut(rule, product->tile(), e, profile) / measured, rule, MeasureRegret(*product, e)});
    offs.push_back(rows.back().off);
  }
  std::nth_element(offs.begin(), offs.begin() + offs.size() / 2, offs.end());
  const double speed = offs[offs.size() / 2];
  double off = 0, of_rule = 0, of_choice = 0;
  for (const Row& row : rows) {
    off += std::abs(std::log(row.off / speed)), of_rule += std::log(row.regret.of_rule);
    of_choice += std::log(row.regret.of_choice);
    std::printf("| %s | %.2f | %s | %s | %s | %.3f | %.3f |\n", Extents(row.extents).c_str(), row.off / speed,
                Tile(row.rule).c_str(), Tile(row.regret.chosen).c_str(), Tile(row.regret.best).c_str(),
                row.regret.of_rule, row.regret.of_choice);
  }
  const auto count = static_cast<double>(rows.size());
  std::printf("\nPredictions are off by %.1f %% in the mean. Regret of the rule %.3f, of the choice %.3f (means).\n",
              100 * (std::exp(off / count) - 1), std::exp(of_rule / count), std::exp(of_choice / count));
}

}  // namespace
}  // namespace tailor

int main(int argc, char** argv) {
  tailor::StayOnThisCpu();
  if (argc == 1) {
    tailor::PrintTables();
    return 0;
  }
  auto target = argc > 2 ? tailor::FindCpuTarget(argv[2]) : tailor::HostCpuTarget();
  if (std::string(argv[1]) != "profile" || !target.ok()) {
    std::fprintf(stderr, "product-cuts [profile [LEVEL]]\n");
    return 1;
  }
  tailor::PrintProfile(*target);
}
