// A discrete space of schedules: parameters with a few values each, hard constraints, and penalties for soft ones
// (TSCompiler section 5.1, figure 5). Immutable; any number of threads.
#ifndef TAILOR_TOOLS_TUNE_SEARCH_SPACE_H_
#define TAILOR_TOOLS_TUNE_SEARCH_SPACE_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tailor::tune {

struct Parameter {
  std::string name;
  std::vector<int64_t> values;  // ascending where ordered
  bool ordered = true;          // neighbours in `values` behave alike
};

using Point = std::vector<int>;           // per parameter: an index into its values
using Assignment = std::vector<int64_t>;  // per parameter: the value
using Random = std::mt19937_64;

class SearchSpace {
 public:
  // `allows`: whether the hard constraints hold. `penalty`: the sum of the soft ones, >= 0. Aborts if a parameter has
  // no value.
  SearchSpace(std::vector<Parameter> parameters, std::function<bool(const Assignment&)> allows,
              std::function<double(const Assignment&)> penalty);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  Assignment ValuesOf(const Point& point) const;
  bool Allows(const Point& point) const { return allows_(ValuesOf(point)); }
  double Penalty(const Point& point) const { return penalty_(ValuesOf(point)); }

  // Coordinates in [0, 1]: one for an ordered parameter, by rank; otherwise one for each value, so scaled that two
  // values are 1 apart.
  std::vector<double> Encode(const Point& point) const;

  // The nearest point to `values` (each rounded to the closest value of its parameter). It may be forbidden.
  Point Nearest(const Assignment& values) const;

  // Uniform over the allowed points. Aborts if none is found.
  Point Draw(Random& random) const;

  // A point near `centre`, which is allowed: each parameter moves with probability `share`, at most `reach` (of its
  // whole range) if ordered. A forbidden point moves back towards `centre`, one parameter at a time, until it is
  // allowed.
  Point DrawNear(const Point& centre, double reach, double share, Random& random) const;

 private:
  const std::vector<Parameter> parameters_;
  const std::function<bool(const Assignment&)> allows_;
  const std::function<double(const Assignment&)> penalty_;
};

// In [0, 1), from the top bits: the same on every machine.
double Uniform(Random& random);
// In [0, count), count > 0.
int Below(int count, Random& random);
// In [first, last], 0 < first: uniform in the logarithm.
int64_t DrawDimSize(int64_t first, int64_t last, Random& random);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_SEARCH_SPACE_H_
