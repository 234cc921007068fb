#include "tests/support/reference_evaluator.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/support/reference_scalar.h"
#include "tests/support/reference_shapes.h"

namespace tailor::reference {
namespace {

std::string Text(const Array& array) {
  auto element = [](std::string* out, const Element& e) {
    absl::StrAppend(out, e.known() ? absl::StrCat(static_cast<double>(e.value)) : "?");
  };
  return absl::StrCat("[", absl::StrJoin(array.dims, ", "), "] {", absl::StrJoin(array.elements, ", ", element), "}");
}

Array Numbers(DType dtype, Dims dims, std::vector<long double> values) {
  Array array{dtype, std::move(dims), {}};
  for (long double value : values) array.elements.push_back({value});
  return array;
}

// The first output, or the error, or the first fault.
std::string Result(const std::string& text, const std::vector<int64_t>& symbols, const std::vector<Array>& inputs) {
  const auto graph = ParseGraph(text);
  if (!graph.ok()) return graph.status().ToString();
  const auto evaluation = Evaluate(*graph, symbols, inputs);
  if (!evaluation.ok()) return evaluation.status().ToString();
  const std::string faults = absl::StrJoin(evaluation->faults, "; ");
  return Text(evaluation->outputs[0]) + (faults.empty() ? "" : " fault " + faults);
}

constexpr DType kF32 = DType::kF32;

TEST(ReferenceEvaluator, BroadcastsAndReduces) {
  EXPECT_EQ(Result("graph @g(%x: f32[A, B], %y: f32[B]) { %s = add %x, %y\n"
                   "%r = reduce_sum %s {axes = [0], keep_dims = 1}\n return %r }",
                   {2, 3}, {Numbers(kF32, {2, 3}, {1, 2, 3, 4, 5, 6}), Numbers(kF32, {3}, {10, 20, 30})}),
            "[1, 3] {25, 47, 69}");
}

TEST(ReferenceEvaluator, EmptyReductionsGiveTheNeutralElement) {
  const Array empty = Numbers(kF32, {2, 0}, {});
  auto reduced = [&](const char* op) {
    return Result(absl::StrCat("graph @g(%x: f32[A, B]) { %r = ", op, " %x {axes = [1]}\n return %r }"), {2, 0},
                  {empty});
  };
  EXPECT_EQ(reduced("reduce_sum"), "[2] {0, 0}");
  EXPECT_EQ(reduced("reduce_max"), "[2] {-inf, -inf}");
  EXPECT_EQ(reduced("reduce_min"), "[2] {inf, inf}");
  EXPECT_EQ(reduced("reduce_mean"), "[2] {nan, nan}");
}

TEST(ReferenceEvaluator, MovesElements) {
  const Array x = Numbers(kF32, {2, 3}, {1, 2, 3, 4, 5, 6});
  auto moved = [&](const std::string& op) {
    return Result(absl::StrCat("graph @g(%x: f32[A, B]) { %r = ", op, "\n return %r }"), {2, 3}, {x});
  };
  EXPECT_EQ(moved("transpose %x {permutation = [1, 0]}"), "[3, 2] {1, 4, 2, 5, 3, 6}");
  EXPECT_EQ(moved("slice %x {starts = [0, B - 1], sizes = [A, 2], steps = [1, -2]}"), "[2, 2] {3, 1, 6, 4}");
  EXPECT_EQ(moved("concat %x, %x {axis = 1}"), "[2, 6] {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}");
  EXPECT_EQ(moved("reshape %x {shape = [B, A]}"), "[3, 2] {1, 2, 3, 4, 5, 6}");
  EXPECT_EQ(moved("iota {shape = [A, B], axis = 1, dtype = i32}"), "[2, 3] {0, 1, 2, 0, 1, 2}");
}

TEST(ReferenceEvaluator, GathersFromEitherEnd) {
  auto gathered = [&](std::vector<long double> indices) {
    return Result("graph @g(%x: f32[A, B], %i: i32[N]) { %r = gather %x, %i {axis = 1}\n return %r }", {2, 3, 2},
                  {Numbers(kF32, {2, 3}, {1, 2, 3, 4, 5, 6}), Numbers(DType::kI32, {2}, std::move(indices))});
  };
  EXPECT_EQ(gathered({0, -1}), "[2, 2] {1, 3, 4, 6}");
  EXPECT_EQ(gathered({0, 3}), "[2, 2] {1, ?, 4, ?} fault gather %2: index 3 of 3; gather %2: index 3 of 3");
}

TEST(ReferenceEvaluator, ScansEitherWay) {
  auto scanned = [&](const std::string& attributes) {
    return Result(absl::StrCat("graph @g(%x: f32[A, B]) { %r = scan %x {", attributes, "}\n return %r }"), {2, 3},
                  {Numbers(kF32, {2, 3}, {1, 2, 3, 4, 0.5, 6})});
  };
  EXPECT_EQ(scanned("axis = 1, combiner = \"add\""), "[2, 3] {1, 3, 6, 4, 4.5, 10.5}");
  EXPECT_EQ(scanned("axis = 0, combiner = \"mul\""), "[2, 3] {1, 2, 3, 4, 1, 18}");
  EXPECT_EQ(scanned("axis = 1, combiner = \"min\", reverse = 1"), "[2, 3] {1, 2, 3, 0.5, 0.5, 6}");
  EXPECT_EQ(scanned("axis = 1, combiner = \"max\", exclusive = 1"), "[2, 3] {-inf, 1, 2, -inf, 4, 4}");
  EXPECT_EQ(scanned("axis = 1, combiner = \"add\", exclusive = 1, reverse = 1"), "[2, 3] {5, 3, 0, 6.5, 6, 0}");
}

TEST(ReferenceEvaluator, ScattersInOrder) {
  auto scattered = [&](const std::string& combiner, std::vector<long double> indices) {
    return Result(
        absl::StrCat("graph @g(%x: f32[A], %i: i32[N, 1], %u: f32[N]) { %r = scatter %x, %i, %u {combiner = \"",
                     combiner, "\"}\n return %r }"),
        {3, 3},
        {Numbers(kF32, {3}, {1, 2, 3}), Numbers(DType::kI32, {3, 1}, std::move(indices)),
         Numbers(kF32, {3}, {10, 20, 30})});
  };
  EXPECT_EQ(scattered("set", {1, -1, 1}), "[3] {1, 30, 20}");
  EXPECT_EQ(scattered("add", {1, -1, 1}), "[3] {1, 42, 23}");
  EXPECT_EQ(scattered("min", {0, 0, 0}), "[3] {1, 2, 3}");
  EXPECT_EQ(scattered("set", {0, 1, 3}), "[3] {?, ?, ?} fault scatter %3: index 3 of 3");
}

TEST(ReferenceEvaluator, ReadsBytesAsAnotherType) {
  auto bits = [&](const char* type, const char* to, DType dtype, std::vector<long double> values) {
    return Result(absl::StrCat("graph @g(%x: ", type, "[A]) { %r = bitcast %x {dtype = ", to, "}\n return %r }"), {2},
                  {Numbers(dtype, {2}, std::move(values))});
  };
  EXPECT_EQ(bits("f32", "i32", kF32, {1, 0}), "[2] {1.06535e+09, ?}");
  EXPECT_EQ(bits("u16", "bf16", DType::kU16, {0x3f80, 0xbf80}), "[2] {1, -1}");
  EXPECT_EQ(bits("i8", "bool", DType::kI8, {-3, 0}), "[2] {1, 0}");
}

TEST(ReferenceEvaluator, MultipliesMatrices) {
  const Array x = Numbers(kF32, {2, 2}, {1, 2, 3, 4}), y = Numbers(kF32, {2, 2}, {5, 6, 7, 8});
  auto matmul = [&](const std::string& attributes) {
    return Result(
        absl::StrCat("graph @g(%x: f32[A, B], %y: f32[C, D]) { %r = dot %x, %y ", attributes, "\n return %r }"),
        {2, 2, 2, 2}, {x, y});
  };
  EXPECT_EQ(matmul(""), "[2, 2] {19, 22, 43, 50}");
  EXPECT_EQ(matmul("{transpose_rhs = 1}"), "[2, 2] {17, 23, 39, 53}");
  EXPECT_EQ(matmul("{transpose_lhs = 1}"), "[2, 2] {26, 30, 38, 44}");
}

// Two equal powers and values of 1e38: the shares' matmul is far from overflow, the undivided sum is not.
TEST(ReferenceEvaluator, SharesMayBeDividedAfterTheirMatmul) {
  const auto graph = ParseGraph(R"(
graph @g(%e: f32[1, K], %v: f32[K, 1]) {
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %w = div %e, %s
  %y = dot %w, %v
  %z = dot %e, %v
  return %y, %z
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto known = [&](long double e, long double v) {
    std::vector<bool> out;
    const Array powers = Numbers(kF32, {1, 2}, {e, e}), values = Numbers(kF32, {2, 1}, {v, -v});
    const auto evaluated = Evaluate(*graph, {2}, {powers, values});
    for (const Array& output : evaluated->outputs) out.push_back(output.elements[0].known());
    return out;
  };
  EXPECT_EQ(known(0.4L, 1e38L), (std::vector<bool>{false, true}));
  EXPECT_EQ(known(0.4L, 4e37L), (std::vector<bool>{true, true}));
}

TEST(ReferenceEvaluator, SubnormalFactorsMayCountAsZeroInBF16) {
  const auto matmul = [](DType dtype, long double x, long double y) {
    const auto graph = ParseGraph(absl::StrCat("graph @g(%x: ", NameOf(dtype), "[1, 1], %y: ", NameOf(dtype),
                                               "[1, 1]) { %r = dot %x, %y\n return %r }"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    return Evaluate(*graph, {}, {Numbers(dtype, {1, 1}, {x}), Numbers(dtype, {1, 1}, {y})})->outputs[0].elements[0];
  };
  for (DType dtype : {kF32, DType::kBF16}) {
    const FloatFormat format = FormatOf(dtype);
    EXPECT_EQ(matmul(dtype, format.LeastSubnormal(), INFINITY).known(), dtype == kF32);
    EXPECT_EQ(matmul(dtype, format.LeastNormal(), INFINITY).value, INFINITY);
    const Element small = matmul(dtype, format.LeastSubnormal(), 1024);
    EXPECT_EQ(small.value, 1024 * format.LeastSubnormal());
    EXPECT_EQ(small.error >= small.value, dtype == DType::kBF16);
  }
}

TEST(ReferenceEvaluator, RefusesShapesThatDisagree) {
  EXPECT_EQ(Result("graph @g(%x: f32[A], %y: f32[B]) { %s = add %x, %y\n return %s }", {2, 3},
                   {Numbers(kF32, {2}, {1, 2}), Numbers(kF32, {3}, {1, 2, 3})}),
            "INVALID_ARGUMENT: add %2: [2] does not broadcast with [3]");
}

Array Scalar(long double value) { return Numbers(DType::kI64, {}, {value}); }

TEST(ReferenceEvaluator, ALoopRunsAsLongAsItsConditionHolds) {
  auto counted = [](int64_t count) {
    return Result(R"(
graph @g(%x: f32[A], %n: i64[]) {
  %y, %left = while(%x, %n) {
    region(%a: f32[N], %i: i64[]) { %zero = constant 0 : i64[]
      %go = gt %i, %zero
      return %go }
    region(%a: f32[2*N + 1], %i: i64[]) { %one = constant 1 : i64[]
      %p = iota {shape = [2*N + 1], axis = 0, dtype = f32}
      %b = add %a, %p
      %j = sub %i, %one
      return %b, %j }
  }
  return %y
})",
                  {3}, {Numbers(kF32, {3}, {10, 20, 30}), Scalar(count)});
  };
  EXPECT_EQ(counted(0), "[3] {10, 20, 30}");
  EXPECT_EQ(counted(3), "[3] {10, 23, 36}");
}

constexpr char kDoubling[] = R"(
graph @g(%x: i32[A], %n: i64[]) where A, R in [0, 16] {
  %y, %left = while(%x, %n) {shapes = [R]} {
    region(%a: i32[N], %i: i64[]) { %zero = constant 0 : i64[]
      %go = gt %i, %zero
      return %go }
    region(%a: i32[N], %i: i64[]) { %one = constant 1 : i64[]
      %b = concat %a, %a {axis = 0}
      %j = sub %i, %one
      return %b, %j }
  }
  %p = iota {shape = [R], axis = 0, dtype = i32}
  %z = mul %y, %p
  return %z
})";

TEST(ReferenceEvaluator, ALoopMayChangeDimSizes) {
  auto doubled = [](int64_t dim_size, int64_t times) {
    return Result(kDoubling, {dim_size, kUnbound},
                  {Numbers(DType::kI32, {dim_size}, std::vector<long double>(dim_size, 1)), Scalar(times)});
  };
  EXPECT_EQ(doubled(2, 0), "[2] {0, 1}");
  EXPECT_EQ(doubled(1, 2), "[4] {0, 1, 2, 3}");
  EXPECT_EQ(doubled(0, 5), "[0] {}");
  EXPECT_EQ(doubled(3, 3), "INVALID_ARGUMENT: while %2: R is 24");
}

TEST(ReferenceEvaluator, ALoopWithoutEndIsAnError) {
  EXPECT_EQ(Result(R"(
graph @g(%x: i64[]) {
  %y = while(%x) {
    region(%a: i64[]) { %go = constant true : bool[]
      return %go }
    region(%a: i64[]) { return %a }
  }
  return %y
})",
                   {}, {Scalar(0)}),
            "INTERNAL: while %1: no end after 10000 iterations");
}

TEST(ReferenceEvaluator, ALoopThatGrowsBeyondMeasureIsAnError) {
  EXPECT_EQ(Result(absl::StrReplaceAll(kDoubling, {{"R in [0, 16]", "R"}}), {3, kUnbound},
                   {Numbers(DType::kI32, {3}, {1, 1, 1}), Scalar(40)}),
            "RESOURCE_EXHAUSTED: while %2: concat %3: too much work");
}

TEST(ReferenceEvaluator, BranchesMayDifferInDimSizes) {
  auto chosen = [](bool then, int64_t dim_size) {
    return Result(R"(
graph @g(%c: bool[], %x: i32[A]) where A, R {
  %r#0, %r#1 = if(%c, %x) {shapes = [R, A]} {
    region(%a: i32[N]) { %b = concat %a, %a {axis = 0}
      return %b, "same" = %a }
    region(%a: i32[N + 1]) { %b = slice %a {starts = [1], sizes = [N]}
      %n = neg %a
      return %b, "same" = %n }
  }
  %total = reduce_sum %r#0 {axes = [0]}
  %s = add %r#1, %total
  return %r#0, "s" = %s
})",
                  {dim_size, kUnbound},
                  {Numbers(DType::kBool, {}, {static_cast<long double>(then)}),
                   Numbers(DType::kI32, {dim_size}, std::vector<long double>(dim_size, 7))});
  };
  EXPECT_EQ(chosen(true, 2), "[4] {7, 7, 7, 7}");
  EXPECT_EQ(chosen(false, 2), "[1] {7}");
  EXPECT_EQ(chosen(true, 0), "[0] {}");
  EXPECT_EQ(chosen(false, 0), "INVALID_ARGUMENT: if %2: input \"a\" dim 0 is 0, not N + 1");
}

TEST(ReferenceEvaluator, RegionsNest) {
  // n times: doubled while below 100, else halved.
  auto nested = [](int64_t x, int64_t n) {
    return Result(R"(
graph @g(%x: i64[], %n: i64[]) {
  %y, %left = while(%x, %n) {
    region(%a: i64[], %i: i64[]) { %zero = constant 0 : i64[]
      %go = gt %i, %zero
      return %go }
    region(%a: i64[], %i: i64[]) { %one = constant 1 : i64[]
      %hundred = constant 100 : i64[]
      %small = lt %a, %hundred
      %b = if(%small, %a) {
        region(%v: i64[]) {
          %w = while(%v) {
            region(%u: i64[]) { %bound = constant 100 : i64[]
              %go = lt %u, %bound
              return %go }
            region(%u: i64[]) { %t = add %u, %u
              return %t }
          }
          return %w }
        region(%v: i64[]) { %two = constant 2 : i64[]
          %h = div %v, %two
          return %h }
      }
      %j = sub %i, %one
      return %b, %j }
  }
  return %y
})",
                  {}, {Scalar(x), Scalar(n)});
  };
  EXPECT_EQ(nested(3, 1), "[] {192}");
  EXPECT_EQ(nested(3, 2), "[] {96}");
  EXPECT_EQ(nested(3, 3), "[] {192}");
}

TEST(ReferenceEvaluator, ABindGivesASymbolItsValue) {
  auto bound = [](const char* range, int64_t count) {
    return Result(absl::StrCat("graph @g(%x: i32[A], %n: i64[]) where A, N", range, R"( {
  %k = bind %n {extent = [N]}
  %s = slice %x {starts = [1], sizes = [N]}
  %p = iota {shape = [N], axis = 0, dtype = i32}
  %r = add %s, %p
  return %r
})"),
                  {4, kUnbound}, {Numbers(DType::kI32, {4}, {10, 20, 30, 40}), Scalar(count)});
  };
  EXPECT_EQ(bound("", 3), "[3] {20, 31, 42}");
  EXPECT_EQ(bound("", 0), "[0] {}");
  EXPECT_EQ(bound("", 4), "INVALID_ARGUMENT: bind %2: slice %3: slice reads 1 to 4 of 4");
  EXPECT_EQ(bound("", -1), "INVALID_ARGUMENT: bind %2: N is -1");
  EXPECT_EQ(bound(" in [2, 3]", 1), "INVALID_ARGUMENT: bind %2: N is 1");
  EXPECT_EQ(bound(" multiple_of 2", 3), "INVALID_ARGUMENT: bind %2: N is 3");
  EXPECT_EQ(bound(" multiple_of 2", 2), "[2] {20, 31}");
}

TEST(ReferenceEvaluator, WhatNoOutputNeedsMayBeRefused) {
  auto bound = [](int64_t count) {
    return Result(R"(
graph @g(%n: i64[]) where N {
  %k = bind %n {extent = [N]}
  return %n
})",
                  {kUnbound}, {Scalar(count)});
  };
  EXPECT_EQ(bound(3), "[] {3}");
  EXPECT_EQ(bound(-3), "FAILED_PRECONDITION: bind %1: N is -3");
}

TEST(ReferenceEvaluator, OnlyTheIotaNeedsTheBind) {
  EXPECT_EQ(Result(R"(
graph @g(%x: i32[A]) where A, N {
  %one = constant 1 : i64[]
  %n = cast %x {dtype = i64}
  %total = reduce_sum %n {axes = [0]}
  %k = bind %total {extent = [N]}
  %p = iota {shape = [N + 1], axis = 0, dtype = i32}
  return %p
})",
                   {2, kUnbound}, {Numbers(DType::kI32, {2}, {1, 1})}),
            "[3] {0, 1, 2}");
}

TEST(ReferenceEvaluator, AnUnknownElementDecidesNothing) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[]) {
  %e = exp %x
  %one = constant 1 : f32[]
  %c = gt %e, %one
  %y = if(%c, %x) {
    region(%a: f32[]) { return %a }
    region(%a: f32[]) { %n = neg %a
      return %n }
  }
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto evaluated = [&](long double x) { return Evaluate(*graph, {}, {Numbers(kF32, {}, {x})}); };
  EXPECT_EQ(evaluated(1)->undecided, "");
  EXPECT_EQ(evaluated(1)->outputs.size(), 1u);
  EXPECT_EQ(evaluated(1e-9L)->undecided, "if %4 depends on an unknown element");
  EXPECT_EQ(evaluated(1e-9L)->outputs.size(), 0u);
}

TEST(ReferenceScalar, IntegersWrapAndNeverTrap) {
  auto apply = [](OpKind op, DType dtype, long double x, long double y) {
    return static_cast<double>(Apply(op, dtype, {{x}, {y}}).value);
  };
  EXPECT_EQ(apply(OpKind::kAdd, DType::kI8, 127, 1), -128);
  EXPECT_EQ(apply(OpKind::kSub, DType::kU8, 0, 1), 255);
  EXPECT_EQ(apply(OpKind::kMul, DType::kI32, 65536, 65536), 0);
  EXPECT_EQ(apply(OpKind::kDiv, DType::kI32, 7, 0), 0);
  EXPECT_EQ(apply(OpKind::kDiv, DType::kI32, -7, 2), -3);
  EXPECT_EQ(apply(OpKind::kDiv, DType::kI64, -0x1p63L, -1), -0x1p63);
  EXPECT_EQ(apply(OpKind::kXor, DType::kI8, -1, 1), -2);
}

TEST(ReferenceScalar, MaxPropagatesNaN) {
  EXPECT_TRUE(std::isnan(Apply(OpKind::kMax, kF32, {{1}, {NAN}}).value));
  EXPECT_TRUE(std::isnan(Apply(OpKind::kMin, kF32, {{NAN}, {1}}).value));
  EXPECT_EQ(Apply(OpKind::kMin, kF32, {{2}, {1}}).value, 1);
}

TEST(ReferenceScalar, CastsSaturateAndRoundOnce) {
  auto cast = [](DType from, DType to, long double x) { return static_cast<double>(Cast(from, to, {x}).value); };
  EXPECT_EQ(cast(kF32, DType::kI8, 300), 127);
  EXPECT_EQ(cast(kF32, DType::kU8, -1), 0);
  EXPECT_EQ(cast(kF32, DType::kI32, NAN), 0);
  EXPECT_EQ(cast(kF32, DType::kI32, -2.75), -2);
  EXPECT_EQ(cast(DType::kI32, DType::kI8, 200), -56);
  EXPECT_EQ(cast(kF32, DType::kBool, NAN), 1);
  EXPECT_EQ(cast(kF32, DType::kF16, 2049), 2048);  // a tie goes to the even one
  EXPECT_EQ(cast(kF32, DType::kF16, 65520), INFINITY);
  EXPECT_EQ(cast(DType::kF64, DType::kBF16, 1 + 0x1p-8 + 0x1p-40), 1.0078125);
}

TEST(ReferenceScalar, WhatErrorsHideIsUnknown) {
  const Element near_one = {1, 1e-6L};
  EXPECT_FALSE(Apply(OpKind::kLt, kF32, {near_one, {1}}).known());
  EXPECT_EQ(Apply(OpKind::kLt, kF32, {near_one, {2}}).value, 1);
  EXPECT_FALSE(Cast(kF32, DType::kI32, near_one).known());
  EXPECT_FALSE(Apply(OpKind::kDiv, kF32, {{1}, {0, 1e-6L}}).known());
  EXPECT_NEAR(Apply(OpKind::kExp, kF32, {near_one}).error, 2.7e-6, 1e-6);
  const Element either = Apply(OpKind::kSelect, kF32, {Unknown(), {3}, {4}});
  EXPECT_EQ(either.value, 3);
  EXPECT_EQ(either.error, 1);
}

TEST(ReferenceArray, BytesRoundTrip) {
  for (DType dtype : {DType::kF16, DType::kBF16, kF32, DType::kF64}) {
    const FloatFormat f = FormatOf(dtype);
    const Array x = Numbers(dtype, {7}, {0, -0.0L, 1.5, -f.Largest(), f.LeastNormal(), f.LeastSubnormal(), INFINITY});
    const Array y = FromBytes(dtype, x.dims, ToBytes(x).data());
    for (size_t i = 0; i < x.elements.size(); ++i) {
      EXPECT_EQ(x.elements[i].value, y.elements[i].value) << NameOf(dtype);
      EXPECT_EQ(std::signbit(x.elements[i].value), std::signbit(y.elements[i].value)) << NameOf(dtype);
    }
  }
  const float value = 0.1f;
  EXPECT_EQ(FromBytes(kF32, {}, &value).elements[0].value, 0.1f);
  const int16_t integer = -300;
  EXPECT_EQ(FromBytes(DType::kI16, {}, &integer).elements[0].value, -300);
}

}  // namespace
}  // namespace tailor::reference
