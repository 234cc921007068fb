#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "codegen/contract/panels.h"
#include "codegen/link/target_machine.h"
#include "tools/tune/best_fit.h"
#include "tools/tune/commands.h"
#include "tools/tune/tiling_times.h"
#include "tools/tune/decision_tree.h"
#include "tools/tune/plain_matmul.h"

namespace tailor::tune {
namespace {

constexpr double kShare = 0.97;  // of the best speed: as good as it (BladeDISC section 5.2.2)

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// The training set and the held-out set: every fifth rhs with all of its matmuls is held out.
std::pair<TilingTimes, TilingTimes> Split(const TilingTimes& times) {
  constexpr size_t kEvery = 5;
  std::map<std::pair<int64_t, int64_t>, size_t> operands;
  TilingTimes seen{.tilings = times.tilings}, held_out{.tilings = times.tilings};
  for (size_t i = 0; i < times.sizes.size(); ++i) {
    const auto key = std::pair(times.sizes[i].n, times.sizes[i].k);
    const size_t operand = operands.emplace(key, operands.size()).first->second;
    TilingTimes& side = operand % kEvery == kEvery - 1 ? held_out : seen;
    side.sizes.push_back(times.sizes[i]);
    side.times.push_back(times.times[i]);
  }
  return {std::move(seen), std::move(held_out)};
}

const std::vector<std::string> kFeatures = {"m", "n", "k", "n * k"};
std::vector<double> Features(const MatmulSize& size) {
  const double n = static_cast<double>(size.n), k = static_cast<double>(size.k);
  return {static_cast<double>(size.m), n, k, n * k};
}

// The even tiles of at most `limit` for a dim size of `count`: (size, number of tiles), the larger first.
std::vector<std::pair<int, int64_t>> EvenTiles(int64_t count, int limit) {
  const int64_t tiles = (count + limit - 1) / limit;
  const int base = static_cast<int>(count / tiles);
  return {{base + 1, count % tiles}, {base, tiles - count % tiles}};
}

// The cost of tiling "6x4" by its tiles, without other terms.
double PredictedTime(const std::string& tiling, const MatmulSize& size, const CostProfile& profile) {
  int rows = 0, panels = 0;
  if (std::sscanf(tiling.c_str(), "%dx%d", &rows, &panels) != 2 || rows < 1 || panels < 1 ||
      rows > CostProfile::kRows || panels > CostProfile::kPanels) {
    throw std::runtime_error("\"" + tiling + "\" is no tiling, as in \"6x4\"");
  }
  const double near = static_cast<double>(std::min(size.k, CostProfile::kNearDepth));
  const double far = static_cast<double>(size.k) - near;
  double time = 0;
  for (const auto& [tile_rows, row_tiles] : EvenTiles(size.m, rows)) {
    for (const auto& [tile_panels, groups] : EvenTiles((size.n + kPanelColumns - 1) / kPanelColumns, panels)) {
      if (row_tiles == 0 || groups == 0) continue;
      const TileCost& cost = profile.Of(tile_rows, tile_panels);
      time += static_cast<double>(row_tiles * groups) * (cost.fixed + near * cost.near_step + far * cost.far_step);
    }
  }
  return time;
}

std::vector<int> ChooseByModel(const TilingTimes& times, const CostProfile& profile) {
  std::vector<int> chosen;
  for (const MatmulSize& size : times.sizes) {
    std::vector<double> predicted;
    for (size_t tiling = 1; tiling < times.tilings.size(); ++tiling) {
      predicted.push_back(PredictedTime(times.tilings[tiling], size, profile));
    }
    const auto least = std::min_element(predicted.begin(), predicted.end());
    chosen.push_back(1 + static_cast<int>(least - predicted.begin()));
  }
  return chosen;
}

void PrintRow(const std::string& name, const TilingTimes& times, const std::vector<int>& chosen) {
  const ChoiceQuality quality = Judge(times.times, chosen, kShare);
  std::printf("| %s | %.1f %% | %.3f | %.3f |\n", name.c_str(), 100 * quality.within, quality.mean, quality.worst);
}

}  // namespace

void ClassifyTilings(const ClassifyArguments& arguments) {
  TilingTimes times;
  for (const std::string& path : arguments.times) {
    const std::string wrong = ParseTilingTimes(ReadFile(path), &times);
    if (!wrong.empty()) throw std::runtime_error(path + ": " + wrong);
  }
  CostProfile profile = HostCosts();
  if (!arguments.profile.empty()) {
    const std::string wrong = ParseCostProfile(ReadFile(arguments.profile), &profile);
    if (!wrong.empty()) throw std::runtime_error(arguments.profile + ": " + wrong);
  }
  if (arguments.tilings < 1 || arguments.depth < 0) throw std::runtime_error("--cuts is at least 1, --depth 0 or more");
  if (times.tilings[0] != "rule") throw std::runtime_error("the first tiling is not the rule's");
  const auto [seen, held_out] = Split(times);
  if (held_out.sizes.empty()) throw std::runtime_error("fewer than five rhs operands: none can be held out");

  const std::vector<int> top = TopSchedules(seen.times, kShare, arguments.tilings);
  const std::vector<int> labels = BestFits(seen.times, top), right = BestFits(held_out.times, top);
  std::vector<Sample> samples;
  for (size_t i = 0; i < labels.size(); ++i) samples.push_back({Features(seen.sizes[i]), labels[i]});
  const DecisionTree tree(samples, {.depth = arguments.depth});
  std::vector<int> by_tree;
  double accuracy = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    by_tree.push_back(tree.Classify(Features(held_out.sizes[i])));
    accuracy += by_tree[i] == right[i] ? 1.0 / static_cast<double>(right.size()) : 0.0;
  }

  std::printf("%zu matmuls to learn from, %zu held out. Tilings to choose from:", seen.sizes.size(),
              held_out.sizes.size());
  for (const int tiling : top) std::printf(" %s", times.tilings[tiling].c_str());
  std::printf("\nThe tree has %d leaves and is right for %.1f %% of those held out.\n\n", tree.leaves(),
              100 * accuracy);
  std::printf("| held-out matmuls | within 3 %% of the best | mean speed, of the best | worst |\n|---|---|---|---|\n");
  const std::vector<int> rule(right.size(), 0);
  PrintRow("the compiler's rule", held_out, rule);
  PrintRow("always " + times.tilings[top[0]], held_out, std::vector<int>(right.size(), top[0]));
  PrintRow("least by the cost profile", held_out, ChooseByModel(held_out, profile));
  PrintRow("decision tree", held_out, by_tree);
  PrintRow("the best of those to choose from", held_out, right);
  if (arguments.print_tree) std::printf("\n%s", tree.Text(kFeatures, times.tilings).c_str());
}

}  // namespace tailor::tune
