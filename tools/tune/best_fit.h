// Which of many schedules are worth choosing from, and which of those fits each shape (BladeDISC section 5.2.2).
#ifndef TAILOR_TOOLS_TUNE_BEST_FIT_H_
#define TAILOR_TOOLS_TUNE_BEST_FIT_H_

#include <vector>

namespace tailor::tune {

// Times of schedules, by shape and then schedule: as many for each shape, all > 0.
using TimeTable = std::vector<std::vector<double>>;

// The speed of `schedule` at a shape with these times over that of the best: at most 1.
double ShareOfBest(const std::vector<double>& times, int schedule);

// At most `count` schedules, the most useful first. Each is the one that reaches `share` of the best speed at the most
// shapes where none of those before it does (the paper counts all shapes; so counted, two that serve the same shapes
// would both be taken). None is taken that serves no further shape.
std::vector<int> TopSchedules(const TimeTable& times, double share, int count);

// For each shape, the fastest of `schedules`, which are one or more.
std::vector<int> BestFits(const TimeTable& times, const std::vector<int>& schedules);

// How well `chosen`, one schedule for each shape, does.
struct ChoiceQuality {
  double within;  // share of shapes where the choice reaches `share` of the best speed
  double mean;    // share of the best speed, geometric mean
  double worst;
};
ChoiceQuality Judge(const TimeTable& times, const std::vector<int>& chosen, double share);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_BEST_FIT_H_
