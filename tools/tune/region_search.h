// Minimizes a measured value over a discrete space: Bayesian optimisation in several trust regions at a time
// (TSCompiler section 5.1), and random search as the baseline. Deterministic in the seed and the observed values. One
// thread at a time.
#ifndef TAILOR_TOOLS_TUNE_REGION_SEARCH_H_
#define TAILOR_TOOLS_TUNE_REGION_SEARCH_H_

#include <memory>
#include <set>
#include <vector>

#include "tools/tune/search_space.h"

namespace tailor::tune {

// The caller asks for a point and then tells its value, in turn.
class Search {
 public:
  virtual ~Search() = default;
  // The next point to measure. It is allowed. It is a new point, unless repeated draws find none.
  virtual Point Next() = 0;
  // The value of the point that Next returned last.
  virtual void Tell(double value) = 0;
};

class RandomSearch : public Search {
 public:
  // `space` outlives the search. The starts come first, in order.
  RandomSearch(const SearchSpace& space, std::vector<Point> starts, uint64_t seed);
  Point Next() override;
  void Tell(double value) override {}

 private:
  const SearchSpace& space_;
  const std::vector<Point> starts_;
  size_t started_ = 0;
  Random random_;
  std::set<Point> seen_;
};

// Each trust region is a box around the best point that was found in it. It grows after consecutive successes, shrinks
// after consecutive failures, and restarts at a random point once it is too small. A Gaussian process over the values
// in and near the box gives each candidate its expected improvement, times exp(-penalty). A bandit with upper
// confidence bounds chooses the region of the next turn; the reward of a turn is the share of all values so far that it
// beats.
class RegionSearch : public Search {
 public:
  struct Options {
    int regions = 3;
    int candidates = 200;     // drawn in each turn
    double side = 0.5;        // of a new box, of each ordered parameter's range
    double least_side = 0.1;  // smaller boxes restart
    int successes = 2, failures = 4;
    double exploration = 0.5;
  };
  RegionSearch(const SearchSpace& space, std::vector<Point> starts, uint64_t seed);
  RegionSearch(const SearchSpace& space, std::vector<Point> starts, uint64_t seed, const Options& options);
  Point Next() override;
  void Tell(double value) override;

 private:
  struct Observation {
    Point point;
    std::vector<double> code;
    double value;
  };
  struct Region {
    double side = 0;
    int best = -1;  // observation; -1: the region has not begun
    int successes = 0, failures = 0;
    int turns = 0;
    double reward = 0;  // of all turns
  };
  int ChooseRegion() const;
  Point Begin();
  Point Improve(const Region& region);
  // Observations in a box of twice the region's side.
  std::vector<int> Near(const Region& region) const;
  double ShareBeaten(double value) const;

  const SearchSpace& space_;
  const Options options_;
  std::vector<Point> starts_;  // in reverse
  Random random_;
  std::set<Point> seen_;
  std::vector<Observation> observations_;
  std::vector<Region> regions_;
  Point asked_;
  int turn_ = 0;  // the region that asked
};

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_REGION_SEARCH_H_
