// The logic of GPU kernels, run thread by thread on the host, against plain loops.
#include <bit>
#include <cmath>
#include <random>

#include "codegen/cuda/loops/emit_loops.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/plan/plan_queries.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor::cuda {
namespace {

using testing::ElementsAre;

template <class T>
int64_t Slot(const std::vector<T>& memory) {
  return reinterpret_cast<int64_t>(memory.data());
}

std::vector<float> Random(size_t count) {
  std::mt19937 random(7);
  std::vector<float> values(count);
  for (float& v : values) v = std::uniform_real_distribution<float>(-3, 3)(random);
  return values;
}

class EmulatedKernel {
 public:
  explicit EmulatedKernel(const KernelPlan& plan)
      : schedule_(ScheduleCudaLoops(plan, FindCudaTarget("sm_80")->traits)), slots_(KernelSignature(plan, {}).slots()) {
    llvm::LLVMContext context;
    llvm::Module module("kernels", context);
    EXPECT_TRUE(EmitCudaLoops(plan, schedule_, "k", module).ok());
    emulator_ = std::make_unique<SimtEmulator>(module);
  }

  // Launches as the host program would for `dims`, but with at most `most_blocks` blocks.
  void Run(std::vector<int64_t> slots, const std::vector<int64_t>& dims, int version = 0, int64_t most_blocks = 1000) {
    const CudaVersion& launched = schedule_.versions[version];
    const SimtGrid grid{.blocks = std::min(most_blocks, *launched.blocks.Evaluate(dims)),
                        .threads = launched.threads,
                        .shared_bytes = *launched.shared_bytes.Evaluate(dims),
                        .cooperative = launched.cooperative};
    if (grid.blocks == 0) return;
    std::vector<int64_t> scratch(launched.cooperative ? *launched.scratch_bytes.Evaluate(dims) / 8 : 0);
    if (launched.cooperative) {
      slots.resize(slots_);
      slots.insert(slots.end(),
                   {Slot(scratch), reinterpret_cast<int64_t>(&grid_sync_), *launched.parts.Evaluate(dims)});
    }
    const std::string name = "k_v" + std::to_string(version);
    for (uint32_t seed : {1, 2}) EXPECT_EQ(emulator_->Launch(name, grid, slots.data(), seed), "");
  }
  const CudaSchedule& schedule() const { return schedule_; }

 private:
  CudaSchedule schedule_;
  const size_t slots_;
  uint32_t grid_sync_ = 0;  // of all launches, as in a session
  std::unique_ptr<SimtEmulator> emulator_;
};

TEST(EmulatedCudaLoops, Elementwise) {
  EmulatedKernel kernel(BiasTanhPlan());
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {5, 300}, {0, 4}, {4, 0}}) {
    for (int64_t most_blocks : {1, 2, 1000}) {  // few blocks: threads take several elements
      const std::vector<float> x = Random(rows * columns), bias = Random(columns);
      std::vector<float> y(rows * columns + 1, -9);
      kernel.Run({Slot(x), Slot(bias), Slot(y), rows, columns}, {rows, columns}, 0, most_blocks);
      for (int64_t i = 0; i < rows * columns; ++i) EXPECT_NEAR(y[i], std::tanh(double{x[i]} + bias[i % columns]), 1e-6);
      EXPECT_EQ(y.back(), -9) << "wrote past the end";
    }
  }
}

void ExpectSoftmax(EmulatedKernel& kernel, int version, int64_t rows, int64_t columns) {
  const std::vector<float> x = Random(rows * columns);
  std::vector<float> y(rows * columns + 1, -9);
  const std::vector<int64_t> dims = {rows, columns};
  const CudaVersion& launched = kernel.schedule().versions[version];
  const int64_t row_bytes = launched.cooperative ? 0 : *launched.scratch_bytes.Evaluate(dims);
  std::vector<char> scratch(rows * row_bytes + 64);
  kernel.Run({Slot(x), Slot(y), rows, columns, Slot(scratch), row_bytes}, dims, version, 2);
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += std::exp(double{x[i * columns + j]});
    for (int64_t j = 0; j < columns; ++j) {
      EXPECT_NEAR(y[i * columns + j], std::exp(double{x[i * columns + j]}) / sum, 1e-6) << i << "," << j;
    }
  }
  EXPECT_EQ(y.back(), -9) << "wrote past the end";
}

TEST(EmulatedCudaLoops, SoftmaxOfRowsOfAnyThreads) {
  EmulatedKernel kernel(RowSoftmaxPlan());
  const std::vector<CudaVersion>& versions = kernel.schedule().versions;
  ASSERT_EQ(versions.size(), 7u);
  for (int version : {1, 2, 3, 4, 5, 6}) {
    const std::vector<Guard>& guards = versions[version].version.guards;
    const int64_t most = guards.empty() ? INT64_MAX : guards[0].number;
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                                 {3, 33},
                                 {5, 256},
                                 {2, 700},
                                 {2, 1024},
                                 {37, 32},
                                 {9, 60},
                                 {3, 4000},
                                 {3, 0}}) {
      if (columns <= most) ExpectSoftmax(kernel, version, rows, columns);
    }
  }
}

TEST(EmulatedCudaLoops, SoftmaxOfRowsThatBlocksShare) {
  EmulatedKernel kernel(RowSoftmaxPlan());
  ASSERT_TRUE(kernel.schedule().versions[0].cooperative);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 8192}, {2, 8195}, {1, 20000}}) {
    ExpectSoftmax(kernel, 0, rows, columns);
  }
}

TEST(EmulatedCudaLoops, ScansInOrder) {
  for (bool exclusive : {false, true}) {
    EmulatedKernel kernel(RowScanPlan(exclusive, /*mirrored=*/true));
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 33}, {70, 5}, {3, 0}}) {
      std::vector<uint16_t> x(rows * columns);
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<uint32_t>(static_cast<float>(i * 37 % 101)) >> 16;
      std::vector<float> y(rows * columns + 1, -9);
      kernel.Run({Slot(x), Slot(y), rows, columns}, {rows, columns});
      for (int64_t i = 0; i < rows; ++i) {
        float sum = 0;
        for (int64_t at = (i + 1) * columns - 1; at >= i * columns; --at) {
          const float before = sum;
          sum += std::bit_cast<float>(uint32_t{x[at]} << 16);
          EXPECT_EQ(y[at], exclusive ? before : sum) << i << "," << at;
        }
      }
      EXPECT_EQ(y.back(), -9) << "wrote past the end";
    }
  }
}

TEST(EmulatedCudaLoops, SoftmaxInOneWarp) {
  EmulatedKernel kernel(RowSoftmaxPlan(/*max_columns=*/30));
  for (int64_t columns : {1, 29, 30}) ExpectSoftmax(kernel, 0, 3, columns);
}

TEST(EmulatedCudaLoops, RowBuffersAreReadByOtherThreadsThanWroteThem) {
  EmulatedKernel kernel(RowReversePlan());
  const int64_t rows = 6, columns = 200;
  const std::vector<float> x = Random(rows * columns);
  std::vector<float> y(rows * columns);
  kernel.Run({Slot(x), Slot(y), rows, columns, 0, 0}, {rows, columns}, 0, 2);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) ASSERT_EQ(y[i * columns + j], x[(i + 1) * columns - 1 - j]) << i << "," << j;
  }
}

TEST(EmulatedCudaLoops, SeveralReductionsOfNarrowValuesInOneStage) {
  EmulatedKernel kernel(RowMinAndSumPlan());
  const int64_t rows = 2, columns = 300;
  // Row 0 counts 1.0s, row 1 alternates -2.0 and 3.0.
  std::vector<uint16_t> x(rows * columns), least(rows), sum(rows);
  auto narrow = [](float value) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16); };
  for (int64_t j = 0; j < columns; ++j) {
    x[j] = narrow(1);
    x[columns + j] = narrow(j % 2 ? 3 : -2);
  }
  for (int version : {1, 2, 3}) kernel.Run({Slot(x), Slot(least), Slot(sum), rows, columns}, {rows, columns}, version);
  EXPECT_THAT(least, ElementsAre(narrow(1), narrow(-2)));
  EXPECT_THAT(sum, ElementsAre(narrow(300), narrow(150)));
}

void ExpectColumnTotals(EmulatedKernel& kernel, int version, int64_t columns, int64_t rows) {
  std::vector<int64_t> x(rows * columns), y(columns);
  for (int64_t i = 0; i < rows * columns; ++i) x[i] = i * i;
  kernel.Run({Slot(x), Slot(y), columns, rows}, {columns, rows}, version, 3);
  for (int64_t j = 0; j < columns; ++j) {
    int64_t want = 0;
    for (int64_t i = 0; i < rows; ++i) want += x[i * columns + j];
    EXPECT_EQ(y[j], want);
  }
}

TEST(EmulatedCudaLoops, ColumnReduction) {
  EmulatedKernel kernel(ColumnTotalPlan());
  ExpectColumnTotals(kernel, 1, 300, 7);
  ASSERT_TRUE(kernel.schedule().versions[0].cooperative);
  for (int64_t columns : {1, 33, 300}) ExpectColumnTotals(kernel, 0, columns, 400);
}

TEST(EmulatedCudaLoops, GatherRecordsItsFirstFault) {
  EmulatedKernel kernel(GatherRowsPlan());
  const int64_t rows = 3, columns = 5, entries = 4;
  const std::vector<float> table = Random(entries * columns);
  const std::vector<int32_t> ids = {3, -4, 4};
  std::vector<float> y(rows * columns);
  std::vector<int64_t> fault(3);
  kernel.Run({Slot(table), Slot(ids), Slot(y), rows, columns, entries, Slot(fault), 40}, {rows, columns, entries});
  for (int64_t j = 0; j < columns; ++j) {
    EXPECT_EQ(y[j], table[3 * columns + j]);
    EXPECT_EQ(y[columns + j], table[j]);
  }
  EXPECT_THAT(fault, ElementsAre(41, 4, entries));
}

}  // namespace
}  // namespace tailor::cuda
