#include "codegen/backend/memory_estimate.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace tailor::backend {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// About twice the memory measured on models (docs/decisions/isolated-compilation.md).
constexpr uint64_t kBase = 8 * kMiB;        // the graph and LLVM's tables
constexpr uint64_t kKernelCode = 48 << 10;  // per target
constexpr uint64_t kStepBytes = 4 << 10;    // per step of a host program

uint64_t Sum(const std::vector<MemoryEstimate>& estimates, uint64_t MemoryEstimate::*part) {
  uint64_t sum = 0;
  for (const MemoryEstimate& estimate : estimates) sum += estimate.*part;
  return sum;
}

uint64_t BytesWith(const std::vector<MemoryEstimate>& estimates, int threads) {
  uint64_t bytes = 0;  // per thread; the maximum, since backends run one after another
  for (const MemoryEstimate& estimate : estimates) bytes = std::max(bytes, estimate.thread);
  return kBase + Sum(estimates, &MemoryEstimate::constants) + Sum(estimates, &MemoryEstimate::code) + threads * bytes;
}

}  // namespace

MemoryEstimate EstimateMemory(const lower::LoweredProgram& program, size_t targets, uint64_t thread) {
  MemoryEstimate estimate{.thread = thread};
  for (const lower::LoweredProgram::Constant& constant : program.constants) {
    // Panels are padded to 16 columns; Winograd panels have 16 points per 9 weights.
    const bool packed = constant.layout != ConstantLayout::kRowMajor;
    estimate.constants += constant.data.size * (packed ? 2 : 1);
    if (packed) estimate.constants += constant.data.size * 2;
  }
  uint64_t steps = 0;
  for (const host::HostProgram& host : program.programs) steps += host.steps.size();
  estimate.code = targets * (program.kernels.size() * kKernelCode + steps * kStepBytes);
  return estimate;
}

absl::StatusOr<int> ThreadsWithin(uint64_t limit, const std::vector<MemoryEstimate>& estimates, int threads) {
  while (threads > 1 && BytesWith(estimates, threads) > limit) --threads;
  const uint64_t bytes = BytesWith(estimates, threads);
  if (bytes <= limit) return threads;
  const auto mib = [](uint64_t count) { return static_cast<double>(count) / kMiB; };
  return absl::ResourceExhaustedError(absl::StrFormat(
      "compiling takes an estimated %.1f MiB on one thread, above memory_limit of %.1f MiB: %.1f MiB for constants, "
      "%.1f MiB for code and LLVM",
      mib(bytes), mib(limit), mib(Sum(estimates, &MemoryEstimate::constants)),
      mib(bytes - Sum(estimates, &MemoryEstimate::constants))));
}

}  // namespace tailor::backend
