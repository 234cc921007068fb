#include "tools/tune/best_fit.h"

#include <algorithm>
#include <cmath>

namespace tailor::tune {

double ShareOfBest(const std::vector<double>& times, int schedule) {
  return *std::min_element(times.begin(), times.end()) / times[schedule];
}

std::vector<int> TopSchedules(const TimeTable& times, double share, int count) {
  std::vector<bool> served(times.size(), false);
  std::vector<int> top;
  const int schedules = times.empty() ? 0 : static_cast<int>(times[0].size());
  while (static_cast<int>(top.size()) < count) {
    int chosen = -1, most = 0;
    for (int schedule = 0; schedule < schedules; ++schedule) {
      int serves = 0;
      for (size_t shape = 0; shape < times.size(); ++shape) {
        serves += !served[shape] && ShareOfBest(times[shape], schedule) >= share;
      }
      if (serves > most) most = serves, chosen = schedule;
    }
    if (chosen < 0) break;
    top.push_back(chosen);
    for (size_t shape = 0; shape < times.size(); ++shape) {
      if (ShareOfBest(times[shape], chosen) >= share) served[shape] = true;
    }
  }
  return top;
}

std::vector<int> BestFits(const TimeTable& times, const std::vector<int>& schedules) {
  std::vector<int> fits;
  for (const std::vector<double>& row : times) {
    const auto faster = [&row](int a, int b) { return row[a] < row[b]; };
    fits.push_back(*std::min_element(schedules.begin(), schedules.end(), faster));
  }
  return fits;
}

ChoiceQuality Judge(const TimeTable& times, const std::vector<int>& chosen, double share) {
  ChoiceQuality quality{.within = 0, .mean = 0, .worst = 1};
  const double shapes = static_cast<double>(times.size());
  for (size_t shape = 0; shape < times.size(); ++shape) {
    const double speed = ShareOfBest(times[shape], chosen[shape]);
    quality.within += speed >= share ? 1 / shapes : 0;
    quality.mean += std::log(speed) / shapes;
    quality.worst = std::min(quality.worst, speed);
  }
  quality.mean = std::exp(quality.mean);
  return quality;
}

}  // namespace tailor::tune
