// Times of things that take turns, so that what else the machine does meets all of them alike.
#ifndef TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_
#define TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_

#include <functional>
#include <vector>

namespace tailor::tune {

using Call = std::function<void()>;

// CPU seconds of the calling thread for one call, by call and round. In each round all take turns, a later one first
// each time, and each is called, once to warm caches and then for about `seconds`.
std::vector<std::vector<double>> InterleavedTimes(const std::vector<Call>& calls, int rounds, double seconds);

// The least of the rounds, for each call. Where other work disturbs the machine, the least of some short times repeats
// better than the median: some moments are quiet.
std::vector<double> LeastTimes(const std::vector<Call>& calls, int rounds, double seconds);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_
