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
#include "tools/tune/tiling_times.h"
#include "tools/tune/interleaved_times.h"
#include "tools/tune/plain_matmul.h"
#include "tools/tune/schedule_space.h"

namespace tailor::tune {
namespace {

struct Tiling {
  int rows, panels;
};

// The widest tile of each height that fits the registers, and one of half the width.
std::vector<Tiling> Tilings(const TargetTraits& traits) {
  std::vector<Tiling> tilings;
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    int panels = CostProfile::kPanels;
    while (panels > 0 && !FitsRegisters(traits, rows, panels)) --panels;
    if (panels > 0) tilings.push_back({rows, panels});
    if (panels > 3) tilings.push_back({rows, panels / 2});
  }
  return tilings;
}

// Tasks have the compiler's sizes, rounded to whole tiles.
ContractionTile Forced(const ContractionTile& own, const Tiling& tiling) {
  return {.rows = tiling.rows,
          .panels = tiling.panels,
          .task_rows = std::max<int64_t>(1, own.task_rows / tiling.rows) * tiling.rows,
          .task_panels = std::max<int64_t>(own.task_panels, tiling.panels),
          .depth = own.depth};
}

// Adds the times of the matmuls of one rhs.
void MeasureOperand(const MatmulForm& form, const std::vector<int64_t>& rows, const std::vector<Tiling>& tilings,
                    TilingTimes* times) {
  constexpr int kRounds = 24;
  constexpr double kSeconds = 1e-4;
  std::vector<std::unique_ptr<PlainMatmul>> matmuls;
  matmuls.push_back(PlainMatmul::Compile(form));
  for (const Tiling& tiling : tilings)
    matmuls.push_back(PlainMatmul::Compile(form, Forced(matmuls[0]->tile(), tiling)));
  for (const int64_t m : rows) {
    PlainOperands operands(m, *form.n, *form.k);
    std::vector<Call> calls;
    for (const auto& matmul : matmuls) calls.push_back(operands.Bind(*matmul));
    std::vector<double> least = LeastTimes(calls, kRounds, kSeconds);
    for (double& time : least) time *= 1e9;
    times->sizes.push_back({m, *form.n, *form.k});
    times->times.push_back(std::move(least));
  }
}

}  // namespace

void MeasureTilings(const TilingsArguments& arguments) {
  if (arguments.operands < 1) throw std::runtime_error("--operands is at least 1");
  std::ofstream out(arguments.output);
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
  PinToCurrentCpu();
  const std::vector<Tiling> tilings = Tilings(HostCpuTarget().traits);
  TilingTimes times{.tilings = {"rule"}};
  for (const Tiling& tiling : tilings)
    times.tilings.push_back(std::to_string(tiling.rows) + "x" + std::to_string(tiling.panels));
  Random random(arguments.seed);
  for (int i = 0; i < arguments.operands; ++i) {
    constexpr int kRowCounts = 8;
    constexpr int64_t kLeast = 32, kMost = 1600, kMostRows = 160;
    const MatmulForm form{.n = DrawDimSize(kLeast, kMost, random), .k = DrawDimSize(kLeast, kMost, random)};
    std::vector<int64_t> rows;
    for (int r = 0; r < kRowCounts; ++r) rows.push_back(DrawDimSize(1, kMostRows, random));
    MeasureOperand(form, rows, tilings, &times);
  }
  out << TilingTimesText(times);
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
  std::printf("%zu matmuls under %zu tilings\n", times.sizes.size(), times.tilings.size());
}

}  // namespace tailor::tune
