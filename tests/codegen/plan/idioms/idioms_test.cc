#include "codegen/plan/idioms/idioms.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "codegen/cpu/loops/emit_loops.h"
#include "codegen/cpu/schedule/schedule_loops.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/plan_queries.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor {
namespace {

// The kernel of a graph that has one.
KernelPlan PlanOf(const std::string& text) {
  auto parsed = ParseGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  auto lowered = lower::LowerGraph(*parsed, TargetTraits{});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(lowered->kernels.size(), 1);
  return lowered->kernels[0];
}

template <typename F>
int Count(const KernelPlan& plan, F is_one) {
  int count = 0;
  for (ExprId id : ReachableExprs(plan)) count += is_one(plan.exprs[id]);
  return count;
}

int Gelus(const std::string& body) {
  const KernelPlan plan = PlanOf(
      "graph @g(%x: f32[N], %z: f32[N]) {\n"
      "  %half = constant 0.5 : f32[]\n  %one = constant 1 : f32[]\n"
      "  %r = constant 0.70710677 : f32[]\n  %root = constant 1.4142135 : f32[]\n" +
      body + "  return %y\n}\n");
  return Count(plan, [&](const Expr& e) { return GeluOf(plan, e).has_value(); });
}

TEST(Idioms, GeluHasItsFactorsInAnyOrder) {
  EXPECT_EQ(Gelus("  %s = mul %x, %r\n  %e = erf %s\n  %w = add %e, %one\n  %h = mul %x, %half\n  %y = mul %h, %w\n"),
            1);
  EXPECT_EQ(
      Gelus("  %s = div %x, %root\n  %e = erf %s\n  %w = add %one, %e\n  %p = mul %x, %w\n  %y = mul %p, %half\n"), 1);
  EXPECT_EQ(Gelus("  %s = mul %r, %x\n  %e = erf %s\n  %w = add %e, %one\n  %h = mul %half, %w\n  %y = mul %h, %x\n"),
            1);
}

int TanhGelus(const std::string& body) {
  return Gelus(
      "  %s = constant 0.7978846 : f32[]\n  %c = constant 0.044715 : f32[]\n"
      "  %three = constant 3 : f32[]\n" +
      body + "  %e = tanh %a\n  %w = add %e, %one\n  %h = mul %x, %half\n  %y = mul %h, %w\n");
}

TEST(Idioms, TheCubicOfGeluHasAnyForm) {
  const std::string square = "  %2 = mul %x, %x\n";
  EXPECT_EQ(TanhGelus(square + "  %3 = mul %2, %x\n  %p = mul %3, %c\n  %q = add %x, %p\n  %a = mul %q, %s\n"), 1);
  EXPECT_EQ(TanhGelus("  %3 = pow %x, %three\n  %p = mul %c, %3\n  %q = add %x, %p\n  %a = mul %s, %q\n"), 1);
  EXPECT_EQ(TanhGelus(square + "  %p = mul %c, %2\n  %q = add %p, %one\n  %t = mul %x, %s\n  %a = mul %t, %q\n"), 1);
}

TEST(Idioms, AnotherPolynomialIsNoGelu) {
  const std::string square = "  %2 = mul %x, %x\n";
  EXPECT_EQ(TanhGelus(square + "  %3 = mul %2, %x\n  %p = mul %3, %c\n  %q = sub %x, %p\n  %a = mul %q, %s\n"), 0);
  EXPECT_EQ(TanhGelus(square + "  %p = mul %2, %c\n  %q = add %x, %p\n  %a = mul %q, %s\n"), 0);
  EXPECT_EQ(TanhGelus("  %3 = pow %z, %three\n  %p = mul %c, %3\n  %q = add %x, %p\n  %a = mul %s, %q\n"), 0);
  EXPECT_EQ(TanhGelus("  %p = mul %s, %s\n  %q = mul %p, %x\n  %a = mul %q, %s\n"), 0);
  std::string deep = "  %d0 = add %x, %c\n";
  for (int i = 1; i < 60; ++i) {
    const std::string last = "%d" + std::to_string(i - 1);
    deep += "  %d" + std::to_string(i) + " = add " + last + ", " + last + "\n";
  }
  EXPECT_EQ(TanhGelus(deep + "  %a = mul %d59, %s\n"), 0);
}

TEST(Idioms, WhatIsAlmostGeluIsNot) {
  const std::string weight = "  %s = mul %x, %r\n  %e = erf %s\n  %w = add %e, %one\n";
  EXPECT_EQ(Gelus(weight + "  %h = mul %z, %half\n  %y = mul %h, %w\n"), 0);
  EXPECT_EQ(Gelus(weight + "  %h = mul %x, %r\n  %y = mul %h, %w\n"), 0);
  EXPECT_EQ(Gelus(weight + "  %y = mul %x, %w\n"), 0);
  EXPECT_EQ(
      Gelus("  %s = mul %x, %half\n  %e = erf %s\n  %w = add %e, %one\n  %h = mul %x, %half\n  %y = mul %h, %w\n"), 0);
}

int Shares(const std::string& body) {
  const KernelPlan plan = PlanOf("graph @g(%x: f32[M, N]) {\n" + body + "  return %y\n}\n");
  return Count(plan, [&](const Expr& e) { return IsSoftmaxNormalize(plan, e); });
}

TEST(Idioms, SharesAreOfTheSumOfAllPowersNoneOfWhichExceedsOne) {
  const std::string greatest = "  %m = reduce_max %x {axes = [1], keep_dims = 1}\n  %d = sub %x, %m\n";
  const std::string powers = "  %e = exp %d\n  %s = reduce_sum %e {axes = [1], keep_dims = 1}\n";
  EXPECT_EQ(Shares(greatest + powers + "  %y = div %e, %s\n"), 1);
  EXPECT_EQ(Shares("  %d = neg %x\n" + powers + "  %y = div %e, %s\n"), 0);
  EXPECT_EQ(Shares(greatest + powers + "  %y = div %x, %s\n"), 0);
  EXPECT_EQ(
      Shares("  %m = reduce_min %x {axes = [1], keep_dims = 1}\n  %d = sub %x, %m\n" + powers + "  %y = div %e, %s\n"),
      0);
}

int Requantizations(const std::string& body) {
  const KernelPlan plan = PlanOf(
      "graph @g(%x: f32[N]) {\n  %s = constant 0.03 : f32[]\n  %z = constant 3 : f32[]\n  %zero = constant 3 : i32[]\n"
      "  %half = constant 0.5 : f32[]\n  %q = div %x, %s\n  %r = round %q\n" +
      body + "  return %y\n}\n");
  return Count(plan, [&](const Expr& e) { return RequantizedOf(plan, e).has_value(); });
}

TEST(Idioms, WhatIsQuantizedAndDequantizedAtOnceStaysAFloat) {
  const auto widened = [](const std::string& type) {
    return "  %b = cast %t {dtype = " + type +
           "}\n  %w = cast %b {dtype = i32}\n  %d = sub %w, %zero\n  %y = cast %d {dtype = f32}\n";
  };
  for (const char* type : {"i8", "u8", "i16", "u16"}) {
    EXPECT_EQ(Requantizations("  %t = add %r, %z\n" + widened(type)), 1) << type;
  }
  EXPECT_EQ(
      Requantizations("  %b = cast %r {dtype = i8}\n  %w = cast %b {dtype = i32}\n  %y = cast %w {dtype = f32}\n"), 1);
  EXPECT_EQ(Requantizations("  %b = cast %r {dtype = i8}\n  %y = cast %b {dtype = f32}\n"), 1);
  // A conversion truncates what is no integer; i32 does not fit f32; a difference of bytes wraps.
  EXPECT_EQ(Requantizations("  %t = add %r, %half\n" + widened("i8")), 0);
  EXPECT_EQ(Requantizations("  %t = mul %q, %z\n" + widened("i8")), 0);
  EXPECT_EQ(Requantizations("  %w = cast %r {dtype = i32}\n  %d = sub %w, %zero\n  %y = cast %d {dtype = f32}\n"), 0);
  EXPECT_EQ(Requantizations("  %b = cast %r {dtype = i8}\n  %n = cast %zero {dtype = i8}\n  %d = sub %b, %n\n"
                            "  %y = cast %d {dtype = f32}\n"),
            0);
}

// In all kernels of a graph: how many of its powers are below the greatest.
int PowersBelowTheGreatest(const std::string& inputs, const std::string& body) {
  auto parsed = ParseGraph("graph @g(" + inputs + ") {\n" + body + "  %y = exp %d\n  return %y\n}\n");
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  auto lowered = lower::LowerGraph(*parsed, TargetTraits{});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  int powers = 0;
  for (const KernelPlan& plan : lowered->kernels) {
    powers += Count(plan, [&](const Expr& e) { return IsExpMinusMax(plan, e); });
  }
  return powers;
}

constexpr char kMatrix[] = "%x: f32[M, N]";

TEST(Idioms, PowersAreBelowTheGreatestOfTheirOwnExponents) {
  const std::string greatest = "  %m = reduce_max %x {axes = [1], keep_dims = 1}\n";
  EXPECT_EQ(PowersBelowTheGreatest(kMatrix, greatest + "  %d = sub %x, %m\n"), 1);
  EXPECT_EQ(PowersBelowTheGreatest("%x: f64[M, N]", greatest + "  %d = sub %x, %m\n"), 1);
  EXPECT_EQ(
      PowersBelowTheGreatest("%w: f32[M, N], %z: f32[N]", "  %x = mul %w, %z\n" + greatest + "  %d = sub %x, %m\n"), 1);
  const std::string kept = "  %x = tanh %w\n";  // read from a row buffer
  EXPECT_EQ(PowersBelowTheGreatest("%w: f32[M, N]", kept + greatest + "  %d = sub %x, %m\n"), 1);
  EXPECT_EQ(PowersBelowTheGreatest("%x: f32[N, N]", "  %m = reduce_max %x {axes = [0]}\n  %d = sub %x, %m\n"), 1);
  const std::string of_two = "  %m = reduce_max %x {axes = [1, 2], keep_dims = 1}\n  %d = sub %x, %m\n";
  EXPECT_EQ(PowersBelowTheGreatest("%x: f32[M, N, L]", of_two), 1);
}

TEST(Idioms, WhatIsAlmostBelowTheGreatestIsNot) {
  const std::string greatest = "  %m = reduce_max %x {axes = [1], keep_dims = 1}\n";
  const std::string below = "  %d = sub %x, %m\n";
  const auto of = [&](const std::string& op) { return "  %m = " + op + " %x {axes = [1], keep_dims = 1}\n"; };
  for (const char* op : {"reduce_min", "reduce_sum", "reduce_mean", "reduce_prod"}) {
    EXPECT_EQ(PowersBelowTheGreatest(kMatrix, of(op) + below), 0) << op;
  }
  // Another operand, of the difference or of the maximum.
  const std::string two = "%x: f32[M, N], %z: f32[M, N]";
  EXPECT_EQ(PowersBelowTheGreatest(two, greatest + "  %d = sub %z, %m\n"), 0);
  EXPECT_EQ(PowersBelowTheGreatest(two, greatest + "  %n = tanh %z\n  %d = sub %n, %m\n"), 0);
  EXPECT_EQ(
      PowersBelowTheGreatest(kMatrix, "  %a = abs %x\n  %m = reduce_max %a {axes = [1], keep_dims = 1}\n" + below), 0);
  EXPECT_EQ(PowersBelowTheGreatest(kMatrix, greatest + "  %h = tanh %x\n  %d = sub %h, %m\n"), 0);
  const std::string mirrored = "  %r = slice %x {starts = [0, N - 1], sizes = [M, N], steps = [1, -1]}\n";
  EXPECT_EQ(PowersBelowTheGreatest(kMatrix, greatest + mirrored + "  %d = sub %r, %m\n"), 0);
  // Other axes, whose results are memory.
  EXPECT_EQ(PowersBelowTheGreatest("%x: f32[N, N]", "  %m = reduce_max %x {axes = [1]}\n" + below), 0);
  EXPECT_EQ(PowersBelowTheGreatest("%x: f32[M, N], %m: f32[M, 1]", below), 0);
  // The other way round, more or less than the difference, and a greatest so far.
  EXPECT_EQ(PowersBelowTheGreatest(kMatrix, greatest + "  %d = sub %m, %x\n"), 0);
  EXPECT_EQ(PowersBelowTheGreatest(kMatrix, greatest + "  %d = add %x, %m\n"), 0);
  EXPECT_EQ(PowersBelowTheGreatest(kMatrix, greatest + "  %h = sub %x, %m\n  %d = neg %h\n"), 0);
  EXPECT_EQ(PowersBelowTheGreatest(kMatrix, greatest + "  %h = tanh %m\n  %d = sub %x, %h\n"), 0);
  EXPECT_EQ(PowersBelowTheGreatest(kMatrix, "  %m = scan %x {axis = 1, combiner = \"max\"}\n" + below), 0);
}

// Whether the emitted kernel of a graph takes ln2 from the operand of exp in two steps.
bool TakesTwoSteps(const std::string& text) {
  const KernelPlan plan = PlanOf(text);
  const TargetTraits traits = FindCpuTarget("x86-64-v4")->traits;
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  EXPECT_TRUE(cpu::EmitLoops(plan, cpu::ScheduleLoops(plan, traits), EmitTarget::Of(traits), "k", module).ok());
  std::string ir;
  llvm::raw_string_ostream stream(ir);
  module.print(stream, nullptr);
  EXPECT_NE(ir.find("exp.r"), std::string::npos);
  return ir.find("exp.r_hi") != std::string::npos;
}

TEST(Idioms, OnlyPowersOfRoundedDifferencesInF32TakeOneStep) {
  EXPECT_TRUE(TakesTwoSteps("graph @g(%x: f32[N]) { %y = exp %x\n return %y }"));
  for (const char* dtype : {"f32", "f64", "f16"}) {
    const std::string softmax = std::string("graph @g(%x: ") + dtype + R"([M, N]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %s
  return %y
})";
    EXPECT_EQ(TakesTwoSteps(softmax), dtype != std::string("f32")) << dtype;
  }
}

// A kernel of f32[N] inputs and one output, compiled for a CPU level; runs on 4096 elements.
class ElementKernel {
 public:
  static constexpr int64_t kElements = 4096;

  explicit ElementKernel(const std::string& text, const CpuTarget& target = *FindCpuTarget("x86-64-v4"))
      : plan_(PlanOf(text)) {
    const Schedule schedule = cpu::ScheduleLoops(plan_, target.traits);
    auto module = std::make_unique<llvm::Module>("kernel", context_);
    EXPECT_TRUE(cpu::EmitLoops(plan_, schedule, EmitTarget::Of(target.traits), "k", *module).ok());
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(module), target));
    const std::string entry = "k_v" + std::to_string(schedule.versions.size() - 1);
    auto image = LinkImage(std::move(objects), {entry});
    EXPECT_TRUE(image.ok()) << image.status();
    image_ = std::make_unique<CodeImage>(*image, target);
    run_ = image_->Find<Run>(entry);
  }

  void operator()(const std::vector<const float*>& inputs, float* output) const {
    std::vector<int64_t> args;
    for (const float* input : inputs) args.push_back(reinterpret_cast<int64_t>(input));
    args.insert(args.end(), {reinterpret_cast<int64_t>(output), kElements});
    run_(args.data(), 0, 1, 0);
  }

 private:
  using Run = void (*)(const int64_t*, int64_t, int64_t, int64_t);
  KernelPlan plan_;
  llvm::LLVMContext context_;
  std::unique_ptr<CodeImage> image_;
  Run run_ = nullptr;
};

// Every float with TAILOR_TEST_ALL, else every 64th, in blocks.
template <typename F>
void ForFloats(F f) {
  const uint64_t stride = std::getenv("TAILOR_TEST_ALL") != nullptr ? 1 : 64;
  std::vector<float> x(ElementKernel::kElements);
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += x.size() * stride) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i * stride));
    f(x);
  }
}

double LastPlace(double value) {
  return std::max(0x1p-149, std::ldexp(1.0, std::ilogb(static_cast<float>(value)) - 23));
}

// The levels that this machine runs, of those that recognize the idioms.
std::vector<CpuTarget> LevelsWithIdioms() {
  std::vector<CpuTarget> levels;
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    if (RunsOrSays(level)) levels.push_back(*FindCpuTarget(level));
  }
  return levels;
}

constexpr char kGeluErf[] = R"(
graph @g(%x: f32[N]) {
  %r = constant 0.70710677 : f32[]
  %half = constant 0.5 : f32[]
  %one = constant 1 : f32[]
  %s = mul %x, %r
  %e = erf %s
  %w = add %e, %one
  %h = mul %x, %half
  %y = mul %h, %w
  return %y
}
)";

constexpr char kGeluTanh[] = R"(
graph @g(%x: f32[N]) {
  %s = constant 0.7978846 : f32[]
  %c = constant 0.044715 : f32[]
  %half = constant 0.5 : f32[]
  %one = constant 1 : f32[]
  %x2 = mul %x, %x
  %x3 = mul %x2, %x
  %p = mul %x3, %c
  %q = add %x, %p
  %a = mul %q, %s
  %e = tanh %a
  %w = add %e, %one
  %h = mul %x, %half
  %y = mul %h, %w
  return %y
}
)";

// The greatest is 0, and what lies below it is exact: all that is off is ExpOfDifference.
TEST(Idioms, PowersBelowTheGreatestAreClose) {
  for (const CpuTarget& level : LevelsWithIdioms()) {
    const ElementKernel powers(R"(
graph @g(%x: f32[N]) {
  %m = reduce_max %x {axes = [0], keep_dims = 1}
  %d = sub %x, %m
  %y = exp %d
  return %y
}
)",
                               level);
    std::vector<float> y(ElementKernel::kElements);
    double worst = 0;
    ForFloats([&](std::vector<float> x) {
      for (float& element : x) element = std::isnan(element) ? -1.0f : -std::fabs(element);
      x[0] = 0;
      powers({x.data()}, y.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = std::exp(static_cast<double>(x[i]));
        if (std::isinf(x[i])) {
          ASSERT_EQ(y[i], 0);
          continue;
        }
        const double rounding = -0x1p-28 * static_cast<double>(x[i]) * want;
        worst = std::max(worst, (std::fabs(y[i] - want) - rounding) / LastPlace(want));
      }
    });
    std::printf("power below the greatest, %s: %.4f ulp beside |x| 2^-28\n", level.name.c_str(), worst);
    EXPECT_LE(worst, 1.1);
  }
}

// Compares a kernel with `reference`, x times the share of a distribution below x.
void ExpectGelu(const std::string& text, const CpuTarget& level, double (*reference)(double)) {
  const ElementKernel gelu(text, level);
  std::vector<float> y(ElementKernel::kElements);
  double worst_ulp = 0, worst_share = 0;
  ForFloats([&](const std::vector<float>& x) {
    gelu({x.data()}, y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) || x[i] == -std::numeric_limits<float>::infinity()) {
        ASSERT_TRUE(std::isnan(y[i])) << x[i];
      } else if (std::isinf(x[i])) {
        ASSERT_EQ(y[i], x[i]);
      } else if (x[i] != 0) {
        const double want = reference(x[i]), error = std::fabs(y[i] - want);
        worst_share = std::max(worst_share, (error - 0x1p-149) / std::fabs(x[i]));
        if (x[i] >= -1) worst_ulp = std::max(worst_ulp, error / LastPlace(want));
      } else {
        ASSERT_EQ(y[i], 0);
      }
    }
  });
  std::printf("gelu, %s: %.4f ulp from -1 on, elsewhere %.4f 2^-24 |x|\n", level.name.c_str(), worst_ulp,
              worst_share * 0x1p24);
  EXPECT_LE(worst_ulp, 2);
  EXPECT_LE(worst_share, 0x1p-23);
}

TEST(Idioms, GeluIsAsCloseAsItsFormulaAllows) {
  for (const CpuTarget& level : LevelsWithIdioms()) {
    ExpectGelu(kGeluErf, level, [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); });
  }
}

TEST(Idioms, GeluOfTanhIsAsCloseAsItsFormulaAllows) {
  for (const CpuTarget& level : LevelsWithIdioms()) {
    ExpectGelu(kGeluTanh, level, [](double x) {
      const double z = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
      return x < -1e9 ? 0 : x / (1 + std::exp(-2 * z));
    });
  }
}

// By the formulas it is -inf * 0, whether they are recognized or not.
TEST(Idioms, GeluOfMinusInfinityIsNaNOnEveryLevel) {
  for (const char* level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const CpuTarget target = *FindCpuTarget(level);
    if (!RunsOrSays(level)) continue;
    for (const char* text : {kGeluErf, kGeluTanh}) {
      std::vector<float> x(ElementKernel::kElements, -std::numeric_limits<float>::infinity()), y(x.size());
      x[1] = std::numeric_limits<float>::infinity();
      ElementKernel(text, target)({x.data()}, y.data());
      EXPECT_TRUE(std::isnan(y[0])) << level << text;
      EXPECT_EQ(y[1], x[1]) << level << text;
    }
  }
}

}  // namespace
}  // namespace tailor
