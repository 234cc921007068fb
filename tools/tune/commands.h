// What `tailor tune` can do. Each prints to standard output, and throws std::runtime_error for what the user can mend.
#ifndef TAILOR_TOOLS_TUNE_COMMANDS_H_
#define TAILOR_TOOLS_TUNE_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tune/measure_kernels.h"

namespace tailor::tune {

// Searches schedules of one matmul (schedule_space.h) in trust regions and at random, as many trials each, and prints
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

// Times every micro-kernel that fits this machine's registers over K, and makes a profile of it (measure_kernels.h).
void MeasureProfile(const ProfileArguments& arguments);

// Writes those micro-kernels as a kernel pack, for tailor-measure on a machine without a compiler.
struct PackArguments {
  std::string output;
  std::string target;  // "x86-64-v3"; empty: this machine's level
};
void WriteKernelPack(const PackArguments& arguments);

// Times products of random sizes under many cuts, and writes the times (tiling_times.h): eight numbers of rows for each
// right operand.
struct TilingsArguments {
  std::string output;
  int operands = 10;
  uint64_t seed = 1;
};
void MeasureTilings(const TilingsArguments& arguments);

// Learns from such times which cut fits which matmul (BladeDISC section 5.2.2) and prints how well that does for right
// operands that it did not see, beside the rule and the cost profile.
struct ClassifyArguments {
  std::vector<std::string> times;  // files
  std::string profile;             // file; empty: the compiler's own
  int tilings = 5;                 // to choose from
  int depth = 6;                   // of the tree
  bool print_tree = false;
};
void ClassifyTilings(const ClassifyArguments& arguments);

// Times products of random sizes by the compiler's code and by a provider's, and writes which of them the provider
// should compute (exec/product_choice.h): eight numbers of rows for each right operand.
struct ProviderArguments {
  std::string name;  // provider_library.h
  std::string output;
  int operands = 40;
  uint64_t seed = 1;
};
void ChooseProvider(const ProviderArguments& arguments);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_COMMANDS_H_
