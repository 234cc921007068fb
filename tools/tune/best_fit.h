// Selects a small set of candidate schedules, and the best candidate for each shape (BladeDISC section 5.2.2).
#ifndef TAILOR_TOOLS_TUNE_BEST_FIT_H_
#define TAILOR_TOOLS_TUNE_BEST_FIT_H_

#include <vector>

namespace tailor::tune {

// times[shape][schedule], in any unit, > 0. Every shape has all schedules.
using TimeTable = std::vector<std::vector<double>>;

// The speed of `schedule` relative to the fastest one at a shape with these times; at most 1.
double ShareOfBest(const std::vector<double>& times, int schedule);

// Selects at most `count` schedules greedily. A schedule serves a shape if it reaches `share` of the best speed there.
// Each step takes the schedule that serves the most shapes not served yet, and ends when there are none. (The paper
// counts all shapes, so it would take two schedules that serve the same shapes.)
std::vector<int> TopSchedules(const TimeTable& times, double share, int count);

// For each shape, the fastest of `schedules`, which is not empty.
std::vector<int> BestFits(const TimeTable& times, const std::vector<int>& schedules);

// Quality of `chosen`, one schedule per shape. Speeds are relative to the fastest schedule of each shape.
struct ChoiceQuality {
  double within;  // share of shapes with a speed of at least `share`
  double mean;    // geometric mean of the speeds
  double worst;
};
ChoiceQuality Judge(const TimeTable& times, const std::vector<int>& chosen, double share);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_BEST_FIT_H_
