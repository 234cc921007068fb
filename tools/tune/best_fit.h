// Selects schedules worth choosing from, and the best of these for each shape (BladeDISC section 5.2.2).
#ifndef TAILOR_TOOLS_TUNE_BEST_FIT_H_
#define TAILOR_TOOLS_TUNE_BEST_FIT_H_

#include <vector>

namespace tailor::tune {

// Times of schedules, by shape and then schedule: as many for each shape, all > 0.
using TimeTable = std::vector<std::vector<double>>;

// The speed of `schedule` at a shape with these times over that of the best: at most 1.
double ShareOfBest(const std::vector<double>& times, int schedule);

// At most `count` schedules, the most useful first. Each is the one that reaches `share` of the best speed at the most
// shapes where no earlier one does; a schedule that serves no further shape is not taken. (The paper counts all shapes:
// two schedules that serve the same shapes would both be taken.)
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
