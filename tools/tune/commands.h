// What `tailor tune` can do. Each prints to standard output, and throws std::runtime_error for what the user can mend.
#ifndef TAILOR_TOOLS_TUNE_COMMANDS_H_
#define TAILOR_TOOLS_TUNE_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tailor {

// Searches schedules of one product (schedule_space.h) in trust regions and at random, as many trials each, and prints
// what either found when, and the best schedule beside the compiler's own.
struct SearchArguments {
  int64_t n = 768, k = 768;
  std::vector<int64_t> rows = {4, 16, 50, 128};  // a schedule is judged by the geometric mean over them
  int trials = 40;
  int seeds = 1;
  uint64_t seed = 1;          // the first
  bool from_scratch = false;  // do not begin with the compiler's own schedule
};
void SearchSchedules(const SearchArguments& arguments);

// Times every micro-kernel that fits this machine's registers over K, fits a piecewise linear cost to each, prints the
// fits beside depths that they did not see, ranks them, and writes a profile (codegen/gemm/cost_profile.h).
struct ProfileArguments {
  std::string output;  // empty: print only
  int keep = 0;        // micro-kernels, the highest ranks; 0: all
  int passes = 100;    // over all of them
};
void MeasureProfile(const ProfileArguments& arguments);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TUNE_COMMANDS_H_
