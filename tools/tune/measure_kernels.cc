#include "tools/tune/measure_kernels.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "bench/measuring_thread.h"
#include "codegen/gemm/panels.h"
#include "exec/cpu_features.h"
#include "exec/host_abi.h"
#include "exec/image.h"
#include "tools/tune/interleaved_times.h"

namespace tailor {
namespace {

constexpr int64_t kFittedDepths[] = {16, 32, 64, 128, 192, 256, 384, 512, 768, 1024};
constexpr int64_t kHeldOutDepths[] = {48, 96, 320, 640, 896};
constexpr int64_t kMostDepth = 1024;

void RequireFeatures(const KernelPack& pack) {
  std::string missing;
  for (const std::string& reason : MissingFeatures(ThisCpu(), pack.features)) missing += "; " + reason;
  if (!missing.empty()) throw std::runtime_error("this machine does not run " + pack.target + missing);
}

// f32 numbers, none of them 0, 64-byte aligned.
using Floats = std::unique_ptr<float, decltype(&std::free)>;
Floats MakeFloats(int64_t count) {
  constexpr size_t kAlignment = 64;
  const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
  Floats floats(static_cast<float*>(std::aligned_alloc(kAlignment, bytes)), std::free);
  if (floats == nullptr) throw std::bad_alloc();
  for (int64_t i = 0; i < count; ++i) floats.get()[i] = static_cast<float>(i % 5 + 1);
  return floats;
}

// The memory that any kernel of a pack needs, and calls of them on it.
class Operands {
 public:
  Call Bind(KernelFn function, const PackedKernel& kernel, int64_t depth) const {
    const auto address = [](const Floats& floats) { return reinterpret_cast<int64_t>(floats.get()); };
    const std::vector<int64_t> arguments = {address(lhs_), address(panels_), address(out_), kPackedTiles * kernel.rows,
                                            depth};
    return [=] { function(arguments.data(), 0, kPackedTiles, 0); };
  }

 private:
  static constexpr int64_t kRows = kPackedTiles * CostProfile::kRows;
  static constexpr int64_t kColumns = kPackedTiles * CostProfile::kPanels * kPanelColumns;
  const Floats lhs_ = MakeFloats(kRows * kMostDepth), panels_ = MakeFloats(kColumns * kMostDepth);
  const Floats out_ = MakeFloats(kRows * kColumns);
};

}  // namespace

void CheckArguments(const ProfileArguments& arguments) {
  if (arguments.passes < 1 || arguments.keep < 0) throw std::runtime_error("--passes is at least 1, --keep 0 or more");
  if (!arguments.output.empty() && !std::ofstream(arguments.output)) {
    throw std::runtime_error("cannot write " + arguments.output);
  }
}

std::vector<TileTimes> MeasureKernels(const KernelPack& pack, int passes) {
  RequireFeatures(pack);
  MappedImage image;
  if (const Failure failure = image.Map(pack.code); !failure.ok()) throw std::runtime_error(failure.message);
  StayOnThisCpu();
  const Operands operands;
  std::vector<Call> calls;
  for (const PackedKernel& kernel : pack.kernels) {
    const auto function = image.At<KernelFn>(kernel.offset);
    for (const int64_t depth : kFittedDepths) calls.push_back(operands.Bind(function, kernel, depth));
    for (const int64_t depth : kHeldOutDepths) calls.push_back(operands.Bind(function, kernel, depth));
  }
  constexpr double kSeconds = 3e-5;
  const std::vector<double> least = LeastTimes(calls, passes, kSeconds);
  auto next = least.begin();
  const auto point = [&next](int64_t depth) {
    return DepthTime{static_cast<double>(depth), 1e9 * *next++ / (kPackedTiles * kPackedTiles)};
  };
  std::vector<TileTimes> times;
  for (const PackedKernel& kernel : pack.kernels) {
    times.push_back({.rows = kernel.rows, .panels = kernel.panels});
    for (const int64_t depth : kFittedDepths) times.back().fitted.push_back(point(depth));
    for (const int64_t depth : kHeldOutDepths) times.back().held_out.push_back(point(depth));
  }
  return times;
}

void ProfileKernels(const KernelPack& pack, const ProfileArguments& arguments) {
  CheckArguments(arguments);
  const std::vector<TileFit> fits = FitTiles(MeasureKernels(pack, arguments.passes));
  const std::vector<double> ranks = RankTiles(fits, RankingSizes());
  std::fputs(FitTable(fits, ranks).c_str(), stdout);
  if (arguments.output.empty()) return;
  std::ofstream out(arguments.output);
  out << CostProfileText(ProfileOf(BuiltInCostProfile(pack.target), fits, ranks, arguments.keep));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
}

}  // namespace tailor
