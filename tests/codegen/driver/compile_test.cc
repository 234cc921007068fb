#include "codegen/driver/compile.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "codegen/cpu/tiling/tiling_model.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/link/link.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/host/emit/fake_runtime.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph Parse(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

CompileOptions ForHost() { return {.targets = {"host"}}; }

struct Tensor {
  std::vector<int64_t> dims;
  std::vector<float> data;
  std::vector<int64_t> integers;  // instead of `data`, for an i64 input
};

// A compiled graph of f32 and i64 inputs and one f32 output, run through a runtime of the test's own.
class Runner {
 public:
  explicit Runner(const std::string& text, const std::string& target = "host") {
    auto compiled = Compile(Parse(text), {.targets = {target}});
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    if (!compiled.ok()) return;
    compiled_ = *std::move(compiled);
    const Variant& variant = compiled_.program.variants[0];
    image_ =
        std::make_unique<CodeImage>(Image{{variant.image.begin(), variant.image.end()}, {{"run", variant.run_offset}}});
    runtime_ = std::make_unique<host::FakeRuntime>(variant.shape_cache_slots, 1);
    runtime_->constants.clear();
    for (const ProgramConstant& constant : compiled_.program.constants) {
      runtime_->constants.push_back(constant.bytes.data());
    }
    runtime_->context.constants = runtime_->constants.data();
  }
  bool ok() const { return image_ != nullptr; }
  const Program& program() const { return compiled_.program; }
  host::FakeRuntime& runtime() { return *runtime_; }

  // Leaves the output in `out`.
  int32_t Run(std::vector<Tensor> inputs, Tensor& out) {
    std::vector<TensorArg> in;
    for (Tensor& input : inputs) {
      void* data = input.integers.empty() ? static_cast<void*>(input.data.data()) : input.integers.data();
      in.push_back({data, input.dims.data()});
    }
    out.dims.assign(compiled_.program.outputs[0].dims.size(), -1);
    TensorArg result{nullptr, out.dims.data()};
    const int32_t code = image_->Find<RunFn>("run")(&runtime_->api, &runtime_->context, in.data(), &result);
    if (code != 0) return code;
    int64_t count = 1;
    for (int64_t dim : out.dims) count *= dim;
    const auto* data = static_cast<const float*>(result.data);
    out.data.assign(data, data + count);
    return 0;
  }

 private:
  CompiledProgram compiled_;
  std::unique_ptr<CodeImage> image_;
  std::unique_ptr<host::FakeRuntime> runtime_;
};

Tensor Ramp(std::vector<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  Tensor tensor{std::move(dims), {}, {}};
  for (int64_t i = 0; i < count; ++i) tensor.data.push_back(0.25f * static_cast<float>(i % 13) - 1.0f);
  return tensor;
}

constexpr char kNeg[] = R"(
graph @neg(%x: f32[N, M]) {
  %y = neg %x
  return "y" = %y
})";

constexpr char kSoftmax[] = R"(
graph @softmax(%x: f32[N, S]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %s
  return "y" = %y
})";

TEST(Compile, OneImageServesEveryShape) {
  Runner neg(kNeg);
  ASSERT_TRUE(neg.ok());
  for (std::vector<int64_t> dims : {std::vector<int64_t>{1, 1}, {3, 5}, {0, 4}, {17, 33}}) {
    const Tensor x = Ramp(dims);
    Tensor y;
    ASSERT_EQ(neg.Run({x}, y), 0);
    EXPECT_EQ(y.dims, dims);
    for (size_t i = 0; i < y.data.size(); ++i) ASSERT_EQ(y.data[i], -x.data[i]);
  }
}

TEST(Compile, SoftmaxOverASymbolicRow) {
  Runner softmax(kSoftmax);
  ASSERT_TRUE(softmax.ok());
  EXPECT_EQ(softmax.program().variants[0].launches.size(), 1u);
  for (int64_t row : {1, 7, 16, 50}) {
    const Tensor x = Ramp({3, row});
    Tensor y;
    ASSERT_EQ(softmax.Run({x}, y), 0);
    for (int64_t i = 0; i < 3; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < row; ++j) sum += std::exp(static_cast<double>(x.data[i * row + j]));
      for (int64_t j = 0; j < row; ++j) {
        ASSERT_NEAR(y.data[i * row + j], std::exp(static_cast<double>(x.data[i * row + j])) / sum, 1e-6);
      }
    }
  }
}

TEST(Compile, FailedCheckHasItsMessage) {
  Runner add(R"(
graph @add(%x: f32[N], %z: f32[N]) {
  %y = add %x, %z
  return "y" = %y
})");
  ASSERT_TRUE(add.ok());
  Tensor y;
  EXPECT_NE(add.Run({Ramp({3}), Ramp({4})}, y), 0);
  const auto& failure = add.runtime().failure;
  ASSERT_EQ(failure.size(), 3u);
  EXPECT_THAT(add.program().checks[failure[0]].message, HasSubstr("input \"z\" dim 0 is {lhs}, but N is {rhs}"));
  EXPECT_THAT(failure, ElementsAre(failure[0], 4, 3));
}

TEST(Compile, IndexOutOfRangeFailsAfterTheRun) {
  Runner gather(R"(
graph @gather(%x: f32[N, 3], %i: i64[M]) {
  %y = gather %x, %i
  return "y" = %y
})");
  ASSERT_TRUE(gather.ok());
  Tensor y;
  ASSERT_EQ(gather.Run({Ramp({2, 3}), {{3}, {}, {1, 0, -1}}}, y), 0);
  EXPECT_THAT(y.data, ElementsAre(-0.25f, 0.0f, 0.25f, -1.0f, -0.75f, -0.5f, -0.25f, 0.0f, 0.25f));
  ASSERT_NE(gather.Run({Ramp({2, 3}), {{2}, {}, {0, 2}}}, y), 0);
  const auto& failure = gather.runtime().failure;
  EXPECT_THAT(failure, ElementsAre(::testing::Ge(0), 2, 2));
  EXPECT_THAT(gather.program().checks[failure[0]].message, HasSubstr("{lhs}"));
  ASSERT_EQ(gather.Run({Ramp({2, 3}), {{1}, {}, {0}}}, y), 0);  // the fault is gone
}

TEST(Compile, IndicesOfNothingAreNotChecked) {
  Runner gather(R"(
graph @gather(%x: f32[N, C], %i: i64[M]) {
  %y = gather %x, %i
  return "y" = %y
})");
  ASSERT_TRUE(gather.ok());
  Tensor y;
  EXPECT_EQ(gather.Run({{{2, 0}, {}, {}}, {{1}, {}, {7}}}, y), 0);  // no element
  EXPECT_THAT(y.dims, ElementsAre(1, 0));
  EXPECT_NE(gather.Run({{{2, 1}, {1, 2}, {}}, {{1}, {}, {7}}}, y), 0);
  EXPECT_NE(gather.Run({{{0, 1}, {}, {}}, {{1}, {}, {0}}}, y), 0);  // elements of an empty table
  Runner scatter(R"(
graph @scatter(%x: f32[N, C], %i: i64[M, 1], %u: f32[M, C]) {
  %y = scatter %x, %i, %u {combiner = "set"}
  return "y" = %y
})");
  ASSERT_TRUE(scatter.ok());
  EXPECT_EQ(scatter.Run({{{2, 0}, {}, {}}, {{1, 1}, {}, {7}}, {{1, 0}, {}, {}}}, y), 0);
  EXPECT_NE(scatter.Run({{{2, 1}, {1, 2}, {}}, {{1, 1}, {}, {7}}, {{1, 1}, {3}, {}}}, y), 0);
}

TEST(Compile, EveryTargetComputesTheSame) {
  // Matmuls, a packed right operand and a row kernel.
  const std::string text = R"(
graph @mix(%a: f32[M, K], %b: f32[K, N]) {
  %p = dot %a, %b
  %m = reduce_max %p {axes = [1], keep_dims = 1}
  %d = sub %p, %m
  %y = exp %d
  return "y" = %y
})";
  for (const char* target : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    if (!RunsOrSays(target)) continue;
    Runner mix(text, target);
    ASSERT_TRUE(mix.ok());
    const Tensor a = Ramp({5, 7}), b = Ramp({7, 19});
    Tensor y;
    ASSERT_EQ(mix.Run({a, b}, y), 0);
    for (int64_t i = 0; i < 5; ++i) {
      double row[19], most = -1e9;
      for (int64_t j = 0; j < 19; ++j) {
        row[j] = 0;
        for (int64_t k = 0; k < 7; ++k) row[j] += static_cast<double>(a.data[i * 7 + k]) * b.data[k * 19 + j];
        most = std::max(most, row[j]);
      }
      for (int64_t j = 0; j < 19; ++j) ASSERT_NEAR(y.data[i * 19 + j], std::exp(row[j] - most), 1e-5) << target;
    }
  }
}

TEST(Compile, DumpsEveryStage) {
  const std::filesystem::path dir = std::filesystem::path(::testing::TempDir()) / "tailor_compile_dump";
  std::filesystem::create_directories(dir);
  setenv("TAILOR_DUMP", dir.c_str(), 1);
  const auto compiled = Compile(Parse(kNeg), {.targets = {"x86-64-v3"}});
  unsetenv("TAILOR_DUMP");
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto read = [&](const std::string& name) {
    std::ifstream file(dir / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_THAT(read("graph.00.input.txt"), HasSubstr("graph @neg"));
  EXPECT_THAT(read("host.00.lowered.txt"), HasSubstr("launch 0"));
  EXPECT_THAT(read("x86-64-v3.00.schedules.txt"), HasSubstr("lanes 8"));
  EXPECT_THAT(read("x86-64-v3.00.kernels.ll.txt"), HasSubstr("define hidden void @k0_v0"));
  EXPECT_THAT(read("x86-64-v3.01.host.s.txt"), HasSubstr("tailor_run:"));
  std::filesystem::remove_all(dir);
}

// A graph whose weights are arguments, so that its matmul chooses by dim sizes that are all symbols.
TEST(Compile, TilingsOfTheProfileGiveTheSameBits) {
  Runner matmul(R"(
graph @matmul(%x: f32[M, K], %w: f32[K, N]) {
  %y = dot %x, %w
  return "y" = %y
})",
                "x86-64-v2");
  ASSERT_TRUE(matmul.ok());
  EXPECT_TRUE(matmul.program().variants[0].costs.Of(2, 1).known());
  const std::vector<Tensor> inputs = {Ramp({60, 500}), Ramp({500, 100})};
  const auto chosen = [&](const CostProfile& costs, int64_t threads, Tensor& y) {
    host::FakeRuntime& runtime = matmul.runtime();
    runtime.context.costs = &costs;
    runtime.context.workers = threads;
    runtime.shape_cache[0] = 0;
    runtime.chunks.clear();
    EXPECT_EQ(matmul.Run(inputs, y), 0);
    const std::set<uint64_t> words(runtime.shape_cache.begin(), runtime.shape_cache.end());
    std::vector<std::string> tilings;
    for (const int task_panels : {2, 4}) {
      for (const int task_rows : {24, 48}) {
        const MatmulTiling tiling = {.rows = 2, .panels = 1, .task_rows = task_rows, .task_panels = task_panels};
        if (words.contains(gemm::TilingWord(tiling, costs.prefetch_distance))) tilings.push_back(TilingText(tiling));
      }
    }
    return tilings;
  };
  CostProfile costs;
  costs.Of(2, 1) = {0, 1e6f, 1e6f, 0};
  Tensor alone, shared;
  EXPECT_THAT(chosen(costs, 1, alone), ElementsAre("2x1 panels, task 48 rows x 4 panels"));
  // Four tasks for three threads are two turns; six half as large are two shorter ones.
  EXPECT_THAT(chosen(costs, 3, shared), ElementsAre("2x1 panels, task 24 rows x 4 panels"));
  EXPECT_EQ(alone.data, shared.data);
  costs.margin = 1;
  EXPECT_THAT(chosen(costs, 3, shared), ElementsAre("2x1 panels, task 48 rows x 4 panels"));
}

// Rows known to be far apart along K are copied to boxes, others are read in place.
TEST(Compile, StagedRowsGiveTheBitsOfRowsInPlace) {
  const auto matmul = [](const std::string& rows) {
    return "graph @matmul(%x: f32[512, " + rows +
           "], %w: f32[512, 256]) {\n  %y = dot %x, %w {transpose_lhs = 1}\n  return \"y\" = %y\n}";
  };
  const std::vector<Tensor> inputs = {Ramp({512, 2051}), Ramp({512, 256})};
  Runner boxed(matmul("2051"), "x86-64-v2"), in_place(matmul("M"), "x86-64-v2");
  ASSERT_TRUE(boxed.ok() && in_place.ok());
  Tensor copied, read;
  EXPECT_EQ(boxed.Run(inputs, copied), 0);
  EXPECT_EQ(in_place.Run(inputs, read), 0);
  EXPECT_EQ(copied.data, read.data);
}

TEST(Compile, MatmulsCarryTheCostsOfMachines) {
  const auto machines = [](const char* text) {
    const auto compiled = Compile(Parse(text), {});
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    std::map<std::string, size_t> counts;
    for (const Variant& variant : compiled->program.variants) counts[variant.target] = variant.machine_costs.size();
    return counts;
  };
  const std::map<std::string, size_t> with_matmul = machines(R"(
graph @matmul(%x: f32[4, K], %w: f32[K, N]) {
  %y = dot %x, %w
  return "y" = %y
})");
  EXPECT_EQ(with_matmul.at("x86-64-v4"), BuiltInMachineCosts("x86-64-v4").size());
  EXPECT_EQ(with_matmul.at("x86-64-v3"), BuiltInMachineCosts("x86-64-v3").size());
  EXPECT_EQ(with_matmul.at("x86-64-v2"), 0);
  EXPECT_EQ(machines(kSoftmax).at("x86-64-v4"), 0);
}

TEST(Compile, MatmulsAreCompiledForACostProfile) {
  constexpr char kMatmul[] = R"(
graph @matmul(%x: f32[M, 768]) {
  %w = constant @w : f32[768, 768]
  %y = dot %x, %w
  return "y" = %y
})";
  auto costs = std::make_shared<CostProfile>();
  costs->Of(6, 4) = {60, 5, 5, 0};  // other micro-kernels are unknown: no tiling needs code of its own
  const auto built_in = Compile(Parse(kMatmul), {.targets = {"x86-64-v4"}});
  const auto compiled = Compile(Parse(kMatmul), {.targets = {"x86-64-v4"}, .cost_profile = costs});
  ASSERT_TRUE(built_in.ok() && compiled.ok()) << built_in.status() << compiled.status();
  const Variant& variant = compiled->program.variants[0];
  EXPECT_EQ(CostProfileText(variant.costs), CostProfileText(*costs));
  EXPECT_THAT(variant.machine_costs, testing::IsEmpty());
  EXPECT_LT(variant.image.size(), built_in->program.variants[0].image.size());
  EXPECT_EQ(compiled->program.provenance.options, "targets=x86-64-v4 cost_profile");
}

TEST(Compile, ACostProfileIsOfOneCpuTarget) {
  const auto costs = std::make_shared<const CostProfile>();
  using Targets = std::vector<std::string>;
  for (const auto& [targets, said] : {std::pair(Targets{}, "all levels"),
                                      {{"x86-64-v3", "sm_80", "x86-64-v2"}, "x86-64-v3, x86-64-v2"},
                                      {{"sm_80"}, "none"}}) {
    const auto compiled = Compile(Parse(kNeg), {.targets = targets, .cost_profile = costs});
    EXPECT_EQ(compiled.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(compiled.status().message()),
                HasSubstr("needs exactly one CPU target; given: " + std::string(said)));
  }
  EXPECT_TRUE(Compile(Parse(kNeg), {.targets = {"x86-64-v3", "sm_80"}, .cost_profile = costs}).ok());
}

TEST(Compile, DescribesWhatItMade) {
  auto compiled = Compile(Parse(kSoftmax), {});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const Program& program = compiled->program;
  ASSERT_EQ(program.variants.size(), 3u);
  EXPECT_EQ(program.variants[0].target, "x86-64-v4");
  EXPECT_EQ(program.variants[2].target, "x86-64-v2");
  EXPECT_THAT(program.variants[1].features, ::testing::Contains("avx2"));
  ASSERT_EQ(program.symbols.size(), 2u);
  EXPECT_EQ(program.symbols[1].name, "S");
  EXPECT_EQ(program.inputs[0].name, "x");
  EXPECT_EQ(program.inputs[0].dims[1].symbol, 1);
  EXPECT_EQ(program.outputs[0].dims[1].text, "S");
  EXPECT_EQ(program.provenance.graph_name, "softmax");
  EXPECT_EQ(program.provenance.options, "targets=x86-64-v4,x86-64-v3,x86-64-v2");
}

TEST(Compile, MatmulsInBF16AndIntegersHaveVariantsOfTheirOwn) {
  const auto targets = [](const std::string& dtype, std::vector<std::string> asked) {
    const std::string rhs = dtype == "u8" ? "i8" : dtype;
    auto compiled = Compile(Parse("graph @g(%a: " + dtype + "[M, K], %b: " + rhs + R"([K, 3]) {
  %y = dot %a, %b
  return "y" = %y
})"),
                            {.targets = std::move(asked)});
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    std::vector<std::string> names;
    for (const Variant& variant : compiled->program.variants) names.push_back(variant.target);
    return names;
  };
  EXPECT_THAT(targets("bf16", {}), ElementsAre("x86-64-v4+avx512bf16+amx-tile+amx-bf16", "x86-64-v4+avx512bf16",
                                               "x86-64-v4", "x86-64-v3", "x86-64-v2"));
  EXPECT_THAT(targets("i16", {}), ElementsAre("x86-64-v4+avx512vnni", "x86-64-v4", "x86-64-v3", "x86-64-v2"));
  EXPECT_THAT(targets("i16", {"x86-64-v4+avx512bf16"}), ElementsAre("x86-64-v4+avx512vnni"));
  EXPECT_THAT(targets("u8", {}), ElementsAre("x86-64-v4+avx512vnni+amx-tile+amx-int8", "x86-64-v4+avx512vnni",
                                             "x86-64-v4", "x86-64-v3", "x86-64-v2"));
  EXPECT_THAT(targets("u8", {"x86-64-v4+avx512bf16+amx-tile+amx-bf16"}),
              ElementsAre("x86-64-v4+avx512vnni+amx-tile+amx-int8"));
  // All machines with AVX512-BF16 have AVX512-VNNI, and all with AMX-BF16 have AMX-INT8.
  auto both = Compile(Parse(R"(graph @g(%a: bf16[M, 9], %b: bf16[9, 3], %c: u8[M, 9], %d: i8[9, 3]) {
  %x = dot %a, %b
  %y = dot %c, %d
  return %x, %y
})"),
                      {.targets = {"x86-64-v4+avx512bf16+amx-tile+amx-bf16"}});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->program.variants[0].target, "x86-64-v4+avx512bf16+amx-tile+amx-bf16+avx512vnni+amx-int8");
  EXPECT_THAT(targets("f16", {}), ElementsAre("x86-64-v4", "x86-64-v3", "x86-64-v2"));
  EXPECT_THAT(targets("f32", {"x86-64-v4+avx512bf16", "x86-64-v4+adx"}), ElementsAre("x86-64-v4+adx", "x86-64-v4"));
  EXPECT_THAT(targets("bf16", {"x86-64-v4+avx512bf16"}), ElementsAre("x86-64-v4+avx512bf16"));
}

TEST(Compile, SameGraphGivesSameBytesOnAnyNumberOfThreads) {
  CompileOptions one = ForHost(), three = ForHost();
  one.threads = 1;
  three.threads = 3;
  auto first = Compile(Parse(kSoftmax), one);
  auto second = Compile(Parse(kSoftmax), three);
  ASSERT_TRUE(first.ok() && second.ok());
  const auto bytes = [](const CompiledProgram& p) {
    const auto image = p.program.variants[0].image;
    return std::vector<std::byte>(image.begin(), image.end());
  };
  EXPECT_EQ(bytes(*first), bytes(*second));
}

TEST(Compile, ProgressCanCancel) {
  std::vector<std::string> phases;
  CompileOptions options = ForHost();
  options.progress = [&](const char* phase, double) {
    phases.push_back(phase);
    return phases.back() != "emit";
  };
  auto compiled = Compile(Parse(kNeg), options);
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(std::string(compiled.status().message()), HasSubstr("emit"));
  EXPECT_EQ(phases.front(), "analyse split");
  EXPECT_NE(std::find(phases.begin(), phases.end(), "rewrite merge-equal-nodes"), phases.end());
  EXPECT_NE(std::find(phases.begin(), phases.end(), "fuse stitch"), phases.end());
}

std::vector<std::string> TargetsOf(const Program& program) {
  std::vector<std::string> names;
  for (const Variant& variant : program.variants) names.push_back(variant.target);
  return names;
}

TEST(Compile, GpusAreVariantsOfTheirOwn) {
  if (!cuda::FindAssembler().ok()) GTEST_SKIP() << cuda::FindAssembler().status().message();
  auto compiled = Compile(Parse(kSoftmax), {.targets = {"cuda", "x86-64-v3"}});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const std::vector<Variant>& variants = compiled->program.variants;
  EXPECT_THAT(TargetsOf(compiled->program), ElementsAre("x86-64-v3", "sm_90a", "sm_90", "sm_80"));
  EXPECT_TRUE(variants[0].device_images.empty());
  for (int i : {1, 2, 3}) {  // PTX serves what comes after the last
    ASSERT_EQ(variants[i].device_images.size(), i == 3 ? 2u : 1u);
    EXPECT_EQ(variants[i].device_images[0].kind, DeviceImageKind::kCubin);
    EXPECT_EQ(variants[i].device_images[0].target, variants[i].target);
    EXPECT_FALSE(variants[i].device_kernels.empty());
    EXPECT_EQ(variants[i].launches.size(), 1u);
  }
  EXPECT_EQ(variants[3].device_images[1].kind, DeviceImageKind::kPtx);
  const std::string& options = compiled->program.provenance.options;
  EXPECT_THAT(options, HasSubstr("targets=x86-64-v3,sm_90a,sm_90,sm_80"));
  EXPECT_THAT(options, HasSubstr(" assembler=" + (*cuda::FindAssembler())->name()));
}

TEST(Compile, WithoutAnAssemblerTheArtifactSaysSo) {
  setenv("TAILOR_ASSEMBLER", "none", 1);
  auto compiled = Compile(Parse(kNeg), {.targets = {"sm_80"}});
  unsetenv("TAILOR_ASSEMBLER");
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_EQ(compiled->program.variants[0].device_images.size(), 1u);
  EXPECT_EQ(compiled->program.variants[0].device_images[0].kind, DeviceImageKind::kPtx);
  EXPECT_THAT(compiled->program.provenance.options, HasSubstr(" assembler=TAILOR_ASSEMBLER is none"));
}

// Where an output lies is said once for all variants: what GPU kernels write apart is copied there.
TEST(Compile, OutputsInDonatedMemoryAreThereOnAllMachines) {
  const auto compile = [](std::vector<std::string> targets) {
    return Compile(Parse(kNeg), {.targets = std::move(targets), .donated = {"x"}});
  };
  auto host = compile({"host"}), gpu = compile({"simt"}), both = compile({"host", "simt"});
  ASSERT_TRUE(host.ok() && gpu.ok());
  EXPECT_EQ(host->program.outputs[0].memory_of, 0);
  EXPECT_EQ(gpu->program.outputs[0].memory_of, -1);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->program.outputs[0].memory_of, 0);
  EXPECT_THAT(both->program.variants[0].outputs_to_copy, testing::IsEmpty());
  EXPECT_THAT(both->program.variants.back().outputs_to_copy, testing::ElementsAre(0));
  EXPECT_THAT(gpu->program.variants[0].outputs_to_copy, testing::IsEmpty());
}

TEST(Compile, UnknownTargetIsNamed) {
  auto compiled = Compile(Parse(kNeg), {.targets = {"m68k"}});
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(compiled.status().message()), HasSubstr("m68k"));
}

}  // namespace
}  // namespace tailor::driver
