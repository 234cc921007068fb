// The changes of a cost profile that tuning of a whole model searches: times of micro-kernels, by rows and by panels,
// what memory and tasks cost, the margin and the prefetch distance. Immutable; any number of threads.
#ifndef TAILOR_TOOLS_TUNE_PROFILE_SPACE_H_
#define TAILOR_TOOLS_TUNE_PROFILE_SPACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "tools/tune/search_space.h"

namespace tailor::tune {

class ProfileSpace {
 public:
  explicit ProfileSpace(const CostProfile& base);

  SearchSpace Space() const;
  Point Unchanged() const;                   // the point of `base` itself
  CostProfile At(const Point& point) const;  // `base` with the changes of a point

 private:
  struct Change {
    Parameter parameter;
    int64_t unchanged;                                   // the value of `base`
    std::function<void(int64_t, CostProfile*)> applied;  // another value
  };

  void ScaleTiles();
  void ScaleCost(std::string name, float CostProfile::*cost);
  void Set(Parameter parameter, float CostProfile::*cost, float unit);

  const CostProfile base_;
  std::vector<Change> changes_;
};

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_PROFILE_SPACE_H_
