// product-cuts: how good the rule is by which f32 products are cut into tiles (codegen/gemm/tile_shapes.h), on this
// machine. Two tables on standard output:
// - the micro-kernels, each with a line fitted to its time over K (MikPoly section 3.3): what a tile costs before any k
//   and for each, in multiply-adds at the core's peak, what of the peak that is, and how far the line is off;
// - for products of held-out sizes, the rule's time over that of the best of all other cuts: its regret. The best is
//   found on half of the rounds and measured on the other half, for the least of many noisy times is too small; what is
//   left of noise may put it below 1.
// All candidates of a shape take turns in one process; times are CPU times of one thread.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/fma_peak.h"
#include "bench/measuring_thread.h"
#include "codegen/emit_cpu.h"
#include "codegen/gemm/cost_profile.h"
#include "codegen/gemm/panels.h"
#include "tests/codegen/gemm_product.h"
#include "tests/codegen/ir_image.h"

namespace tailor {
namespace {

struct Size {
  int64_t m, k, n;
  double MultiplyAdds() const { return static_cast<double>(m * k * n); }
};

struct Tile {
  int rows, panels;
};

// What code is made for: the machine's best level unless the command line names another.
const CpuTarget*& ChosenTarget() {
  static const CpuTarget* chosen = &HostCpuTarget();
  return chosen;
}
const CpuTarget& Target() { return *ChosenTarget(); }

// A product with one way of cutting it: the rule's, or into tiles of at most a given size.
class Candidate {
 public:
  explicit Candidate(const ProductForm& form) : Candidate(form, ScheduleOf(form), "rule") {}
  Candidate(const ProductForm& form, const Tile& tile)
      : Candidate(form, Forced(form, tile), std::to_string(tile.rows) + "x" + std::to_string(tile.panels)) {}

  void Run(const Size& size, const float* lhs, const float* panels, float* out) const {
    std::vector<int64_t> slots;
    for (const DimSlot& slot : plan_.dims) slots.push_back(*slot.value.Evaluate({size.m, size.n, size.k}));
    std::vector<int64_t> args;
    for (const float* data : {lhs, panels, static_cast<const float*>(out)}) {
      args.push_back(reinterpret_cast<int64_t>(data));
    }
    args.insert(args.end(), slots.begin(), slots.end());
    kernel_(args.data(), 0, *schedule_.tasks.Evaluate(slots), 0);
  }
  const std::string& name() const { return name_; }

 private:
  static Schedule ScheduleOf(const ProductForm& form) {
    return ScheduleContraction(MakeProductPlan(form), Target().traits);
  }

  static Schedule Forced(const ProductForm& form, const Tile& tile) {
    Schedule schedule = ScheduleOf(form);
    const int64_t task_rows = std::max<int64_t>(1, schedule.tile.task_rows / tile.rows) * tile.rows;
    const int64_t task_panels = std::max<int64_t>(schedule.tile.task_panels, tile.panels);
    schedule.tile = {.rows = tile.rows,
                     .panels = tile.panels,
                     .task_rows = task_rows,
                     .task_panels = task_panels,
                     .depth = schedule.tile.depth};
    const DimExpr m = DimExpr::Symbol(0), n = form.n == kDynamic ? DimExpr::Symbol(1) : DimExpr(form.n);
    schedule.tasks = DimExpr::CeilDiv(m, task_rows) * DimExpr::CeilDiv(n, task_panels * kPanelColumns);
    return schedule;
  }

  Candidate(const ProductForm& form, Schedule schedule, std::string name)
      : plan_(MakeProductPlan(form)), schedule_(std::move(schedule)), name_(std::move(name)) {
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("product", context);
    const EmitTarget target{.fma = Target().traits.fused_multiply_add};
    if (!EmitContraction(plan_, schedule_, target, "product", *module).ok()) abort();
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(module), Target()));
    image_ = std::make_unique<MappedImage>(*LinkImage(std::move(objects), {"product_v0"}));
    kernel_ = image_->Find<KernelFn>("product_v0");
  }

  KernelPlan plan_;
  Schedule schedule_;
  std::string name_;
  std::unique_ptr<MappedImage> image_;
  KernelFn kernel_;
};

struct Operands {
  explicit Operands(const Size& size)
      : lhs(size.m * size.k, 0.5f), storage(size.k * (size.n + 2 * kPanelColumns), 0.25f), out(size.m * size.n) {
    const auto address = reinterpret_cast<uintptr_t>(storage.data());
    panels = reinterpret_cast<const float*>((address + 63) / 64 * 64);
  }
  std::vector<float> lhs, storage, out;
  const float* panels;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Multiply-adds at the peak that fit into the time of one run, by candidate and round.
std::vector<std::vector<double>> Times(const std::vector<const Candidate*>& candidates, const Size& size, int rounds) {
  Operands operands(size);
  std::vector<std::vector<double>> times(candidates.size());
  const int runs = std::max(1, static_cast<int>(3e7 / size.MultiplyAdds()));
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      constexpr int64_t kPeakSteps = 20000;
      const size_t turn = (i + round) % candidates.size();
      const auto run = [&] { candidates[turn]->Run(size, operands.lhs.data(), operands.panels, operands.out.data()); };
      run();
      const double begin = ThreadSeconds();
      for (int r = 0; r < runs; ++r) run();
      const double between = ThreadSeconds();
      volatile float sink = RunFmaPeak(kPeakSteps);
      static_cast<void>(sink);
      const double peak = static_cast<double>(FmaPeakFlops(kPeakSteps)) / 2 / (ThreadSeconds() - between);
      times[turn].push_back((between - begin) / runs * peak);
    }
  }
  return times;
}

// The widest tile of each height whose sums, kept operands and a passing one fit the registers.
std::vector<Tile> Tiles() {
  const TargetTraits& traits = Target().traits;
  const int pieces = std::max(1, kPanelColumns * 4 / traits.vector_bytes);
  std::vector<Tile> tiles;
  for (int rows = 1; rows <= 14; ++rows) {
    for (int panels = 8; panels > 0; --panels) {
      if (rows * panels * pieces + std::min(rows, panels * pieces) + 1 >= traits.vector_registers) continue;
      tiles.push_back({rows, panels});
      break;
    }
  }
  return tiles;
}

double Rounded(double value) { return std::round(100 * value) / 100; }

// A line through points, not below 0 at 0, weighted so that shares of the time count: {at 0, slope}.
std::pair<double, double> FitLine(const std::vector<std::pair<double, double>>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [x, y] : points) {
    const double weight = 1 / (y * y);
    n += weight, sx += weight * x, sy += weight * y, sxx += weight * x * x, sxy += weight * x * y;
  }
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  if (slope * sx > sy) return {0, Rounded(sxy / sxx)};
  return {Rounded((sy - slope * sx) / n), Rounded(slope)};
}

// What every tile that fits the registers costs, its operands in L2: 4 x 4 tiles of it that share them. The least of
// many short times, all tiles in turn, each depth of each tile once in a pass: so whatever else the machine does, each
// has moments to itself.
void PrintProfile() {
  constexpr int64_t kDepths[] = {64, 128, 192, 256, 384, 512, 768, 1024};
  constexpr int kTiles = 4, kPasses = 150;
  const TargetTraits& traits = Target().traits;
  const int pieces = std::max(1, kPanelColumns * 4 / traits.vector_bytes);
  std::vector<Tile> tiles;
  std::vector<Candidate> candidates;
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    for (int panels = 1; panels <= CostProfile::kPanels; ++panels) {
      if (rows * panels * pieces + std::min(rows, panels * pieces) + 1 >= traits.vector_registers) continue;
      tiles.push_back({rows, panels});
      candidates.emplace_back(ProductForm{}, tiles.back());
    }
  }
  std::vector<std::array<double, std::size(kDepths)>> least(tiles.size());
  for (auto& times : least) times.fill(1e30);
  const Operands operands(
      {kTiles * CostProfile::kRows, kDepths[std::size(kDepths) - 1], kTiles * CostProfile::kPanels * kPanelColumns});
  for (int pass = 0; pass < kPasses; ++pass) {
    for (size_t t = 0; t < tiles.size(); ++t) {
      for (size_t d = 0; d < std::size(kDepths); ++d) {
        const Size size{kTiles * tiles[t].rows, kDepths[d], kTiles * tiles[t].panels * kPanelColumns};
        const int runs = 1 + static_cast<int>(1e6 / size.MultiplyAdds());
        const auto run = [&] {
          candidates[t].Run(size, operands.lhs.data(), operands.panels, const_cast<float*>(operands.out.data()));
        };
        run();
        const double begin = ThreadSeconds();
        for (int r = 0; r < runs; ++r) run();
        least[t][d] = std::min(least[t][d], (ThreadSeconds() - begin) * 1e9 / runs / (kTiles * kTiles));
      }
    }
  }
  CostProfile profile;
  for (size_t t = 0; t < tiles.size(); ++t) {
    std::vector<std::pair<double, double>> near, far;
    for (size_t d = 0; d < std::size(kDepths); ++d) {
      (kDepths[d] <= CostProfile::kNearDepth ? near : far).push_back({kDepths[d], least[t][d]});
      if (kDepths[d] == CostProfile::kNearDepth) far.push_back(near.back());
    }
    const auto [fixed, step] = FitLine(near);
    profile.Of(tiles[t].rows, tiles[t].panels) = {static_cast<float>(fixed), static_cast<float>(step),
                                                  static_cast<float>(FitLine(far).second), 0};
  }
  std::fputs(CostProfileText(profile).c_str(), stdout);
}

void PrintMicroKernels(const std::vector<Tile>& tiles) {
  std::printf("| micro-kernel | fixed | for each k | of the peak | line off by at most |\n|---|---|---|---|---|\n");
  for (const Tile& tile : tiles) {
    const Candidate candidate({}, tile);
    std::vector<double> depths, times;
    for (const int64_t depth : {64, 96, 128, 192, 256, 384}) {
      const Size size{tile.rows, depth, static_cast<int64_t>(tile.panels) * kPanelColumns};
      depths.push_back(static_cast<double>(depth));
      times.push_back(Median(Times({&candidate}, size, 15)[0]));
    }
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t d = 0; d < depths.size(); ++d) {
      n += 1, x += depths[d], y += times[d], xx += depths[d] * depths[d], xy += depths[d] * times[d];
    }
    const double step = (n * xy - x * y) / (n * xx - x * x), fixed = (y - step * x) / n;
    double off = 0;
    for (size_t d = 0; d < depths.size(); ++d) off = std::max(off, std::abs((fixed + step * depths[d]) / times[d] - 1));
    const int sums = tile.rows * tile.panels * kPanelColumns;
    std::printf("| %s | %.0f | %.0f | %.2f | %.0f %% |\n", candidate.name().c_str(), fixed, step, sums / step,
                100 * off);
  }
}

void PrintRegret(const std::vector<Tile>& tiles) {
  std::printf(
      "\n| M x K x N | rule, of the peak | best other cut | rule's time over the best's |\n|---|---|---|---|\n");
  double logarithms = 0, worst = 0;
  int shapes = 0;
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{448, 832}, {700, 250}, {1088, 1984}}) {
    const ProductForm form{.n = n, .k = k};
    std::vector<Candidate> candidates;
    candidates.emplace_back(form);
    for (const Tile& tile : tiles) candidates.emplace_back(form, tile);
    std::vector<const Candidate*> all;
    for (const Candidate& candidate : candidates) all.push_back(&candidate);
    for (const int64_t m : {2, 5, 7, 8, 9, 11, 13, 17, 23, 37, 90, 250}) {
      const Size size{m, k, n};
      constexpr int kRounds = 24;
      const auto times = Times(all, size, kRounds);
      const auto slower = [&](size_t i, int first) {  // in rounds first, first + 2...
        std::vector<double> ratios;
        for (int r = first; r < kRounds; r += 2) ratios.push_back(times[0][r] / times[i][r]);
        return Median(ratios);
      };
      size_t best = 0;
      for (size_t i = 1; i < all.size(); ++i) best = slower(i, 0) > slower(best, 0) ? i : best;
      const double regret = slower(best, 1);
      logarithms += std::log(regret), worst = std::max(worst, regret), ++shapes;
      std::printf("| %dx%dx%d | %.2f | %s | %.3f |\n", static_cast<int>(m), static_cast<int>(k), static_cast<int>(n),
                  size.MultiplyAdds() / Median(times[0]), all[best]->name().c_str(), regret);
      std::fflush(stdout);
    }
  }
  std::printf(
      "\nThe rule reaches %.3f of the best cut's speed in the geometric mean of %d shapes, %.3f in the worst.\n",
      std::exp(-logarithms / shapes), shapes, 1 / worst);
}

}  // namespace
}  // namespace tailor

int main(int argc, char** argv) {
  tailor::StayOnThisCpu();
  if (argc > 1) {
    static const tailor::CpuTarget target = *tailor::FindCpuTarget(argv[1]);
    tailor::ChosenTarget() = &target;
    tailor::PrintProfile();
    return 0;
  }
  const std::vector<tailor::Tile> tiles = tailor::Tiles();
  tailor::PrintMicroKernels(tiles);
  tailor::PrintRegret(tiles);
}
