#include "tests/support/reference_evaluator.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
  auto product = [&](const std::string& attributes) {
    return Result(
        absl::StrCat("graph @g(%x: f32[A, B], %y: f32[C, D]) { %r = dot %x, %y ", attributes, "\n return %r }"),
        {2, 2, 2, 2}, {x, y});
  };
  EXPECT_EQ(product(""), "[2, 2] {19, 22, 43, 50}");
  EXPECT_EQ(product("{transpose_rhs = 1}"), "[2, 2] {17, 23, 39, 53}");
  EXPECT_EQ(product("{transpose_lhs = 1}"), "[2, 2] {26, 30, 38, 44}");
}

TEST(ReferenceEvaluator, RefusesShapesThatDisagree) {
  EXPECT_EQ(Result("graph @g(%x: f32[A], %y: f32[B]) { %s = add %x, %y\n return %s }", {2, 3},
                   {Numbers(kF32, {2}, {1, 2}), Numbers(kF32, {3}, {1, 2, 3})}),
            "INVALID_ARGUMENT: add %2: [2] does not broadcast with [3]");
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
