#include "tools/tune/interleaved_times.h"

#include <algorithm>
#include <cstdint>

#include "tools/measure/measuring_thread.h"

namespace tailor::tune {
namespace {

double SecondsOf(const Call& call, int64_t repetitions) {
  const double begin = ThreadSeconds();
  for (int64_t i = 0; i < repetitions; ++i) call();
  return ThreadSeconds() - begin;
}

// How many calls take about `seconds`; at least one.
int64_t Repetitions(const Call& call, double seconds) {
  call();
  for (int64_t repetitions = 1;; repetitions *= 4) {
    const double taken = SecondsOf(call, repetitions);
    if (taken >= seconds) return repetitions;
    constexpr double kTrusted = 0.1;
    if (taken >= kTrusted * seconds) return static_cast<int64_t>(static_cast<double>(repetitions) * seconds / taken);
  }
}

}  // namespace

std::vector<std::vector<double>> InterleavedTimes(const std::vector<Call>& calls, int rounds, double seconds) {
  std::vector<int64_t> repetitions;
  for (const Call& call : calls) repetitions.push_back(Repetitions(call, seconds));
  std::vector<std::vector<double>> times(calls.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < calls.size(); ++i) {
      const size_t turn = (i + static_cast<size_t>(round)) % calls.size();
      calls[turn]();
      times[turn].push_back(SecondsOf(calls[turn], repetitions[turn]) / static_cast<double>(repetitions[turn]));
    }
  }
  return times;
}

std::vector<double> LeastTimes(const std::vector<Call>& calls, int rounds, double seconds) {
  std::vector<double> least;
  for (const std::vector<double>& times : InterleavedTimes(calls, rounds, seconds)) {
    least.push_back(*std::min_element(times.begin(), times.end()));
  }
  return least;
}

}  // namespace tailor::tune
