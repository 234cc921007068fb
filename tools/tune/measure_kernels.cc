#include "tools/tune/measure_kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "codegen/contract/panels.h"
#include "exec/cache_size.h"
#include "exec/cpu_features.h"
#include "exec/host_abi.h"
#include "exec/image.h"
#include "tools/measure/measuring_thread.h"
#include "tools/tune/idle_context.h"
#include "tools/tune/interleaved_times.h"

namespace tailor::tune {
namespace {

constexpr int64_t kFittedDepths[] = {16, 32, 64, 128, 192, 256, 384, 512, 768, 1024};
constexpr int64_t kHeldOutDepths[] = {48, 96, 320, 640, 896};
constexpr int64_t kMostDepth = 1024;

// Makes the pack's code executable. Throws naming the features that this machine lacks.
void MapCode(const KernelPack& pack, MappedImage* image) {
  std::string missing;
  for (const std::string& reason : MissingFeatures(ThisCpu(), pack.features)) missing += "; " + reason;
  if (!missing.empty()) throw std::runtime_error("this machine does not run " + pack.target + missing);
  if (const Failure failure = image->Map(pack.code); !failure.ok()) throw std::runtime_error(failure.message);
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

// Memory for the operands of any kernel of a pack, and calls on it.
class Operands {
 public:
  Call Bind(KernelFn function, int64_t rows, int64_t depth) const { return Bind(function, rows, panels_.get(), depth); }
  // With panels from elsewhere.
  Call Bind(KernelFn function, int64_t rows, const float* panels, int64_t depth) const {
    const auto address = [](const float* floats) { return reinterpret_cast<int64_t>(floats); };
    const std::vector<int64_t> arguments = {address(lhs_.get()), address(panels), address(out_.get()), rows, depth,
                                            IdleContext()};
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
  MappedImage image;
  MapCode(pack, &image);
  PinToCurrentCpu();
  const Operands operands;
  std::vector<Call> calls;
  for (const PackedKernel& kernel : pack.kernels) {
    const auto function = image.At<KernelFn>(kernel.offset);
    const int64_t rows = kPackedTiles * kernel.rows;
    for (const int64_t depth : kFittedDepths) calls.push_back(operands.Bind(function, rows, depth));
    for (const int64_t depth : kHeldOutDepths) calls.push_back(operands.Bind(function, rows, depth));
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

StreamTimes MeasureStream(const KernelPack& pack, const std::vector<TileFit>& fits, int passes) {
  const int64_t bytes = 2 * LastCacheBytes();
  constexpr double kSeconds = 1e-3;
  MappedImage image;
  MapCode(pack, &image);
  PinToCurrentCpu();
  size_t row = 0, tile = 0;  // the kernel of one row with most panels; the one with most sums
  const auto sums = [&](size_t i) { return pack.kernels[i].rows * pack.kernels[i].panels; };
  for (size_t i = 0; i < pack.kernels.size(); ++i) {
    if (pack.kernels[i].rows == 1 && sums(i) > sums(row)) row = i;
    if (sums(i) > sums(tile)) tile = i;
  }
  const Operands operands;
  const Floats panels = MakeFloats(bytes / static_cast<int64_t>(sizeof(float)));
  std::vector<Call> calls;
  std::vector<double> groups;
  const auto add = [&](size_t i, int64_t rows) {
    const PackedKernel& kernel = pack.kernels[i];
    const int64_t matmul = kPackedTiles * kernel.panels * kPanelColumns * kMostDepth;  // elements
    const int64_t matmuls = std::max<int64_t>(1, bytes / static_cast<int64_t>(sizeof(float)) / matmul);
    std::vector<Call> parts;
    for (int64_t p = 0; p < matmuls; ++p) {
      parts.push_back(operands.Bind(image.At<KernelFn>(kernel.offset), rows, panels.get() + p * matmul, kMostDepth));
    }
    groups.push_back(static_cast<double>(matmuls * kPackedTiles));
    calls.push_back([parts] {
      for (const Call& part : parts) part();
    });
  };
  add(row, 1);
  add(tile, 2 * pack.kernels[tile].rows);
  const std::vector<double> least = LeastTimes(calls, passes, kSeconds);
  return {.depth = kMostDepth,
          .row_panels = pack.kernels[row].panels,
          .row = 1e9 * least[0] / groups[0],
          .tile = fits[tile],
          .two_tiles = 1e9 * least[1] / groups[1]};
}

void ProfileKernels(const KernelPack& pack, const ProfileArguments& arguments) {
  CheckArguments(arguments);
  const std::vector<TileFit> fits = FitTiles(MeasureKernels(pack, arguments.passes));
  const std::vector<double> ranks = RankTiles(fits, RankingSizes());
  std::fputs(FitTable(fits, ranks).c_str(), stdout);
  CostProfile profile = ProfileOf(BuiltInCostProfile(pack.target, CpuFamily(ThisCpu())), fits, ranks, arguments.keep);
  FitStream(MeasureStream(pack, fits, arguments.passes), &profile);
  std::printf("\nPanels from memory: %.2f ns per 64 bytes; %.0f %% of a tile's time overlaps with the next fetch.\n",
              static_cast<double>(profile.line_ns), 100 * static_cast<double>(profile.fetch_overlap));
  if (arguments.output.empty()) return;
  std::ofstream out(arguments.output);
  out << CostProfileText(profile);
  out.close();
  if (!out) throw std::runtime_error("cannot write " + arguments.output);
}

}  // namespace tailor::tune
