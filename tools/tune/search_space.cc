#include "tools/tune/search_space.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace tailor::tune {
namespace {

[[noreturn]] void Abort(const char* what) {
  std::fprintf(stderr, "search space: %s\n", what);
  std::abort();
}

// The indices 0..count-1 in random order.
std::vector<int> Shuffled(size_t count, Random& random) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = count; i > 1; --i) std::swap(order[i - 1], order[Below(static_cast<int>(i), random)]);
  return order;
}

}  // namespace

double Uniform(Random& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }
int Below(int count, Random& random) { return static_cast<int>(Uniform(random) * count); }
int64_t DrawDimSize(int64_t first, int64_t last, Random& random) {
  const double ratio = static_cast<double>(last) / static_cast<double>(first);
  return std::llround(static_cast<double>(first) * std::pow(ratio, Uniform(random)));
}

SearchSpace::SearchSpace(std::vector<Parameter> parameters, std::function<bool(const Assignment&)> allows,
                         std::function<double(const Assignment&)> penalty)
    : parameters_(std::move(parameters)), allows_(std::move(allows)), penalty_(std::move(penalty)) {
  for (const Parameter& parameter : parameters_) {
    if (parameter.values.empty()) Abort("a parameter has no value");
  }
}

Assignment SearchSpace::ValuesOf(const Point& point) const {
  Assignment values;
  for (size_t p = 0; p < parameters_.size(); ++p) values.push_back(parameters_[p].values[point[p]]);
  return values;
}

std::vector<double> SearchSpace::Encode(const Point& point) const {
  std::vector<double> code;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const int count = static_cast<int>(parameters_[p].values.size());
    if (parameters_[p].ordered) {
      code.push_back(count == 1 ? 0.0 : static_cast<double>(point[p]) / (count - 1));
      continue;
    }
    for (int value = 0; value < count; ++value) code.push_back(value == point[p] ? std::sqrt(0.5) : 0.0);
  }
  return code;
}

Point SearchSpace::Nearest(const Assignment& values) const {
  Point point;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const std::vector<int64_t>& known = parameters_[p].values;
    const auto nearer = [&](int64_t a, int64_t b) { return std::abs(a - values[p]) < std::abs(b - values[p]); };
    point.push_back(static_cast<int>(std::min_element(known.begin(), known.end(), nearer) - known.begin()));
  }
  return point;
}

Point SearchSpace::Draw(Random& random) const {
  constexpr int kTries = 1000000;
  Point point(parameters_.size());
  for (int i = 0; i < kTries; ++i) {
    for (size_t p = 0; p < point.size(); ++p) {
      point[p] = Below(static_cast<int>(parameters_[p].values.size()), random);
    }
    if (Allows(point)) return point;
  }
  Abort("the constraints allow nothing");
}

Point SearchSpace::DrawNear(const Point& centre, double reach, double share, Random& random) const {
  Point point = centre;
  for (size_t p = 0; p < point.size(); ++p) {
    if (Uniform(random) >= share) continue;
    const int last = static_cast<int>(parameters_[p].values.size()) - 1;
    const int far = parameters_[p].ordered ? std::max(1, static_cast<int>(reach * last)) : last;
    const int low = std::max(0, centre[p] - far), high = std::min(last, centre[p] + far);
    point[p] = low + Below(high - low + 1, random);
  }
  for (const int p : Shuffled(point.size(), random)) {
    if (Allows(point)) break;
    point[p] = centre[p];
  }
  return point;
}

}  // namespace tailor::tune
