#include "codegen/cpu/loops/emit_loops.h"
#include "codegen/cpu/schedule/schedule_loops.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/plan/long_tasks.h"
#include "codegen/plan/parse_kernel_plan.h"
#include "codegen/scalar/scalar_emitter.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/codegen/cpu/loops/emit_loops_case.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor::cpu {
namespace {

KernelPlan BroadcastPlan() {
  return ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 parallel]
  in b0: f32[d2, d1]
  out b1: f32[d0, d1]
  stage over []
    b1[a0, a1] = b0[bcast(a0, d2), a1]
)");
}

// Softmax over the first of [d0, d1]: RowSoftmaxPlan with memory the other way round.
KernelPlan ColumnSoftmaxPlan() {
  KernelPlan plan = RowSoftmaxPlan();
  for (Expr& e : plan.exprs) {
    if (e.kind == ExprKind::kLoad && e.ref == 0) std::swap(e.args[0], e.args[1]);
  }
  for (const int buffer : {0, 1}) std::swap(plan.buffers[buffer].dims[0], plan.buffers[buffer].dims[1]);
  std::swap(plan.stages.back().statements[0].indices[0], plan.stages.back().statements[0].indices[1]);
  return plan;
}

class EmitLoopsTest : public EmitLoopsCase {};

TEST_P(EmitLoopsTest, Softmax) {
  BUILD_OR_SKIP(RowSoftmaxPlan());
  EXPECT_EQ(schedule_.lane_axis, 1);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {2, 16}, {5, 33}, {4, 200}, {3, 0}}) {
    const std::vector<float> x = Random(rows * columns);
    std::vector<float> y(rows * columns + 16, -1.0f);
    const int64_t scratch_bytes = *schedule_.scratch_bytes.Evaluate(std::vector<int64_t>{rows, columns});
    std::vector<float> scratch(2 * scratch_bytes / 4 + 1);
    Run({Slot(x.data()), Slot(y.data()), rows, columns, Slot(scratch.data()), scratch_bytes}, {rows, columns});
    for (int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j) sum += std::exp(double{x[i * columns + j]});
      for (int64_t j = 0; j < columns; ++j) {
        EXPECT_NEAR(y[i * columns + j], std::exp(double{x[i * columns + j]}) / sum, 1e-6) << i << "," << j;
      }
    }
    EXPECT_EQ(y[rows * columns], -1.0f) << "wrote past the end";
  }
}

TEST_P(EmitLoopsTest, RowsSideBySideHaveTheBitsOfRowsAlone) {
  BUILD_OR_SKIP(RowSoftmaxPlan());
  const bool many_registers = FindCpuTarget(GetParam())->traits.vector_registers == 32;
  EXPECT_EQ(schedule_.interleaved_rows, many_registers ? 4 : 3);
  constexpr int64_t kRows = 11;
  for (int64_t columns : {1, 7, 33, 200, 4096, 4097}) {
    const std::vector<float> x = Random(kRows * columns);
    const int64_t bytes = *schedule_.scratch_bytes.Evaluate(std::vector<int64_t>{kRows, columns});
    constexpr float kUntouched = -1;
    std::vector<float> scratch(2 * bytes / 4 + 16, kUntouched), alone(kRows * columns), beside(kRows * columns);
    auto kernel = image_->Find<void (*)(const int64_t*, int64_t, int64_t, int64_t)>("k_v" + std::to_string(Whole()));
    std::vector<int64_t> args = {Slot(x.data()), Slot(alone.data()), kRows, columns, Slot(scratch.data()), bytes};
    for (int64_t row = 0; row < kRows; ++row) kernel(args.data(), row, row + 1, 0);
    args[1] = Slot(beside.data());
    kernel(args.data(), 0, kRows, 1);
    EXPECT_EQ(alone, beside) << columns;
    EXPECT_EQ(scratch[2 * bytes / 4], kUntouched) << "wrote past the scratch";
  }
}

// Pages, the last of which ends before one that cannot be accessed.
class GuardedFloats {
 public:
  explicit GuardedFloats(const std::vector<float>& values)
      : pages_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_EQ(mprotect(static_cast<char*>(pages_) + kBytes / 2, kBytes / 2, PROT_NONE), 0);
    data_ = reinterpret_cast<float*>(static_cast<char*>(pages_) + kBytes / 2) - values.size();
    std::copy(values.begin(), values.end(), data_);
  }
  ~GuardedFloats() { munmap(pages_, kBytes); }
  GuardedFloats(const GuardedFloats&) = delete;
  GuardedFloats& operator=(const GuardedFloats&) = delete;
  float* data() const { return data_; }

 private:
  static constexpr size_t kBytes = 1 << 17;
  void* pages_;
  float* data_;
};

// Rows shorter than a vector. Memory ends where they end, and pieces of the rows leave all others as they are.
TEST_P(EmitLoopsTest, ShortRowsShareVectors) {
  BUILD_OR_SKIP(RowSoftmaxPlan());
  const int version = FirstVersion([](const Version& v) { return v.short_rows; });
  const bool has_masks = FindCpuTarget(GetParam())->traits.vector_bytes >= 32;
  ASSERT_EQ(version < static_cast<int>(schedule_.versions.size()), has_masks);
  if (!has_masks) return;
  EXPECT_THAT(VersionText(schedule_.versions[version]),
              testing::HasSubstr(absl::StrCat("d1 <= ", schedule_.lanes - 1)));
  auto kernel = image_->Find<void (*)(const int64_t*, int64_t, int64_t, int64_t)>("k_v" + std::to_string(version));
  for (int64_t columns = 1; columns < schedule_.lanes; ++columns) {
    for (int64_t rows : {1, 2, 7, 8, 15, 16, 17, 31, 33, 70}) {
      const std::vector<float> values = Random(rows * columns);
      constexpr float kUntouched = -1;
      const GuardedFloats x(values), y(std::vector<float>(rows * columns, kUntouched));
      const int64_t bytes = *schedule_.scratch_bytes.Evaluate(std::vector<int64_t>{rows, columns});
      std::vector<char> scratch(2 * bytes + 64);
      const int64_t args[] = {Slot(x.data()), Slot(y.data()), rows, columns, Slot(scratch.data()), bytes};
      const int64_t first = rows / 3;
      kernel(args, first, rows, 1);
      for (int64_t i = 0; i < first * columns; ++i) ASSERT_EQ(y.data()[i], kUntouched);
      kernel(args, 0, first, 0);
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j) sum += std::exp(double{values[i * columns + j]});
        for (int64_t j = 0; j < columns; ++j) {
          const double expected = std::exp(double{values[i * columns + j]}) / sum;
          ASSERT_NEAR(y.data()[i * columns + j], expected, 1e-6) << rows << " x " << columns << ": " << i << "," << j;
        }
      }
    }
  }
}

// A version of one length knows it: what it computes has the same bits.
TEST_P(EmitLoopsTest, LikelyLengthsAreConstants) {
  KernelPlan plan = RowSoftmaxPlan();
  const CpuTarget target = *FindCpuTarget(GetParam());
  const int64_t columns = 2 * target.traits.vector_bytes / static_cast<int64_t>(sizeof(float)) - 1;
  plan.dims[1].likely = {columns};
  BUILD_OR_SKIP(plan);
  const int likely = FirstVersion([](const Version& v) { return absl::StrContains(VersionText(v), "=="); });
  ASSERT_LT(likely, static_cast<int>(schedule_.versions.size()));
  EXPECT_EQ(VersionText(schedule_.versions[likely]), absl::StrCat("d1 == ", columns));
  constexpr int64_t kRows = 7;
  const std::vector<float> x = Random(kRows * columns);
  const int64_t bytes = *schedule_.scratch_bytes.Evaluate(std::vector<int64_t>{kRows, columns});
  std::vector<float> scratch(2 * bytes / 4 + 16), y(kRows * columns), general(kRows * columns);
  // The slot of the length is not read.
  Run({Slot(x.data()), Slot(y.data()), kRows, 0, Slot(scratch.data()), bytes}, {kRows, columns}, likely);
  Run({Slot(x.data()), Slot(general.data()), kRows, columns, Slot(scratch.data()), bytes}, {kRows, columns}, Whole());
  EXPECT_EQ(y, general);
}

TEST_P(EmitLoopsTest, GreatestAndLeastOfRowsKeepNaN) {
  for (OpKind combiner : {OpKind::kMax, OpKind::kMin}) {
    BUILD_OR_SKIP(RowExtremePlan(combiner == OpKind::kMax ? "max" : "min"));
    for (int64_t columns : {1, 2, 16, 31, 64, 77}) {
      const int64_t rows = columns + 1;  // the last has no NaN
      std::vector<float> x = Random(rows * columns);
      for (int64_t i = 0; i < columns; ++i) x[i * columns + i] = std::numeric_limits<float>::quiet_NaN();
      std::vector<float> y(rows);
      Run({Slot(x.data()), Slot(y.data()), rows, columns}, {rows, columns});
      for (int64_t i = 0; i < columns; ++i) EXPECT_TRUE(std::isnan(y[i])) << "NaN at " << i << " of " << columns;
      const auto [least, greatest] = std::minmax_element(x.end() - columns, x.end());
      EXPECT_EQ(y[columns], combiner == OpKind::kMax ? *greatest : *least);
    }
  }
}

TEST_P(EmitLoopsTest, ColumnReductionRunsLanesAcrossColumns) {
  BUILD_OR_SKIP(ColumnTotalPlan("f32"));
  EXPECT_EQ(schedule_.lane_axis, 0);
  for (auto [columns, rows] : {std::pair<int64_t, int64_t>{1, 5}, {16, 3}, {37, 11}, {300, 0}, {335, 6}, {1000, 2}}) {
    const std::vector<float> x = Random(rows * columns);
    std::vector<float> y(columns + 16, -1.0f);
    Run({Slot(x.data()), Slot(y.data()), columns, rows}, {columns, rows});
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += x[i * columns + j];
      EXPECT_NEAR(y[j], sum, 1e-4);
    }
    EXPECT_EQ(y[columns], -1.0f) << "wrote past the end";
  }
}

TEST_P(EmitLoopsTest, RowBuffersHoldTheRowsThatLanesRunAcross) {
  BUILD_OR_SKIP(ColumnSoftmaxPlan());
  EXPECT_EQ(schedule_.lane_axis, 0);
  for (auto [columns, rows] : {std::pair<int64_t, int64_t>{1, 5}, {16, 3}, {64, 9}, {37, 11}, {335, 6}, {100, 1}}) {
    const std::vector<float> x = Random(rows * columns);
    const int64_t bytes = *schedule_.scratch_bytes.Evaluate(std::vector<int64_t>{columns, rows});
    constexpr float kUntouched = -1;
    std::vector<float> y(rows * columns + 16, kUntouched), scratch(2 * bytes / 4 + 1, kUntouched);
    Run({Slot(x.data()), Slot(y.data()), columns, rows, Slot(scratch.data()), bytes}, {columns, rows});
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += std::exp(double{x[i * columns + j]});
      for (int64_t i = 0; i < rows; ++i) {
        EXPECT_NEAR(y[i * columns + j], std::exp(double{x[i * columns + j]}) / sum, 1e-6) << i << "," << j;
      }
    }
    EXPECT_EQ(y[rows * columns], kUntouched) << "wrote past the end";
    EXPECT_EQ(scratch[2 * bytes / 4], kUntouched) << "wrote past the scratch";
  }
}

TEST_P(EmitLoopsTest, ScansOfRowsFillLanes) {
  for (int form = 0; form < 4; ++form) {
    const bool exclusive = form % 2 != 0, mirrored = form / 2 != 0;
    BUILD_OR_SKIP(RowScanPlan(exclusive, mirrored));
    EXPECT_EQ(schedule_.lane_axis, 1);
    for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {2, 16}, {5, 33}, {2, 200}, {3, 0}}) {
      std::vector<uint16_t> x(rows * columns);
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<uint32_t>(static_cast<float>(i * 37 % 101)) >> 16;
      std::vector<float> y(rows * columns + 16, -1.0f);
      Run({Slot(x.data()), Slot(y.data()), rows, columns}, {rows, columns});
      for (int64_t i = 0; i < rows; ++i) {
        float sum = 0;
        for (int64_t step = 0; step < columns; ++step) {
          const int64_t at = i * columns + (mirrored ? columns - 1 - step : step);
          const float before = sum;
          sum += std::bit_cast<float>(uint32_t{x[at]} << 16);
          EXPECT_EQ(y[at], exclusive ? before : sum) << i << "," << step;
        }
      }
      EXPECT_EQ(y[rows * columns], -1.0f) << "wrote past the end";
    }
  }
}

TEST_P(EmitLoopsTest, ScansOfColumnsRunSideBySide) {
  BUILD_OR_SKIP(ColumnScanPlan());
  EXPECT_EQ(schedule_.lane_axis, 0);
  for (auto [columns, rows] : {std::pair<int64_t, int64_t>{1, 5}, {16, 3}, {64, 4}, {75, 9}, {300, 0}, {1000, 2}}) {
    const std::vector<float> x = Random(rows * columns);
    std::vector<float> y(rows * columns + 16, -9.0f);
    Run({Slot(x.data()), Slot(y.data()), columns, rows}, {columns, rows});
    for (int64_t j = 0; j < columns; ++j) {
      float most = -9;
      for (int64_t at = j; at < rows * columns; at += columns) {
        most = std::max(most, x[at]);
        EXPECT_EQ(y[at], most) << at;
      }
    }
    EXPECT_EQ(y[rows * columns], -9.0f) << "wrote past the end";
  }
}

TEST_P(EmitLoopsTest, ScansEndOnceTheRunIsInterrupted) {
  BUILD_OR_SKIP(ColumnScanPlan());
  constexpr int64_t kRows = 100000;
  const int64_t block = PollPointOf(ColumnScanPlan(), ColumnScanPlan().stages[0])->steps;
  const std::vector<float> x(kRows, 1.0f);
  for (int polls : {0, 1, 3, 1000}) {
    std::vector<float> y(kRows, -1.0f);
    run_.emplace(polls);
    Run({Slot(x.data()), Slot(y.data()), 1, kRows}, {1, kRows});
    EXPECT_EQ(std::count(y.begin(), y.end(), 1.0f), std::min(polls * block, kRows)) << polls;
  }
}

// An element per update; later ones win.
TEST_P(EmitLoopsTest, UpdatesEndOnceTheRunIsInterrupted) {
  const KernelPlan plan = ParsedPlan(R"(
kernel axes [a0: d0 ordered]
  in b0: i64[d0]
  out b1: i64[d1]
  stage over [a0]
    b1[(a0 % d1)] = b0[a0]
)");
  BUILD_OR_SKIP(plan);
  constexpr int64_t kUpdates = 100000, kElements = 7;
  std::vector<int64_t> x(kUpdates);
  std::iota(x.begin(), x.end(), 0);
  for (int polls : {0, 2, 1000}) {
    std::vector<int64_t> y(kElements, -1);
    run_.emplace(polls);
    Run({Slot(x.data()), Slot(y.data()), kUpdates, kElements}, {kUpdates, kElements});
    const int64_t done = std::min(polls * PollPointOf(plan, plan.stages[0])->steps, kUpdates);
    EXPECT_EQ(*std::max_element(y.begin(), y.end()), done - 1) << polls;
  }
}

TEST_P(EmitLoopsTest, BroadcastHasAVersionForEachCase) {
  BUILD_OR_SKIP(BroadcastPlan());
  ASSERT_EQ(schedule_.versions.size(), 3u);  // the first is for large outputs
  const int64_t rows = 5, columns = 19;
  for (int64_t source_rows : {int64_t{1}, rows}) {
    const std::vector<float> x = Random(source_rows * columns);
    std::vector<float> y(rows * columns);
    Run({Slot(x.data()), Slot(y.data()), rows, columns, source_rows}, {rows, columns, source_rows},
        source_rows == 1 ? 2 : 1);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) EXPECT_EQ(y[i * columns + j], x[(source_rows == 1 ? 0 : i) * columns + j]);
    }
  }
}

TEST_P(EmitLoopsTest, GatherCountsFromTheEndAndRecordsFaults) {
  BUILD_OR_SKIP(GatherRowsPlan());
  const int64_t columns = 20, entries = 6;
  const std::vector<float> table = Random(entries * columns);
  const std::vector<int32_t> ids = {0, 5, -1, -6, 2};
  std::vector<float> y(ids.size() * columns);
  int64_t fault[3] = {};
  const std::vector<int64_t> dims = {static_cast<int64_t>(ids.size()), columns, entries};
  std::vector<int64_t> args = {
      Slot(table.data()), Slot(ids.data()), Slot(y.data()), dims[0], dims[1], dims[2], Slot(fault), 40};
  Run(args, dims);
  EXPECT_EQ(fault[0], 0);
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t row = ids[i] < 0 ? ids[i] + entries : ids[i];
    for (int64_t j = 0; j < columns; ++j) EXPECT_EQ(y[i * columns + j], table[row * columns + j]);
  }
  const std::vector<int32_t> bad = {0, 6, -7, 1, 2};
  args[1] = Slot(bad.data());
  Run(args, dims);
  EXPECT_EQ(fault[0], 41);
  EXPECT_EQ(fault[1], 6);
  EXPECT_EQ(fault[2], entries);
}

// Wherever the output begins, and whatever is left over at the ends of runs.
TEST_P(EmitLoopsTest, StreamedOutputsHaveTheSameBits) {
  BUILD_OR_SKIP(BroadcastPlan());
  ASSERT_TRUE(schedule_.versions[0].streams);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 9000}, {3, 4099}, {2, 8192}, {40, 3}, {5, 1}}) {
    for (int64_t shift : {0, 1, 7, 15}) {
      const std::vector<float> x = Random(rows * columns);
      std::vector<float> memory(rows * columns + 32, -1.0f);
      float* y = memory.data() + shift;
      Run({Slot(x.data()), Slot(y), rows, columns, rows}, {rows, columns, rows});
      EXPECT_TRUE(std::equal(x.begin(), x.end(), y)) << rows << "," << columns << "," << shift;
      EXPECT_EQ(y[rows * columns], -1.0f) << "wrote past the end";
      if (shift > 0) {
        EXPECT_EQ(y[-1], -1.0f) << "wrote before the beginning";
      }
    }
  }
}

TEST_P(EmitLoopsTest, StreamedOutputsMayComeBehindALocal) {
  KernelPlan plan = BroadcastPlan();
  plan.buffers.push_back({BufferKind::kLocal, DType::kF32, {}});
  Statement& store = plan.stages[0].statements[0];
  Statement local{.buffer = 2, .value = store.value};
  store.value = plan.Add({.kind = ExprKind::kLoad, .dtype = DType::kF32, .ref = 2});
  plan.stages[0].statements.insert(plan.stages[0].statements.begin(), local);
  BUILD_OR_SKIP(plan);
  ASSERT_TRUE(schedule_.versions[0].streams);
  constexpr int64_t kRows = 3, kColumns = 4099;
  const std::vector<float> x = Random(kRows * kColumns);
  std::vector<float> y(kRows * kColumns + 1);
  Run({Slot(x.data()), Slot(y.data() + 1), kRows, kColumns, kRows}, {kRows, kColumns, kRows});
  EXPECT_TRUE(std::equal(x.begin(), x.end(), y.begin() + 1));
}

// Short rows run side by side in a small launch and one by one in a large one.
TEST_P(EmitLoopsTest, RowsSideBySideHaveTheSameBits) {
  BUILD_OR_SKIP(RowSoftmaxPlan());
  constexpr int64_t kLargeLaunch = 1 << 17;  // elements
  for (int64_t columns : {65, 100, 128}) {
    const int64_t few = 11, many = kLargeLaunch / columns + 1;
    const std::vector<float> x = Random(many * columns);
    std::vector<float> together(few * columns), apart(many * columns);
    for (auto [rows, y] : {std::pair{few, &together}, {many, &apart}}) {
      const int64_t bytes = *schedule_.scratch_bytes.Evaluate(std::vector<int64_t>{rows, columns});
      std::vector<float> scratch(2 * bytes / 4 + 1);
      Run({Slot(x.data()), Slot(y->data()), rows, columns, Slot(scratch.data()), bytes}, {rows, columns});
    }
    EXPECT_TRUE(std::equal(together.begin(), together.end(), apart.begin())) << columns;
  }
}

// Phase by phase, the parts of each in an order of their own, in scratch of just the bytes that the launch gets.
TEST_P(EmitLoopsTest, PartsOfColumnsKeepToTheScratchOfTheLaunch) {
  BUILD_OR_SKIP(ColumnSoftmaxPlan());
  ASSERT_TRUE(schedule_.versions[0].parts.has_value());
  const PartTasks& parts = *schedule_.versions[0].parts;
  constexpr float kUntouched = -1;
  for (auto [columns, rows] : {std::pair<int64_t, int64_t>{37, 3000}, {130, 1001}, {1, 40000}, {64, 7}}) {
    const std::vector<int64_t> dims = {columns, rows};
    const int64_t count = *parts.count.Evaluate(dims), tasks = *parts.tasks.Evaluate(dims);
    const int64_t floats = *parts.scratch_bytes.Evaluate(dims) / 4;
    const std::vector<float> x = Random(rows * columns);
    std::vector<float> y(rows * columns + 16, kUntouched), scratch(floats + 16, kUntouched);
    std::vector<int64_t> args = {
        Slot(x.data()), Slot(y.data()), columns, rows, Slot(scratch.data()), 0, Slot(scratch.data()), 0, count};
    auto kernel = image_->Find<void (*)(const int64_t*, int64_t, int64_t, int64_t)>("k_v0");
    for (int phase = 0; phase < parts.phases; ++phase) {
      args[7] = phase;
      for (int64_t task = tasks; task-- > 0;) kernel(args.data(), task, task + 1, task % 3);
    }
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < rows; ++i) sum += std::exp(double{x[i * columns + j]});
      for (int64_t i = 0; i < rows; ++i) {
        ASSERT_NEAR(y[i * columns + j], std::exp(double{x[i * columns + j]}) / sum, 1e-6) << i << "," << j;
      }
    }
    EXPECT_EQ(y[rows * columns], kUntouched) << "wrote past the end";
    EXPECT_EQ(scratch[floats], kUntouched) << "wrote past the scratch";
  }
}

TEST_P(EmitLoopsTest, StreamedOutputsGoPastTheCaches) {
  const CpuTarget target = *FindCpuTarget(GetParam());
  const KernelPlan plan = BroadcastPlan();
  llvm::Module module("kernel", context_);
  ASSERT_TRUE(EmitLoops(plan, ScheduleLoops(plan, target.traits), {}, "k", module).ok());
  const auto text = [&](const char* name) {
    std::string out;
    llvm::raw_string_ostream stream(out);
    module.getFunction(name)->print(stream);
    return out;
  };
  EXPECT_THAT(text("k_v1_body"), testing::HasSubstr("!nontemporal"));
  EXPECT_THAT(text("k_v0"), testing::HasSubstr("@k_v1_body(ptr %0, i64 %1, i64 %2, i64 %3, i1 true)"));
  EXPECT_THAT(text("k_v0"), testing::HasSubstr("llvm.x86.sse.sfence"));
  EXPECT_THAT(text("k_v1"), testing::HasSubstr("@k_v1_body(ptr %0, i64 %1, i64 %2, i64 %3, i1 false)"));
  EXPECT_THAT(text("k_v1"), testing::Not(testing::HasSubstr("sfence")));
}

// Tasks that differ in the last index alone are a loop that carries nothing to the other indices.
TEST_P(EmitLoopsTest, ShortRowsAreCountedInRuns) {
  const std::string text = Emitted(ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 parallel, a2: d2 parallel]
  in b0: f32[d1, d0, d2]
  out b1: f32[d0, d1, d2]
  stage over []
    b1[a0, a1, a2] = b0[a1, a0, a2]
)"));
  const size_t body = text.find("\ndigit.body:"), after = text.find("\ndigit.after:");
  ASSERT_NE(body, std::string::npos) << text;
  ASSERT_NE(after, std::string::npos) << text;
  EXPECT_NE(text.find("carry", after), std::string::npos) << text;
  EXPECT_EQ(text.substr(body, after - body).find("carry"), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Levels, EmitLoopsTest, ::testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace tailor::cpu
