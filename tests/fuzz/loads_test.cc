// Loops whose lanes load elements that are not adjacent: along another axis, strided, or one element if a dim size
// is 1. At dim sizes around multiples of vectors, squares and tasks.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/fuzz/expect_right.h"

namespace tailor {
namespace {

TEST(Transpositions, OfAllTypes) {
  for (const char* dtype : {"f32", "f16", "bf16", "f64", "i64", "i32", "u8", "bool"}) {
    ExpectRight(
        absl::StrCat("graph @g(%x: ", dtype, "[R, C]) {\n  %y = transpose %x {permutation = [1, 0]}\n  return %y\n}"));
  }
}

TEST(Transpositions, OfSomeDims) {
  for (const char* perm : {"[0, 2, 1]", "[2, 1, 0]", "[2, 0, 1]", "[1, 2, 0]"}) {
    ExpectRight(
        absl::StrCat("graph @g(%x: f32[B, R, C]) {\n  %y = transpose %x {permutation = ", perm, "}\n  return %y\n}"));
  }
}

TEST(Transpositions, OfShortRows) {
  for (const char* dims : {"[R, 3]", "[R, 4]", "[3, C]", "[2, C]", "[R, 17]", "[70, C]"}) {
    ExpectRight(
        absl::StrCat("graph @g(%x: f32", dims, ") {\n  %y = transpose %x {permutation = [1, 0]}\n  return %y\n}"));
  }
}

TEST(Transpositions, ComputeOnTheWay) {
  ExpectRight(R"(
graph @g(%x: f32[R, C], %bias: f32[R], %scale: f32[C, 1], %z: f32[R, C], %w: f32[C, R]) {
  %t = transpose %x {permutation = [1, 0]}
  %u = transpose %z {permutation = [1, 0]}
  %a = add %t, %bias
  %b = mul %a, %scale
  %c = sub %b, %u
  %e = tanh %c
  %y = add %e, %w
  return %y
})");
}

TEST(Transpositions, WriteSeveralOutputs) {
  ExpectRight(R"(
graph @g(%x: f32[R, C]) {
  %t = transpose %x {permutation = [1, 0]}
  %y = neg %t
  %z = mul %t, %t
  return %y, %z
})");
}

TEST(Transpositions, BesideWhatMayBroadcast) {
  ExpectRight(R"(
graph @g(%x: f32[R, C], %w: f32[P, Q]) {
  %t = transpose %x {permutation = [1, 0]}
  %y = add %t, %w
  return %y
})");
}

TEST(Transpositions, ReadPartsOfRows) {
  ExpectRight(R"(
graph @g(%x: f32[R, 3*C + 50]) {
  %s = slice %x {starts = [0, 40], sizes = [R, C + 1], steps = [1, 1]}
  %v = constant 7 : f32[]
  %p = pad %s, %v {low = [1, 2], high = [2, 20]}
  %y = transpose %p {permutation = [1, 0]}
  return %y
})");
}

TEST(Transpositions, ReadRowsByIndex) {
  ExpectRight(R"(
graph @g(%x: f32[R, C], %i: i64[N]) {
  %g = gather %x, %i {axis = 0}
  %y = transpose %g {permutation = [1, 0]}
  return %y
})");
}

// Heads of a merged projection, the keys transposed: what attention packs.
TEST(Transpositions, OfHeads) {
  ExpectRight(R"(
graph @g(%x: f32[B, S, 72]) {
  %s = slice %x {starts = [0, 0, 24], sizes = [B, S, 24], steps = [1, 1, 1]}
  %h = reshape %s {shape = [B, S, 4, 6]}
  %y = transpose %h {permutation = [0, 2, 3, 1]}
  return %y
})");
}

std::string Slice(const std::string& dtype, int64_t step, int64_t start) {
  const std::string steps =
      step < 0 ? absl::StrCat("[", -step, "*C + ", start, "]") : absl::StrCat("[", step, "*C + ", start, "]");
  const std::string first = step < 0 ? absl::StrCat(-step, "*C - 1") : absl::StrCat(start);
  return absl::StrCat("graph @g(%x: ", dtype, steps, ") {\n  %y = slice %x {starts = [", first,
                      "], sizes = [C], steps = [", step, "]}\n  return %y\n}");
}

TEST(SteppedLoads, OfAllTypes) {
  for (const char* dtype : {"f32", "f16", "f64", "i64", "u8", "bool"}) ExpectRight(Slice(dtype, 2, 0));
}

TEST(SteppedLoads, OfAnyStep) {
  for (int64_t step : {2, 3, 4, 5, -1, -2, -3}) ExpectRight(Slice("f32", step, step == 3 ? 1 : 0));
}

// The masked element of the padded part and the window's read the same expression, which is within its dim in one of
// them alone.
TEST(ReshapedLoads, BesideAPaddedOne) {
  ExpectRight(R"(
graph @g(%u: f32[6, 5], %w: f32[6, 8]) {
  %ut = transpose %u {permutation = [1, 0]}
  %ur = reshape %ut {shape = [15, 2]}
  %z = constant 0 : f32[]
  %p = pad %ur, %z {low = [0, 0], high = [0, 1]}
  %wt = slice %w {starts = [0, 0], sizes = [6, 6], steps = [1, 1]}
  %wr = reshape %wt {shape = [36]}
  %ww = window %wr {axes = [0], sizes = [3], strides = [2]}
  %ws = slice %ww {starts = [0, 0], sizes = [15, 3], steps = [1, 1]}
  %y = add %p, %ws
  return %y
})");
}

// The last lane's element is the tensor's last.
TEST(SteppedLoads, EndWithTheTensor) {
  ExpectRight(R"(
graph @g(%x: f32[R, 3*C - 2]) where C in [1, 300] {
  %y = slice %x {starts = [0, 0], sizes = [R, C], steps = [1, 3]}
  return %y
})");
}

TEST(SteppedLoads, OfPaddedWindows) {
  ExpectRight(R"(
graph @g(%x: f32[B, H, W]) {
  %v = constant -3 : f32[]
  %p = pad %x, %v {low = [0, 1, 1], high = [0, 2, 2]}
  %w = window %p {axes = [1, 2], sizes = [3, 3], strides = [2, 2]}
  %y = reduce_max %w {axes = [3, 4]}
  return %y
})");
}

TEST(SteppedLoads, AreComputedWith) {
  ExpectRight(R"(
graph @g(%x: f32[R, 2*C], %b: f32[P, Q]) {
  %even = slice %x {starts = [0, 0], sizes = [R, C], steps = [1, 2]}
  %odd = slice %x {starts = [0, 1], sizes = [R, C], steps = [1, 2]}
  %d = sub %odd, %even
  %y = mul %d, %b
  return %y
})");
}

TEST(WrappedLoads, OfRepeatedRows) {
  for (const char* dtype : {"f32", "f16", "f64", "bool"}) {
    for (const char* columns : {"C", "3", "16", "37"}) {
      ExpectRight(absl::StrCat("graph @g(%x: ", dtype, "[R, ", columns, "]) {\n  %v = reshape %x {shape = [1, R, 1, ",
                               columns, "]}\n  %b = broadcast %v {shape = [3, R, 5, ", columns,
                               "]}\n  %y = reshape %b {shape = [3*R, 5*", columns, "]}\n  return %y\n}"));
    }
  }
}

std::string Repeated(const std::string& dtype, int64_t times) {
  const std::string count = absl::StrCat(times);
  return absl::StrCat("graph @g(%x: ", dtype, "[R, C]) {\n  %v = reshape %x {shape = [R, 1, C, 1]}\n",
                      "  %b = broadcast %v {shape = [R, 2, C, ", count, "]}\n  %y = reshape %b {shape = [2*R, ", count,
                      "*C]}\n  return %y\n}");
}

TEST(RepeatedLoads, OfAllTypes) {
  for (const char* dtype : {"f32", "f16", "f64", "i64", "u8", "bool"}) ExpectRight(Repeated(dtype, 2));
}

TEST(RepeatedLoads, AnyNumberOfTimes) {
  for (int64_t times : {3, 4, 5, 8, 16, 17, 32}) ExpectRight(Repeated("f32", times));
}

// Vectors begin in the middle of an element's repetitions.
TEST(RepeatedLoads, OfPartsOfRows) {
  ExpectRight(R"(
graph @g(%x: f32[R, C], %z: f32[P, Q]) where C in [2, 200] {
  %v = reshape %x {shape = [R, C, 1]}
  %b = broadcast %v {shape = [R, C, 4]}
  %r = reshape %b {shape = [R, 4*C]}
  %s = slice %r {starts = [0, 3], sizes = [R, 4*C - 5], steps = [1, 1]}
  %y = mul %s, %z
  return %y
})");
}

// An enlarged image, padded: in loops, and before windows, whose columns begin anywhere in the padding.
TEST(RepeatedLoads, WithinPadding) {
  for (const char* dtype : {"f32", "i32", "f16"}) {
    for (int64_t times : {2, 3, 8, 9}) {
      if (dtype != std::string("f32") && times != 3) continue;
      for (const char* end : {"",
                              "  %w = window %q {axes = [1], sizes = [3], strides = [1]}\n"
                              "  %y = reduce_max %w {axes = [2]}\n"}) {
        ExpectRight(absl::Substitute(R"(
graph @g(%x: $0[R, C], %z: $0[$2*R, $1*C]) where R in [1, 9], C in [1, 90] {
  %v = reshape %x {shape = [R, 1, C, 1]}
  %b = broadcast %v {shape = [R, $2, C, $1]}
  %r = reshape %b {shape = [$2*R, $1*C]}
  %a = add %r, %z
  %zero = constant 0 : $0[]
  %p = pad %a, %zero {low = [1, 5], high = [2, 20]}
  %q = reshape %p {shape = [$2*R + 3, $1*C + 25]}
$3  return $4
})",
                                     dtype, times, times % 2 + 1, end, *end == 0 ? "%q" : "%y"));
      }
    }
  }
}

// Elements of `rows` rows by turns, from `start` on.
std::string Interleaved(const std::string& dtype, int64_t rows, int64_t start) {
  return absl::Substitute(R"(
graph @g(%x: $0[R, 2, $1, C]) where C in [3, 200] {
  %t = transpose %x {permutation = [0, 1, 3, 2]}
  %r = reshape %t {shape = [R, 2, $1*C]}
  %y = slice %r {starts = [0, 0, $2], sizes = [R, 2, $1*C - $2]}
  return %y
})",
                          dtype, rows, start);
}

TEST(InterleavedLoads, OfAllTypes) {
  for (const char* dtype : {"f32", "f16", "f64", "i64", "u8", "bool"}) ExpectRight(Interleaved(dtype, 2, 0));
}

TEST(InterleavedLoads, OfAnyNumberOfRows) {
  for (int64_t rows : {2, 3, 4, 5, 7, 8, 9, 16}) ExpectRight(Interleaved("f32", rows, rows % 3));
}

TEST(InterleavedLoads, OfImages) {
  ExpectRight(R"(
graph @g(%x: f32[B, 12, H, W], %b: f32[3, 1, 1]) {
  %r = reshape %x {shape = [B, 3, 2, 2, H, W]}
  %t = transpose %r {permutation = [0, 1, 4, 2, 5, 3]}
  %i = reshape %t {shape = [B, 3, 2*H, 2*W]}
  %y = mul %i, %b
  return %y
})");
}

// The rows are of the one or the other tensor.
TEST(InterleavedLoads, OfConcatenatedTensors) {
  ExpectRight(R"(
graph @g(%x: f32[B, 3, 2, H, W], %z: f32[B, 1, 2, H, W]) {
  %c = concat %x, %z {axis = 1}
  %t = transpose %c {permutation = [0, 3, 1, 4, 2]}
  %i = reshape %t {shape = [B, 4*H, 2*W]}
  %y = abs %i
  return %y
})");
}

// A vector begins before the rows.
std::string InterleavedBehind(const std::string& what, const std::string& dtype, int64_t rows) {
  return absl::Substitute(R"(
graph @g(%x: $0[R, $1, C]) where C in [5, 200] {
  %t = transpose %x {permutation = [0, 2, 1]}
  %r = reshape %t {shape = [R, $1*C]}
  %z = constant 1 : $0[]
  %y = $2
  return %y
})",
                          dtype, rows, what);
}

constexpr char kPadded[] = "pad %r, %z {low = [0, 1], high = [0, 2]}", kTwice[] = "concat %r, %r {axis = 1}",
               kPaddedOnAllSides[] = "pad %r, %z {low = [1, 3], high = [2, 1]}";

TEST(InterleavedLoads, BeginBeforeTheRows) {
  for (int64_t rows : {2, 3, 4, 5, 6, 7, 8}) {
    for (const char* what : {kPadded, kTwice, kPaddedOnAllSides}) ExpectRight(InterleavedBehind(what, "f32", rows));
  }
}

TEST(InterleavedLoads, OfAllTypesBeginBeforeTheRows) {
  for (const char* dtype : {"f16", "bf16", "f64", "i64", "u8"}) ExpectRight(InterleavedBehind(kTwice, dtype, 3));
}

// Rows of one source each, and of several. What the parts are read for decides which axis is that of lanes, tasks or
// sums.
TEST(ConcatenatedLoads, AlongAnyAxis) {
  const std::string parts[] = {"[A, M, D], %b: f32[B, M, D], %c: f32[C, M, D]",
                               "[N, A, D], %b: f32[N, B, D], %c: f32[N, C, D]",
                               "[N, M, A], %b: f32[N, M, B], %c: f32[N, M, C]"};
  const auto expect_right = [&](int axis, const char* use) {
    ExpectRight(absl::StrCat("graph @g(%a: f32", parts[axis], ") where A in [0, 40], B in [0, 40], C in [0, 40] {\n",
                             "  %z = concat %a, %b, %c {axis = ", axis, "}\n", use, "  return %y\n}"));
  };
  expect_right(0, "  %y = mul %z, %z\n");
  expect_right(0, "  %y = reduce_max %z {axes = [0]}\n");
  expect_right(1, "  %y = reduce_sum %z {axes = [1]}\n");
  expect_right(1, "  %y = reduce_sum %z {axes = [2]}\n");
  expect_right(2, "  %m = reduce_max %z {axes = [2], keep_dims = 1}\n  %y = sub %z, %m\n");
}

TEST(ConcatenatedLoads, OfSeveralTypes) {
  for (const char* dtype : {"bf16", "i64", "bool"}) {
    ExpectRight(absl::StrReplaceAll(R"(
graph @g(%a: T[N, A, D], %b: T[N, B, D]) {
  %y = concat %a, %b {axis = 1}
  return %y
})",
                                    {{"T[", absl::StrCat(dtype, "[")}}));
  }
}

// Along the lanes, parts of whole vectors and others, at the ends of rows and between them.
TEST(ConcatenatedLoads, OfChannels) {
  for (const char* dtype : {"f32", "i8"}) {
    for (const char* widths : {"32, 64, 16, 64", "64, 5, 59, 192", "16, 32, 8, 7", "64, 64, 64, 1024"}) {
      const std::vector<std::string> w = absl::StrSplit(widths, ", ");
      const auto expect_right = [&](const char* use) {
        ExpectRight(absl::Substitute(R"(
graph @g(%a: $0[N, H, $1], %b: $0[N, H, $2], %c: $0[N, H, $3], %d: $0[N, H, $4]) {
  %z = concat %a, %b, %c, %d {axis = 2}
$5  return %y
})",
                                     dtype, w[0], w[1], w[2], w[3], use));
      };
      expect_right("  %y = max %z, %z\n");
      expect_right("  %y = reduce_max %z {axes = [1]}\n");
      expect_right("  %y = reduce_max %z {axes = [2]}\n");
      expect_right("  %n = neg %z\n  %y = concat %n, %b, %z {axis = 2}\n");
    }
  }
}

// Concats of concats, and parts that are gathered, computed, broadcast or transposed.
TEST(ConcatenatedLoads, OfWhatIsReadOtherwise) {
  ExpectRight(R"(
graph @g(%a: f32[P, D], %i: i64[A], %b: f32[B, D], %c: f32[C, 1], %e: f32[D, E]) {
  %g = gather %a, %i {axis = 0}
  %n = neg %b
  %w = broadcast %c {shape = [C, D]}
  %t = transpose %e {permutation = [1, 0]}
  %x = concat %g, %b {axis = 0}
  %z = concat %x, %n, %w, %t {axis = 0}
  %y = mul %z, %z
  return %y, %x
})");
}

TEST(PaddedLoads, OfAnyWindow) {
  for (const char* window : {"sizes = [2, 2], strides = [1, 1]", "sizes = [3, 5], strides = [1, 3]",
                             "sizes = [4, 6], strides = [2, 4]", "sizes = [1, 3], strides = [1, 1]"}) {
    ExpectRight(absl::StrCat(R"(
graph @g(%x: f32[B, H, W]) where H in [1, 40], W in [1, 90] {
  %v = constant 2 : f32[]
  %p = pad %x, %v {low = [0, 2, 3], high = [0, 3, 4]}
  %w = window %p {axes = [1, 2], )",
                             window, R"(}
  %y = reduce_max %w {axes = [3, 4]}
  return %y
})"));
  }
}

// A vector is two registers, and no lane of the second one is in the image.
TEST(PaddedLoads, OfWideElementsOfNarrowImages) {
  for (const char* dtype : {"f64", "i64"}) {
    ExpectRight(absl::StrCat("graph @g(%i: ", dtype, R"([N, 4, 8, 4], %w: f32[24, 4, 3, 2]) where N in [1, 4] {
  %x = cast %i {dtype = f32}
  %z = constant 0 : f32[]
  %p = pad %x, %z {low = [0, 0, 3, 0], high = [0, 0, 0, 1]}
  %c = window %p {axes = [2, 3], sizes = [3, 2]}
  %t = transpose %c {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [N, 1, 24, 36]}
  %v = reshape %w {shape = [1, 24, 24]}
  %d = dot %r, %v {transpose_lhs = 1, transpose_rhs = 1}
  %y = transpose %d {permutation = [0, 1, 3, 2]}
  return %y
})"));
  }
}

// The padding comes first where rows are read backwards.
TEST(PaddedLoads, OfRowsBackwards) {
  ExpectRight(R"(
graph @g(%x: f32[R, C]) {
  %v = constant 2 : f32[]
  %p = pad %x, %v {low = [1, 5], high = [0, 20]}
  %y = slice %p {starts = [0, C + 24], sizes = [R + 1, C + 25], steps = [1, -1]}
  return %y
})");
}

TEST(BroadcastLoads, OfAllTypes) {
  for (const char* dtype : {"f32", "f16", "f64", "i32", "u8"}) {
    ExpectRight(absl::StrCat("graph @g(%x: ", dtype, "[B, R, C], %b: ", dtype,
                             "[D, P, Q]) {\n  %y = add %x, %b\n  return %y\n}"));
  }
}

TEST(BroadcastLoads, OnBothSides) {
  ExpectRight(R"(
graph @g(%x: f32[A, B], %y: f32[C, D], %m: bool[E, F]) {
  %s = sub %x, %y
  %z = select %m, %s, %x
  return %z
})");
}

}  // namespace
}  // namespace tailor
