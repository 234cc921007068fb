#include "codegen/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace tailor {
namespace {

using Sizes = std::vector<int64_t>;  // by block, at one shape

// `count` values of a symbol that stand for all: its likely ones, then steps of equal ratio through its range.
std::vector<int64_t> SampleValues(SymbolId symbol, const ShapeFacts& facts, int count) {
  constexpr int64_t kUsual = 2048;  // what an extent without a real bound rarely exceeds
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

// Sizes at all combinations of sample values.
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
    Sizes sizes;
    for (const WorkspaceBlock& block : blocks) {
      sizes.push_back(std::max<int64_t>(block.bytes.Evaluate(shape).value_or(0), 0));
    }
    samples.push_back(std::move(sizes));
  }
  return samples;
}

MemoryPlan WithConflicts(std::vector<int> order, absl::Span<const WorkspaceBlock> blocks) {
  MemoryPlan plan;
  for (size_t i = 0; i < order.size(); ++i) {
    std::vector<int>& conflicts = plan.conflicts.emplace_back();
    for (size_t j = 0; j < i; ++j) {
      if (blocks[order[i]].live.Overlaps(blocks[order[j]].live)) conflicts.push_back(order[j]);
    }
  }
  plan.order = std::move(order);
  return plan;
}

// Blocks that are placed in one go: equal layers give equal blocks, which only together change the peak.
using BlockClass = std::vector<int>;

// By size and length of life; largest over all samples first, ties by index.
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

MemoryPlan PlanOf(absl::Span<const BlockClass> classes, absl::Span<const WorkspaceBlock> blocks) {
  std::vector<int> order;
  for (const BlockClass& c : classes) order.insert(order.end(), c.begin(), c.end());
  return WithConflicts(std::move(order), blocks);
}

// Worst, then mean, of peak over live maximum.
using Waste = std::pair<double, double>;

Waste WasteOf(const MemoryPlan& plan, absl::Span<const Sizes> samples, absl::Span<const int64_t> live_maxima) {
  Waste waste = {0, 0};
  for (size_t i = 0; i < samples.size(); ++i) {
    if (live_maxima[i] == 0) continue;
    double ratio = static_cast<double>(PlaceBlocks(plan, samples[i]).bytes) / live_maxima[i];
    waste.first = std::max(waste.first, ratio);
    waste.second += ratio;
  }
  return waste;
}

}  // namespace

Placement PlaceBlocks(const MemoryPlan& plan, absl::Span<const int64_t> sizes) {
  Placement placement{std::vector<int64_t>(sizes.size(), 0), 0};
  for (size_t i = 0; i < plan.order.size(); ++i) {
    int block = plan.order[i];
    int64_t offset = 0;
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
  int64_t maximum = 0;
  for (const WorkspaceBlock& at : blocks) {  // the maximum is reached where some block begins
    int64_t live = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].live.Overlaps({at.live.first, at.live.first})) live += sizes[i];
    }
    maximum = std::max(maximum, live);
  }
  return maximum;
}

MemoryPlan PlanMemory(absl::Span<const WorkspaceBlock> blocks, const ShapeFacts& facts) {
  constexpr int kMaxTrials = 1024;
  std::vector<Sizes> samples = SampleShapes(blocks, facts);
  std::vector<int64_t> live_maxima;
  for (const Sizes& sizes : samples) live_maxima.push_back(LiveMaximum(blocks, sizes));
  std::vector<BlockClass> classes = Classes(blocks, samples);
  MemoryPlan best = PlanOf(classes, blocks);
  Waste least = WasteOf(best, samples, live_maxima);
  // Moves one class at a time, in rounds over all of them, for as long as it helps.
  size_t moves = classes.size() * classes.size(), since_better = 0;
  for (size_t trial = 0; trial < kMaxTrials && since_better < moves && least.first > 1; ++trial, ++since_better) {
    size_t from = trial % moves / classes.size(), to = trial % classes.size();
    std::vector<BlockClass> moved = classes;
    moved.erase(moved.begin() + from);
    moved.insert(moved.begin() + to, classes[from]);
    MemoryPlan plan = PlanOf(moved, blocks);
    Waste waste = WasteOf(plan, samples, live_maxima);
    if (waste >= least) continue;
    least = waste;
    best = std::move(plan);
    classes = std::move(moved);
    since_better = 0;
  }
  return best;
}

}  // namespace tailor
