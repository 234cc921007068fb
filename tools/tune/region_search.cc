#include "tools/tune/region_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tools/tune/gaussian_process.h"

namespace tailor::tune {
namespace {

constexpr int kDraws = 100;  // before a point that was seen is asked for again

Point DrawUnseen(const SearchSpace& space, const std::set<Point>& seen, Random& random) {
  Point point = space.Draw(random);
  for (int i = 0; i < kDraws && seen.count(point) > 0; ++i) point = space.Draw(random);
  return point;
}

}  // namespace

RandomSearch::RandomSearch(const SearchSpace& space, std::vector<Point> starts, uint64_t seed)
    : space_(space), starts_(std::move(starts)), random_(seed) {}

Point RandomSearch::Next() {
  const bool starting = started_ < starts_.size();
  const Point point = starting ? starts_[started_++] : DrawUnseen(space_, seen_, random_);
  seen_.insert(point);
  return point;
}

RegionSearch::RegionSearch(const SearchSpace& space, std::vector<Point> starts, uint64_t seed)
    : RegionSearch(space, std::move(starts), seed, Options()) {}

RegionSearch::RegionSearch(const SearchSpace& space, std::vector<Point> starts, uint64_t seed, const Options& options)
    : space_(space), options_(options), starts_(std::move(starts)), random_(seed), regions_(options.regions) {
  std::reverse(starts_.begin(), starts_.end());
}

Point RegionSearch::Next() {
  turn_ = ChooseRegion();
  asked_ = regions_[turn_].best < 0 ? Begin() : Improve(regions_[turn_]);
  seen_.insert(asked_);
  return asked_;
}

void RegionSearch::Tell(double value) {
  Region& region = regions_[turn_];
  const double reward = ShareBeaten(value);
  observations_.push_back({asked_, space_.Encode(asked_), value});
  region.turns += 1;
  region.reward += reward;
  const int last = static_cast<int>(observations_.size()) - 1;
  if (region.best < 0) {
    region = {.side = options_.side, .best = last, .turns = region.turns, .reward = region.reward};
    return;
  }
  const bool success = value < observations_[region.best].value;
  if (success) region.best = last;
  region.successes = success ? region.successes + 1 : 0;
  region.failures = success ? 0 : region.failures + 1;
  if (region.successes == options_.successes) region.side = std::min(1.0, 2 * region.side), region.successes = 0;
  if (region.failures == options_.failures) region.side /= 2, region.failures = 0;
  if (region.side < options_.least_side) region.best = -1;
}

int RegionSearch::ChooseRegion() const {
  int chosen = 0;
  double highest = -1;
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    if (region.turns == 0) return static_cast<int>(i);
    const double turns = region.turns, all = static_cast<double>(observations_.size());
    const double bound = region.reward / turns + options_.exploration * std::sqrt(std::log(all) / turns);
    if (bound > highest) highest = bound, chosen = static_cast<int>(i);
  }
  return chosen;
}

Point RegionSearch::Begin() {
  if (starts_.empty()) return DrawUnseen(space_, seen_, random_);
  const Point start = starts_.back();
  starts_.pop_back();
  return start;
}

Point RegionSearch::Improve(const Region& region) {
  std::vector<std::vector<double>> inputs;
  std::vector<double> values;
  for (const int i : Near(region)) {
    inputs.push_back(observations_[i].code);
    values.push_back(observations_[i].value);
  }
  const GaussianProcess process(std::move(inputs), values);
  const Observation& best = observations_[region.best];
  // Few parameters move at a time, so that candidates lie near the centre where there are many.
  const double share = std::min(1.0, 3.0 / static_cast<double>(best.point.size()));
  Point chosen;
  double most = -1;
  for (int i = 0; i < options_.candidates; ++i) {
    Point candidate = space_.DrawNear(best.point, region.side / 2, share, random_);
    if (seen_.count(candidate) > 0) continue;
    const Prediction prediction = process.At(space_.Encode(candidate));
    const double improvement = ExpectedImprovement(prediction, best.value) * std::exp(-space_.Penalty(candidate));
    if (improvement > most) most = improvement, chosen = std::move(candidate);
  }
  return chosen.empty() ? DrawUnseen(space_, seen_, random_) : chosen;
}

std::vector<int> RegionSearch::Near(const Region& region) const {
  const std::vector<double>& centre = observations_[region.best].code;
  std::vector<int> near;
  for (size_t i = 0; i < observations_.size(); ++i) {
    double farthest = 0;
    for (size_t c = 0; c < centre.size(); ++c) {
      farthest = std::max(farthest, std::abs(observations_[i].code[c] - centre[c]));
    }
    if (farthest <= region.side) near.push_back(static_cast<int>(i));
  }
  return near;
}

double RegionSearch::ShareBeaten(double value) const {
  if (observations_.empty()) return 1;
  const auto beaten = std::count_if(observations_.begin(), observations_.end(),
                                    [value](const Observation& other) { return value < other.value; });
  return static_cast<double>(beaten) / static_cast<double>(observations_.size());
}

}  // namespace tailor::tune
