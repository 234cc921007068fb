// Times of calls that take turns, so that other load on the machine affects all of them alike.
#ifndef TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_
#define TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_

#include <functional>
#include <vector>

namespace tailor::tune {

using Call = std::function<void()>;

// CPU seconds of the calling thread for one call, by call and round. In each round all calls take turns; the order
// rotates by round. Each is called once to warm caches, then repeatedly for about `seconds`.
std::vector<std::vector<double>> InterleavedTimes(const std::vector<Call>& calls, int rounds, double seconds);

// The least time over the rounds, for each call. Under other load the least of many short times is more reproducible
// than their median: some moments are quiet.
std::vector<double> LeastTimes(const std::vector<Call>& calls, int rounds, double seconds);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_
