// The commands of `tailor tune`. Each prints to standard output, and throws std::runtime_error for a user's mistake.
#ifndef TAILOR_TOOLS_TUNE_COMMANDS_H_
#define TAILOR_TOOLS_TUNE_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tailor/inputs.h"
#include "tools/tune/measure_kernels.h"

namespace tailor::tune {

// Searches schedules of one matmul (schedule_space.h) in trust regions and at random, with as many trials each. Prints
// the progress of both, and the best schedule beside the compiler's own.
struct SearchArguments {
  int64_t n = 768, k = 768;
  std::vector<int64_t> rows = {4, 16, 50, 128};  // values of m; the objective is the geometric mean of the times
  int trials = 40;
  int seeds = 1;
  uint64_t seed = 1;          // the first
  bool from_scratch = false;  // do not begin with the compiler's own schedule
};
void SearchSchedules(const SearchArguments& arguments);

// Times every micro-kernel that fits this machine's registers, as a function of K, and derives a cost profile
// (measure_kernels.h).
void MeasureProfile(const ProfileArguments& arguments);

// Searches a cost profile under which an artifact's matmuls choose faster tilings (profile_space.h, region_search.h;
// TSCompiler section 5.1), within a time. Runs have one thread. Prints the times under the first profile and the best
// one, interleaved, at each shape. Throws UsageError, FileError or StatusError.
struct ModelTuneArguments {
  std::string artifact;
  std::string target;  // the variant to use; empty: the best here
  InputArguments input;
  std::string profile;  // file of the profile to begin with; empty: the compiler's own
  std::string output;   // where to write the best profile; empty: nowhere
  double seconds = 60;
  uint64_t seed = 1;  // of the search
};
void TuneModel(const ModelTuneArguments& arguments);

// Writes those micro-kernels as a kernel pack, for tailor-measure on a machine without a compiler.
struct PackArguments {
  std::string output;
  std::string target;  // "x86-64-v3"; empty: this machine's level
};
void WriteKernelPack(const PackArguments& arguments);

// `tailor tune cuts`: times matmuls of random sizes under many tilings, and writes the times (tiling_times.h). Each rhs
// is measured with eight numbers of rows.
struct TilingsArguments {
  std::string output;
  int operands = 10;
  uint64_t seed = 1;
};
void MeasureTilings(const TilingsArguments& arguments);

// Trains a decision tree that selects the tiling of a matmul by its dim sizes, from the files of MeasureTilings
// (BladeDISC section 5.2.2). Prints the quality of the choice on held-out rhs operands, beside the compiler's rule and
// the cost profile.
struct ClassifyArguments {
  std::vector<std::string> times;  // files
  std::string profile;             // file; empty: the compiler's own
  int tilings = 5;                 // candidates
  int depth = 6;                   // of the tree
  bool print_tree = false;
};
void ClassifyTilings(const ClassifyArguments& arguments);

// Times matmuls of random sizes by the compiler's code and by a matmul provider's, and writes which of them the
// provider should compute (exec/matmul_choice.h). Each rhs is measured with eight numbers of rows.
struct ProviderArguments {
  std::string name;  // provider_library.h
  std::string output;
  int operands = 40;
  uint64_t seed = 1;
};
void ChooseProvider(const ProviderArguments& arguments);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_COMMANDS_H_
