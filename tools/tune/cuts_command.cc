#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "codegen/contract/panels.h"
#include "codegen/link/target_machine.h"
#include "tools/measure/measuring_thread.h"
#include "tools/tune/commands.h"
#include "tools/tune/cut_times.h"
#include "tools/tune/interleaved_times.h"
#include "tools/tune/plain_product.h"
#include "tools/tune/schedule_space.h"

namespace tailor::tune {
namespace {

struct Cut {
  int rows, panels;
};

// The widest tile of each height that fits the registers, and one of half the width.
std::vector<Cut> Cuts(const TargetTraits& traits) {
  std::vector<Cut> cuts;
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    int panels = CostProfile::kPanels;
    while (panels > 0 && !FitsRegisters(traits, rows, panels)) --panels;
    if (panels > 0) cuts.push_back({rows, panels});
    if (panels > 3) cuts.push_back({rows, panels / 2});
  }
  return cuts;
}

// Tasks have the sizes of the compiler's, to whole tiles.
ContractionTile Forced(const ContractionTile& own, const Cut& cut) {
  return {.rows = cut.rows,
          .panels = cut.panels,
          .task_rows = std::max<int64_t>(1, own.task_rows / cut.rows) * cut.rows,
          .task_panels = std::max<int64_t>(own.task_panels, cut.panels),
          .depth = own.depth};
}

// Adds the times of products of one right operand.
void MeasureOperand(const MatmulForm& form, const std::vector<int64_t>& rows, const std::vector<Cut>& cuts,
                    CutTimes* times) {
  constexpr int kRounds = 24;
  constexpr double kSeconds = 1e-4;
  std::vector<std::unique_ptr<PlainProduct>> products;
  products.push_back(PlainProduct::Compile(form));
  for (const Cut& cut : cuts) products.push_back(PlainProduct::Compile(form, Forced(products[0]->tile(), cut)));
  for (const int64_t m : rows) {
    PlainOperands operands(m, *form.n, *form.k);
    std::vector<Call> calls;
    for (const auto& product : products) calls.push_back(operands.Bind(*product));
    std::vector<double> least = LeastTimes(calls, kRounds, kSeconds);
    for (double& time : least) time *= 1e9;
    times->sizes.push_back({m, *form.n, *form.k});
    times->times.push_back(std::move(least));
  }
}

}  // namespace

void MeasureCuts(const CutsArguments& arguments) {
  if (arguments.operands < 1) throw std::runtime_error("--operands is at least 1");
  std::ofstream out(arguments.output);
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
  StayOnThisCpu();
  const std::vector<Cut> cuts = Cuts(HostCpuTarget().traits);
  CutTimes times{.cuts = {"rule"}};
  for (const Cut& cut : cuts) times.cuts.push_back(std::to_string(cut.rows) + "x" + std::to_string(cut.panels));
  Random random(arguments.seed);
  for (int i = 0; i < arguments.operands; ++i) {
    constexpr int kRowCounts = 8;
    constexpr int64_t kLeast = 32, kMost = 1600, kMostRows = 160;
    const MatmulForm form{.n = DrawExtent(kLeast, kMost, random), .k = DrawExtent(kLeast, kMost, random)};
    std::vector<int64_t> rows;
    for (int r = 0; r < kRowCounts; ++r) rows.push_back(DrawExtent(1, kMostRows, random));
    MeasureOperand(form, rows, cuts, &times);
  }
  out << CutTimesText(times);
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
  std::printf("%zu products under %zu cuts\n", times.sizes.size(), times.cuts.size());
}

}  // namespace tailor::tune
