// Attention, whose three parts run as a chain of kernels over blocks of rows, against the same graph with its weights
// as an output too, which keeps the parts apart: not a bit may differ, on any CPU level, at any shape.
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/lower/lower_graph.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/support/device.h"

namespace tailor::cpu {
namespace {

std::string Attention(const std::string& dtype, const std::string& outputs) {
  return absl::StrCat("graph @attention(%q: ", dtype, "[B, 3, S, 20], %k: ", dtype, "[B, 3, T, 20], %v: ", dtype,
                      "[B, 3, T, 24], %table: ", dtype, "[N], %place: i64[S, T]) {", R"(
  %scores = dot %q, %k {transpose_rhs = 1}
  %bias = gather %table, %place
  %masked = add %scores, %bias
  %top = reduce_max %masked {axes = [3], keep_dims = 1}
  %below = sub %masked, %top
  %e = exp %below
  %sum = reduce_sum %e {axes = [3], keep_dims = 1}
  %p = div %e, %sum
  %mixed = dot %p, %v
  %heads = transpose %mixed {permutation = [0, 2, 1, 3]}
  %joined = reshape %heads {shape = [B, S, 72]}
  return "y" = %joined)",
                      outputs, "\n}");
}

HostTensor Tensor(DType dtype, std::vector<int64_t> dims) {
  size_t bytes = SizeOf(dtype);
  for (int64_t dim : dims) bytes *= static_cast<size_t>(dim);
  return {.dtype = dtype, .dims = std::move(dims), .bytes = std::vector<std::byte>(bytes)};
}

constexpr int64_t kEntries = 50;

HostTensor Floats(DType dtype, std::vector<int64_t> dims, uint64_t seed) {
  HostTensor tensor = Tensor(dtype, std::move(dims));
  std::mt19937_64 random(seed);
  const size_t size = SizeOf(dtype);
  for (size_t i = 0; i < tensor.bytes.size(); i += size) {
    const float value = static_cast<float>(random() >> 40) * 0x1p-22f - 2;
    if (dtype == DType::kBF16) {
      const uint32_t bits = std::bit_cast<uint32_t>(value) >> 16;
      std::memcpy(&tensor.bytes[i], &bits, size);
    } else {
      std::memcpy(&tensor.bytes[i], &value, size);
    }
  }
  return tensor;
}

std::vector<HostTensor> Inputs(DType dtype, int64_t b, int64_t s, int64_t t, int64_t wrong_place) {
  std::vector<HostTensor> inputs = {Floats(dtype, {b, 3, s, 20}, 1), Floats(dtype, {b, 3, t, 20}, 2),
                                    Floats(dtype, {b, 3, t, 24}, 3), Floats(dtype, {kEntries}, 4),
                                    Tensor(DType::kI64, {s, t})};
  for (int64_t i = 0; i < s * t; ++i) {
    const int64_t place = i == wrong_place ? kEntries : i * 7 % kEntries;
    std::memcpy(&inputs[4].bytes[8 * i], &place, 8);
  }
  return inputs;
}

void ExpectNear(const HostTensor& got, const HostTensor& expected) {
  const auto* a = reinterpret_cast<const float*>(got.bytes.data());
  const auto* b = reinterpret_cast<const float*>(expected.bytes.data());
  for (size_t i = 0; i < got.bytes.size() / sizeof(float); ++i) ASSERT_NEAR(a[i], b[i], 1e-6 * (1 + std::abs(b[i])));
}

class Chain : public testing::TestWithParam<const char*> {
 protected:
  DType dtype() const { return GetParam() == std::string("bf16") ? DType::kBF16 : DType::kF32; }
  std::unique_ptr<TestProgram> Compile(const TestDevice& device, const std::string& outputs) const {
    auto graph = ParseGraph(Attention(GetParam(), outputs));
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto program = device.Compile(*graph);
    EXPECT_TRUE(program.ok()) << program.status();
    return *std::move(program);
  }
};

TEST_P(Chain, ChangesNoBit) {
  for (const auto& device : CpuDevices()) {
    const auto chained = Compile(*device, ""), apart = Compile(*device, ", \"p\" = %p");
    constexpr int64_t kVector = 16;
    constexpr int64_t kShapes[][3] = {{1, 1, 1},  {2, 5, 7},     {1, 24, 24},  {1, 25, 1100}, {2, 49, 33},
                                      {0, 5, 5},  {2, 0, 3},     {2, 3, 0},    {1, 1, 3000},  {5, 7, 16},
                                      {1, 6, 96}, {1, 200, 130}, {1, 400, 900}};
    for (const auto& [b, s, t] : kShapes) {
      for (int threads : {1, 2}) {
        SCOPED_TRACE(absl::StrCat(device->name(), " B = ", b, ", S = ", s, ", T = ", t, ", threads ", threads));
        const std::vector<HostTensor> inputs = Inputs(dtype(), b, s, t, -1);
        const auto got = chained->Run(inputs, threads), expected = apart->Run(inputs, threads);
        ASSERT_TRUE(got.ok()) << got.status();
        ASSERT_TRUE(expected.ok()) << expected.status();
        EXPECT_EQ((*got)[0].dims, (*expected)[0].dims);
        if (t < kVector && dtype() == DType::kF32) {  // apart, such rows share vectors
          ExpectNear((*got)[0], (*expected)[0]);
        } else {
          EXPECT_TRUE((*got)[0].bytes == (*expected)[0].bytes);
        }
      }
    }
  }
}

// The chain that the graph becomes.
KernelPlan ChainOf(const std::string& text, const TargetTraits& traits) {
  const auto lowered = lower::LowerGraph(*ParseGraph(text), traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  for (const KernelPlan& kernel : lowered->kernels) {
    if (kernel.IsChain()) return kernel;
  }
  ADD_FAILURE() << "no chain";
  return KernelPlan();
}

// An lhs of windows is addressed by tables, which are of one part of K at a time.
TEST(WindowedChain, ChangesNoBit) {
  for (const int64_t window : {32, 300}) {
    const auto chain = [&](const std::string& outputs) {
      return absl::StrCat("graph @windows(%x: f32[B, L, 4], %k: f32[B, ", 4 * window, R"(, 64], %v: f32[B, 64, 32]) {
  %w = window %x {axes = [1], sizes = [)",
                          window, R"(]}
  %q = reshape %w {shape = [B, L - )",
                          window - 1, ", ", 4 * window, R"(]}
  %s = dot %q, %k
  %top = reduce_max %s {axes = [2], keep_dims = 1}
  %less = sub %s, %top
  %e = exp %less
  %sum = reduce_sum %e {axes = [2], keep_dims = 1}
  %p = div %e, %sum
  %y = dot %p, %v
  return "y" = %y)",
                          outputs, "\n}");
    };
    EXPECT_EQ(ChainOf(chain(""), TargetTraits{}).links().size(), 3);
    for (const auto& device : CpuDevices()) {
      const auto chained = *device->Compile(*ParseGraph(chain(""))),
                 apart = *device->Compile(*ParseGraph(chain(", \"p\" = %p")));
      for (const int64_t rows : {1, 19, 60}) {
        SCOPED_TRACE(absl::StrCat(device->name(), " window ", window, ", rows ", rows));
        const std::vector<HostTensor> inputs = {Floats(DType::kF32, {2, rows + window - 1, 4}, 1),
                                                Floats(DType::kF32, {2, 4 * window, 64}, 2),
                                                Floats(DType::kF32, {2, 64, 32}, 3)};
        const auto got = chained->Run(inputs, 2), expected = apart->Run(inputs, 2);
        ASSERT_TRUE(got.ok()) << got.status();
        ASSERT_TRUE(expected.ok()) << expected.status();
        EXPECT_TRUE((*got)[0].bytes == (*expected)[0].bytes);
      }
    }
  }
}

// Three heads of queries for each head of keys and values, under one mask: rows of one matmul. Queries that are not
// stored by heads keep the heads apart.
TEST(GroupedChain, ChangesNoBit) {
  for (const bool by_heads : {true, false}) {
    const auto attention = [&](const std::string& outputs) {
      return absl::StrCat("graph @attention(%x: f32[", by_heads ? "B, 2, 3, S, 20" : "B, S, 2, 3, 20",
                          "], %k: f32[B, 2, 1, T, 20], %v: f32[B, 2, 1, T, 32], %mask: f32[B, 1, 1, S, T]) {\n",
                          by_heads ? "  %q = neg %x\n" : "  %q = transpose %x {permutation = [0, 2, 3, 1, 4]}\n", R"(
  %scores = dot %q, %k {transpose_rhs = 1}
  %masked = add %scores, %mask
  %top = reduce_max %masked {axes = [4], keep_dims = 1}
  %below = sub %masked, %top
  %e = exp %below
  %sum = reduce_sum %e {axes = [4], keep_dims = 1}
  %p = div %e, %sum
  %y = dot %p, %v
  return "y" = %y)",
                          outputs, "\n}");
    };
    for (const auto& device : CpuDevices()) {
      const auto chained = *device->Compile(*ParseGraph(attention(""))),
                 apart = *device->Compile(*ParseGraph(attention(", \"p\" = %p")));
      constexpr int64_t kShapes[][3] = {{2, 1, 16}, {1, 8, 40}, {1, 9, 33}, {2, 30, 1040}, {2, 0, 20}};
      for (const auto& [b, s, t] : kShapes) {
        SCOPED_TRACE(absl::StrCat(device->name(), " B = ", b, ", S = ", s, ", T = ", t, ", by heads ", by_heads));
        std::vector<int64_t> queries = {b, s, 2, 3, 20};
        if (by_heads) queries = {b, 2, 3, s, 20};
        const std::vector<HostTensor> inputs = {
            Floats(DType::kF32, queries, 1), Floats(DType::kF32, {b, 2, 1, t, 20}, 2),
            Floats(DType::kF32, {b, 2, 1, t, 32}, 3), Floats(DType::kF32, {b, 1, 1, s, t}, 4)};
        const auto got = chained->Run(inputs, 2), expected = apart->Run(inputs, 2);
        ASSERT_TRUE(got.ok()) << got.status();
        ASSERT_TRUE(expected.ok()) << expected.status();
        EXPECT_TRUE((*got)[0].bytes == (*expected)[0].bytes);
        // The first head of the first batch index, in f64.
        const auto at = [](const HostTensor& tensor, int64_t i) {
          float value;
          std::memcpy(&value, &tensor.bytes[4 * i], 4);
          return double{value};
        };
        for (int64_t i = 0; i < s; ++i) {
          std::vector<double> weights(t);
          double total = 0;
          for (int64_t j = 0; j < t; ++j) {
            double score = at(inputs[3], i * t + j);
            for (int64_t d = 0; d < 20; ++d) {
              score += (by_heads ? -at(inputs[0], i * 20 + d) : at(inputs[0], i * 120 + d)) * at(inputs[1], j * 20 + d);
            }
            total += weights[j] = std::exp(score);
          }
          for (int64_t d = 0; d < 32; ++d) {
            double mixed = 0;
            for (int64_t j = 0; j < t; ++j) mixed += weights[j] / total * at(inputs[2], j * 32 + d);
            ASSERT_NEAR(at((*got)[0], i * 32 + d), mixed, 1e-5) << i << " " << d;
          }
        }
      }
    }
  }
}

TEST(ScheduleChain, ScratchHoldsThePanelsOfTheWidestTile) {
  TargetTraits traits;
  traits.vector_bytes = 64;
  traits.most_rows_in_place = 24;
  const KernelPlan chain = ChainOf(Attention("f32", ""), traits);
  const Schedule schedule = ScheduleOnCpu(chain, traits);
  // 20 steps of K for 4 panels, and a square beyond.
  EXPECT_EQ(schedule.links[0].scratch_bytes, (20 * 4 + 16) * 64) << schedule.Text();
}

TEST(ScheduleChain, SaysHowManyRowsLinksHaveAtATime) {
  const KernelPlan chain = ChainOf(Attention("f32", ""), TargetTraits{});
  const Schedule schedule = ScheduleOnCpu(chain, TargetTraits{});
  for (const Schedule& link : schedule.links) EXPECT_EQ(link.block_rows, schedule.links[0].tile.task_rows);
  EXPECT_EQ(schedule.links[0].block_rows, 24) << schedule.Text();
}

// Alone, a matmul of 12 columns would take more rows.
TEST(ScheduleChain, LinksOfFewColumnsDivideRowsAsOthersDo) {
  const std::string text = absl::StrReplaceAll(Attention("f32", ""), {{"24]", "12]"}, {"72]", "36]"}});
  const KernelPlan chain = ChainOf(text, TargetTraits{});
  const Schedule schedule = ScheduleOnCpu(chain, TargetTraits{});
  for (size_t i = 0; i < schedule.links.size(); ++i) {
    if (!chain.links()[i].plan.IsContraction()) continue;
    EXPECT_EQ(schedule.links[i].tile.rows, schedule.links[0].tile.rows) << schedule.Text();
  }
}

TEST_P(Chain, FaultsInALinkFailTheRun) {
  const auto program = Compile(*CpuDevices().front(), "");
  const auto failed = program->Run(Inputs(dtype(), 1, 30, 40, 777), 2);
  EXPECT_EQ(failed.status().message(),
            "gather %bias: index 50 is out of range for dim 0 of %table, which has 50 entries");
  EXPECT_TRUE(program->Run(Inputs(dtype(), 1, 30, 40, -1), 2).ok());
}

INSTANTIATE_TEST_SUITE_P(DTypes, Chain, testing::Values("f32", "bf16"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tailor::cpu
