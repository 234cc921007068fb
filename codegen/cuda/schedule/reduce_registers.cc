#include "codegen/cuda/schedule/reduce_registers.h"

#include <algorithm>

namespace tailor::cuda {
namespace {

// A multiprocessor has 65,536 registers; a thread has at most 255.
constexpr int kThreadsOfMostRegisters = 256;

void HalveThreads(CudaVersion& version) {
  const bool whole_block = version.row_threads == version.threads;
  version.threads /= 2;
  if (whole_block) version.row_threads = version.threads;
}

}  // namespace

bool ReduceRegisters(CudaVersion& version) {
  using Shape = CudaVersion::Shape;
  const bool loops =
      version.shape == Shape::kThreadPerElement || version.shape == Shape::kRows || version.shape == Shape::kColumns;
  // The scratch of persistent matmuls is sized for their number of resident blocks.
  const bool may_have_fewer = loops || !version.persistent;
  if (version.vectors_per_thread > 0) {
    version.vectors_per_thread = 0;
  } else if (may_have_fewer && version.resident_blocks > 1 &&
             version.resident_blocks * version.threads > kThreadsOfMostRegisters) {
    version.resident_blocks -= version.resident_blocks / 2;
  } else if (loops && version.threads > kThreadsOfMostRegisters) {
    HalveThreads(version);
  } else if (version.lanes > 1) {  // of a matmul's epilogue: its main loop stays the same
    version.lanes /= 2;
    if (version.lanes == 1) version.lane_axis = -1;
  } else {
    return false;
  }
  return true;
}

}  // namespace tailor::cuda
