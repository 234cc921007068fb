// From a kernel pack to a cost profile of this machine. No compiler is needed.
#ifndef TAILOR_TOOLS_TUNE_MEASURE_KERNELS_H_
#define TAILOR_TOOLS_TUNE_MEASURE_KERNELS_H_

#include <string>
#include <vector>

#include "tools/tune/kernel_pack.h"
#include "tools/tune/profile_fit.h"

namespace tailor::tune {

struct ProfileArguments {
  std::string output;  // empty: print only
  int keep = 0;        // number of micro-kernels, by rank; 0: all
  int passes = 100;    // each times every micro-kernel
  std::string target;  // "x86-64-v3"; empty: this machine's level. A pack has its own
};
// Throws std::runtime_error naming the argument that is wrong, or the output that cannot be written.
void CheckArguments(const ProfileArguments& arguments);

// Times the pack's micro-kernels over K, in turn: the least time over the passes. Pins the thread to its CPU. Throws
// std::runtime_error naming the features that this machine lacks.
std::vector<TileTimes> MeasureKernels(const KernelPack& pack, int passes);

// With an rhs larger than the caches, times the widest micro-kernel of one row, and two row tiles of the largest
// micro-kernel. `fits`: one per micro-kernel of the pack, in its order.
StreamTimes MeasureStream(const KernelPack& pack, const std::vector<TileFit>& fits, int passes);

// Measures, fits and ranks; prints the fits with their errors at held-out depths; writes the profile
// (codegen/contract/cost_profile.h). Its fields on cache sizes, threads and prefetching are the compiler's own for the
// pack's target and this machine.
void ProfileKernels(const KernelPack& pack, const ProfileArguments& arguments);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_MEASURE_KERNELS_H_
