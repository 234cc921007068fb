#include "codegen/host/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "graph/visits.h"

namespace tailor::host {
namespace {

using Sizes = std::vector<int64_t>;  // by block, for one sample shape

// `count` representative values of a symbol: its likely values, then a geometric progression through its range.
std::vector<int64_t> SampleValues(SymbolId symbol, const ShapeFacts& facts, int count) {
  constexpr int64_t kUsual = 2048;  // assumed maximum of a dim size without a real bound
  std::set<int64_t> values;
  for (int64_t likely : facts.LikelyOf(symbol)) {
    if (static_cast<int>(values.size()) < count) values.insert(likely);
  }
  Range range = facts.RangeOf(DimExpr::Symbol(symbol));
  double low = static_cast<double>(std::max<int64_t>(range.min, 1));
  double high = std::max(low, static_cast<double>(std::min(range.max, kUsual)));
  for (int i = 0; i < count && static_cast<int>(values.size()) < count; ++i) {
    double place = count == 1 ? 0.5 : static_cast<double>(i) / (count - 1);
    values.insert(std::llround(low * std::pow(high / low, place)));
  }
  return {values.begin(), values.end()};
}

// Block sizes for all combinations of sample values.
std::vector<Sizes> SampleShapes(absl::Span<const WorkspaceBlock> blocks, const ShapeFacts& facts) {
  constexpr double kShapes = 64;
  std::set<SymbolId> symbols;
  for (const WorkspaceBlock& block : blocks) {
    for (SymbolId symbol : block.bytes.Symbols()) symbols.insert(symbol);
  }
  int per_symbol = static_cast<int>(std::floor(std::pow(kShapes, 1.0 / std::max<size_t>(symbols.size(), 1)) + 1e-9));
  std::vector<std::vector<int64_t>> shapes(1, std::vector<int64_t>(symbols.empty() ? 0 : *symbols.rbegin() + 1));
  for (SymbolId symbol : symbols) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& shape : shapes) {
      for (int64_t value : SampleValues(symbol, facts, per_symbol)) {
        longer.push_back(shape);
        longer.back()[symbol] = value;
      }
    }
    shapes = std::move(longer);
  }
  std::vector<Sizes> samples;
  for (const std::vector<int64_t>& shape : shapes) {
    absl::flat_hash_map<DimExpr, int64_t> known;
    Sizes sizes;
    for (const WorkspaceBlock& block : blocks) {
      const auto [size, added] = known.try_emplace(block.bytes);
      if (added) size->second = std::max<int64_t>(block.bytes.Evaluate(shape).value_or(0), 0);
      sizes.push_back(size->second);
    }
    samples.push_back(std::move(sizes));
  }
  return samples;
}

// Per block: the blocks with overlapping live intervals. Linear in the overlaps, plus sorting.
std::vector<std::vector<int>> Overlaps(absl::Span<const WorkspaceBlock> blocks) {
  std::vector<int> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return blocks[a].live.first < blocks[b].live.first; });
  std::vector<std::vector<int>> overlaps(blocks.size());
  std::vector<int> live;
  for (int block : order) {
    std::erase_if(live, [&](int other) { return !blocks[other].live.Overlaps(blocks[block].live); });
    CountVisits(1 + live.size());
    for (int other : live) {
      overlaps[block].push_back(other);
      overlaps[other].push_back(block);
    }
    live.push_back(block);
  }
  return overlaps;
}

// Blocks that are placed together: equal layers have equal blocks, which change the peak only together.
using BlockClass = std::vector<int>;

// Groups blocks by size and length of live interval; largest sum over samples first, ties by index.
std::vector<BlockClass> Classes(absl::Span<const WorkspaceBlock> blocks, absl::Span<const Sizes> samples) {
  std::vector<double> expected(blocks.size(), 0);
  for (const Sizes& sizes : samples) {
    for (size_t i = 0; i < blocks.size(); ++i) expected[i] += static_cast<double>(sizes[i]);
  }
  std::vector<BlockClass> classes;
  for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
    auto same = std::find_if(classes.begin(), classes.end(), [&](const BlockClass& c) {
      const WorkspaceBlock &a = blocks[c[0]], &b = blocks[i];
      return a.bytes == b.bytes && a.live.last - a.live.first == b.live.last - b.live.first;
    });
    same == classes.end() ? classes.push_back({i}) : same->push_back(i);
  }
  std::stable_sort(classes.begin(), classes.end(),
                   [&](const BlockClass& a, const BlockClass& b) { return expected[a[0]] > expected[b[0]]; });
  return classes;
}

size_t PairsOf(const std::vector<std::vector<int>>& overlaps) {
  size_t pairs = 0;
  for (const std::vector<int>& others : overlaps) pairs += others.size();
  return pairs;
}

MemoryPlan PlanOf(absl::Span<const BlockClass> classes, const std::vector<std::vector<int>>& overlaps) {
  MemoryPlan plan;
  for (const BlockClass& c : classes) plan.order.insert(plan.order.end(), c.begin(), c.end());
  std::vector<int> place(plan.order.size());
  for (size_t i = 0; i < plan.order.size(); ++i) place[plan.order[i]] = static_cast<int>(i);
  const auto before = [&](int a, int b) { return place[a] < place[b]; };
  for (int block : plan.order) {
    std::vector<int>& conflicts = plan.conflicts.emplace_back();
    for (int other : overlaps[block]) {
      if (before(other, block)) conflicts.push_back(other);
    }
    std::sort(conflicts.begin(), conflicts.end(), before);
    CountVisits(overlaps[block].size());
  }
  return plan;
}

// The ratio of a plan's bytes to the maximum of live bytes: worst sample, and sum over samples.
struct Waste {
  double worst = 0;
  double sum = 0;
  size_t at = 0;  // the worst sample
  bool operator<(const Waste& other) const { return std::tie(worst, sum) < std::tie(other.worst, other.sum); }
};

double WasteAt(const MemoryPlan& plan, const Sizes& sizes, int64_t live_maximum) {
  return live_maximum == 0 ? 0 : static_cast<double>(PlaceBlocks(plan, sizes).bytes) / live_maximum;
}

// The waste over samples `at`.
Waste WasteOf(const MemoryPlan& plan, absl::Span<const Sizes> samples, absl::Span<const int64_t> live_maxima,
              absl::Span<const size_t> at) {
  Waste waste;
  for (size_t i : at) {
    const double ratio = WasteAt(plan, samples[i], live_maxima[i]);
    if (ratio > waste.worst) waste.worst = ratio, waste.at = i;
    waste.sum += ratio;
  }
  return waste;
}

}  // namespace

Placement PlaceBlocks(const MemoryPlan& plan, absl::Span<const int64_t> sizes) {
  Placement placement{std::vector<int64_t>(sizes.size(), 0), 0};
  for (size_t i = 0; i < plan.order.size(); ++i) {
    int block = plan.order[i];
    int64_t offset = 0;
    CountVisits(plan.conflicts[i].size());
    for (bool moved = sizes[block] > 0; moved;) {
      moved = false;
      for (int other : plan.conflicts[i]) {
        int64_t begin = placement.offsets[other], end = begin + sizes[other];
        if (offset >= end || begin >= offset + sizes[block]) continue;
        offset = end;
        moved = true;
      }
    }
    placement.offsets[block] = offset;
    placement.bytes = std::max(placement.bytes, offset + sizes[block]);
  }
  return placement;
}

int64_t LiveMaximum(absl::Span<const WorkspaceBlock> blocks, absl::Span<const int64_t> sizes) {
  std::map<int, int64_t> change;  // by step
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].live.first < 0) continue;
    change[blocks[i].live.first] += sizes[i];
    change[blocks[i].live.last + 1] -= sizes[i];
  }
  CountVisits(blocks.size());
  int64_t live = 0, maximum = 0;
  for (const auto& [step, bytes] : change) maximum = std::max(maximum, live += bytes);
  return maximum;
}

MemoryPlan PlanMemory(absl::Span<const WorkspaceBlock> blocks, const ShapeFacts& facts) {
  constexpr size_t kMostTrials = 1024, kMostVisits = size_t{1} << 22;
  std::vector<Sizes> samples = SampleShapes(blocks, facts);
  std::vector<int64_t> live_maxima;
  for (const Sizes& sizes : samples) live_maxima.push_back(LiveMaximum(blocks, sizes));
  std::vector<BlockClass> classes = Classes(blocks, samples);
  const std::vector<std::vector<int>> overlaps = Overlaps(blocks);
  std::vector<size_t> all(samples.size());
  std::iota(all.begin(), all.end(), size_t{0});
  const auto waste_of = [&](const MemoryPlan& plan, absl::Span<const size_t> at) {
    return WasteOf(plan, samples, live_maxima, at);
  };
  MemoryPlan best = PlanOf(classes, overlaps);
  Waste least = waste_of(best, all);
  // Moves one class at a time, in rounds over all classes, while that helps. A trial is evaluated first at a few
  // samples and at former worst samples; if it is better there, at all samples.
  constexpr size_t kStride = 9;  // the diagonal of 8 values by 8
  std::vector<size_t> some = {least.at};
  for (size_t i = 0; i < samples.size(); i += kStride) {
    if (i != least.at) some.push_back(i);
  }
  Waste least_of_some = waste_of(best, some);
  const size_t moves = classes.size() * classes.size();
  const size_t trials = std::min(kMostTrials, kMostVisits / (blocks.size() + PairsOf(overlaps) + 1));
  size_t since_better = 0;
  for (size_t trial = 0; trial < trials && since_better < moves && least.worst > 1; ++trial, ++since_better) {
    size_t from = trial % moves / classes.size(), to = trial % classes.size();
    std::vector<BlockClass> moved = classes;
    moved.erase(moved.begin() + from);
    moved.insert(moved.begin() + to, classes[from]);
    MemoryPlan plan = PlanOf(moved, overlaps);
    if (!(waste_of(plan, some) < least_of_some)) continue;
    const Waste waste = waste_of(plan, all);
    if (waste < least) {
      least = waste;
      best = std::move(plan);
      classes = std::move(moved);
      since_better = 0;
    }
    if (std::find(some.begin(), some.end(), waste.at) == some.end()) some.push_back(waste.at);
    least_of_some = waste_of(best, some);
  }
  return best;
}

}  // namespace tailor::host
