// Times calls in interleaved turns, so that other load on the machine affects all of them alike.
#ifndef TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_
#define TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_

#include <functional>
#include <vector>

namespace tailor::tune {

using Call = std::function<void()>;

// times[call][round]: CPU seconds of the calling thread per call. In each round all calls take turns, in an order that
// rotates by round. In its turn a call runs once to warm the caches, then repeatedly for about `seconds`.
std::vector<std::vector<double>> InterleavedTimes(const std::vector<Call>& calls, int rounds, double seconds);

// Per call, the minimum over the rounds, in CPU seconds. Under other load the minimum of many short times is more
// reproducible than their median.
std::vector<double> LeastTimes(const std::vector<Call>& calls, int rounds, double seconds);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_INTERLEAVED_TIMES_H_
