// How often kernels of rows and columns access device memory: all bytes of a launch, as the emulator counts them. These
// are the figures of docs/decisions/gpu-rows-over-blocks.md.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/cuda/loops/emit_loops.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/plan_queries.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor::cuda {
namespace {

constexpr char kPlainSoftmax[] = R"(graph @g(%x: f32[R, C]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %s = sub %x, %m
  %e = exp %s
  %t = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %t
  return %y
})";
constexpr char kNorm[] = R"(graph @g(%x: f32[R, C]) {
  %mean = reduce_mean %x {axes = [1], keep_dims = 1}
  %c = sub %x, %mean
  %q = mul %c, %c
  %v = reduce_mean %q {axes = [1], keep_dims = 1}
  %y = div %c, %v
  return %y
})";
constexpr char kSum[] = R"(graph @g(%x: f32[R, C]) {
  %s = reduce_sum %x {axes = [1]}
  return %s
})";
constexpr char kColumns[] = R"(graph @g(%x: f32[C, R]) {
  %s = reduce_sum %x {axes = [0]}
  return %s
})";

// A line for each version: how often each of the R x C elements of x is read, and how many are written for each. What
// parts of rows leave for each other counts too.
std::string Traffic(const char* text, int64_t rows, int64_t columns) {
  const CudaTarget target = *FindCudaTarget("sm_90a");
  const auto lowered = lower::LowerGraph(*ParseGraph(text), target.traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  const KernelPlan& plan = lowered->kernels.at(0);
  const CudaSchedule schedule = ScheduleCudaLoops(plan, target.traits);
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  EXPECT_TRUE(EmitCudaLoops(plan, schedule, "k", module).ok());
  SimtTraffic traffic;
  SimtEmulator emulator(module, {.traffic = &traffic});
  std::vector<int64_t> dims;
  for (const DimSlot& slot : plan.dims) dims.push_back(*slot.value.Evaluate({rows, columns}));
  std::vector<float> x(rows * columns), y(rows * columns);
  std::string lines;
  for (size_t v = 0; v < schedule.versions.size(); ++v) {
    const CudaVersion& version = schedule.versions[v];
    const SimtGrid grid{.blocks = std::min<int64_t>(*version.blocks.Evaluate(dims), 2),
                        .threads = version.threads,
                        .shared_bytes = *version.shared_bytes.Evaluate(dims),
                        .cooperative = version.cooperative};
    const int64_t scratch_bytes = *version.scratch_bytes.Evaluate(dims);
    std::vector<int64_t> scratch(scratch_bytes / 8 * grid.blocks + 1);
    uint32_t grid_sync = 0;
    std::vector<int64_t> slots = {reinterpret_cast<int64_t>(x.data()), reinterpret_cast<int64_t>(y.data())};
    slots.insert(slots.end(), dims.begin(), dims.end());
    const auto scratch_slot = reinterpret_cast<int64_t>(scratch.data());
    if (HasScratch(plan)) slots.insert(slots.end(), {scratch_slot, scratch_bytes});
    slots.insert(slots.end(), {scratch_slot, reinterpret_cast<int64_t>(&grid_sync), *version.parts.Evaluate(dims)});
    // What is held in registers is for the optimizer to see, which the emulator goes without.
    const bool for_short_rows =
        version.vectors_per_thread > 0 || (version.shape == CudaVersion::Shape::kRows && version.row_threads < 256);
    if (for_short_rows || grid.shared_bytes > target.traits.regional_bytes) continue;
    traffic = {};
    EXPECT_EQ(emulator.Launch(absl::StrCat("k_v", v), grid, slots.data(), 1), "");
    const double bytes = 4.0 * static_cast<double>(rows * columns);
    absl::StrAppendFormat(&lines, "%s%s: read %.3f, written %.3f\n", version.ShapeText(),
                          version.rows_in_shared && grid.shared_bytes > 4 * columns ? ", kept in shared memory" : "",
                          static_cast<double>(traffic.read) / bytes, static_cast<double>(traffic.written) / bytes);
  }
  return lines;
}

TEST(CudaTraffic, Softmax) {
  EXPECT_EQ(Traffic(kPlainSoftmax, 2, 16384),
            "256 threads per part of a row, lanes 4: read 3.002, written 2.000\n"
            "256 threads per row, lanes 4, kept in shared memory: read 2.000, written 1.000\n"
            "512 threads per row, lanes 4, kept in shared memory: read 2.000, written 1.000\n"
            "256 threads per row, lanes 4: read 3.000, written 2.000\n");
}

TEST(CudaTraffic, Norm) {
  EXPECT_EQ(Traffic(kNorm, 2, 16384),
            "256 threads per part of a row, lanes 4: read 3.003, written 1.000\n"
            "256 threads per row, lanes 4: read 3.000, written 1.000\n"
            "512 threads per row, lanes 4: read 3.000, written 1.000\n");
}

TEST(CudaTraffic, SumsOfRows) {
  EXPECT_EQ(Traffic(kSum, 2, 16384),
            "256 threads per part of a row, lanes 4: read 1.000, written 0.000\n"
            "512 threads per row, lanes 4: read 1.000, written 0.000\n");
}

TEST(CudaTraffic, SumsOfColumns) {
  EXPECT_EQ(Traffic(kColumns, 64, 1024),
            "parts of columns: read 1.016, written 0.031\n"
            "columns: read 1.000, written 0.016\n");
}

}  // namespace
}  // namespace tailor::cuda
