// Reductions over windows of images, with padding and without, at dim sizes around multiples of vectors, of rows that
// run side by side, and of blocks of results.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/fuzz/expect_right.h"

namespace tailor {
namespace {

// A pool over the last two dims, `pad` around them.
std::string Pool(const std::string& dtype, const std::string& op, const std::string& window, const std::string& pad,
                 const std::string& where = "H in [1, 40], W in [1, 70]") {
  return absl::StrCat("graph @g(%x: ", dtype, "[B, H, W]) where ", where, " {\n  %v = constant 2 : ", dtype,
                      "[]\n  %p = pad %x, %v {low = [0, ", pad, "], high = [0, ", pad,
                      "]}\n  %w = window %p {axes = [1, 2], ", window, "}\n  %y = ", op,
                      " %w {axes = [3, 4]}\n  return %y\n}");
}

TEST(Windows, OfAllTypes) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16", "i32", "i64", "u8"}) {
    ExpectRight(Pool(dtype, "reduce_max", "sizes = [3, 3]", "1, 1"));
  }
}

TEST(Windows, CombineByAnyOp) {
  for (const char* op : {"reduce_sum", "reduce_min", "reduce_mean", "reduce_prod"}) {
    ExpectRight(Pool("f32", op, "sizes = [3, 2]", "1, 1"));
  }
}

TEST(Windows, OfAnySizeAndDistance) {
  for (const char* window :
       {"sizes = [3, 3], strides = [2, 2]", "sizes = [5, 4], strides = [1, 2]", "sizes = [4, 3], strides = [2, 1]",
        "sizes = [2, 3], dilations = [3, 2]", "sizes = [1, 5]", "sizes = [5, 1]", "sizes = [7, 7], strides = [2, 2]",
        "sizes = [8, 8]", "sizes = [3, 3], strides = [2, 1], dilations = [1, 4]"}) {
    ExpectRight(Pool("f32", "reduce_max", window, "4, 3"));
  }
}

// Separated into one pass per dim (fusion/simplify_algebra.h).
TEST(Windows, OfManyElements) {
  ExpectRight(
      Pool("f32", "reduce_max", "sizes = [9, 10], strides = [1, 2]", "4, 4", "B in [1, 2], H in [1, 9], W in [2, 20]"));
}

// A loop over the rows of the windows.
TEST(Windows, OfManyElementsThatAddUp) {
  const std::string where = "B in [1, 2], H in [1, 20], W in [2, 40]";
  ExpectRight(Pool("f32", "reduce_sum", "sizes = [12, 13]", "6, 6", where));
  ExpectRight(Pool("f32", "reduce_mean", "sizes = [13, 11], strides = [1, 2]", "6, 5", where));
  ExpectRight(Pool("f64", "reduce_sum", "sizes = [12, 11], strides = [2, 1], dilations = [1, 2]", "6, 11", where));
  ExpectRight(Pool("i32", "reduce_min", "sizes = [8, 17]", "4, 8", where));
}

TEST(Windows, InSeveralBlocks) {
  ExpectRight(Pool("f32", "reduce_max", "sizes = [3, 3]", "1, 1", "B in [1, 2], H in [30, 40], W in [250, 300]"));
  ExpectRight(Pool("f32", "reduce_max", "sizes = [3, 3], strides = [2, 2]", "1, 1",
                   "B in [1, 2], H in [30, 40], W in [500, 600]"));
}

TEST(Windows, WithoutPadding) {
  ExpectRight(R"(
graph @g(%x: f32[B, H + 4, W + 6]) {
  %w = window %x {axes = [1, 2], sizes = [5, 4], dilations = [1, 2]}
  %y = reduce_sum %w {axes = [3, 4]}
  return %y
})");
}

TEST(Windows, OfLines) {
  for (const char* window : {"sizes = [9]", "sizes = [4], strides = [2]", "sizes = [3], dilations = [8]"}) {
    ExpectRight(absl::StrCat(R"(
graph @g(%x: f32[B, L]) where L in [1, 900] {
  %v = constant 0 : f32[]
  %p = pad %x, %v {low = [0, 8], high = [0, 12]}
  %w = window %p {axes = [1], )",
                             window, R"(}
  %y = reduce_sum %w {axes = [2]}
  return %y
})"));
  }
}

// Depthwise, with what comes before the padding and after the sum.
TEST(Windows, AreWeighedAndComputedWith) {
  ExpectRight(R"(
graph @g(%x: f32[N, C, H, W], %scale: f32[C, 1, 1], %k: f32[C, 1, 1, 3, 3], %bias: f32[C, 1, 1], %r: f32[N, C, H, W])
    where N in [1, 3], C in [1, 5], H in [1, 40], W in [1, 40] {
  %zero = constant 0 : f32[]
  %s = mul %x, %scale
  %a = max %s, %zero
  %p = pad %a, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %w = window %p {axes = [2, 3], sizes = [3, 3]}
  %m = mul %w, %k
  %d = reduce_sum %m {axes = [4, 5]}
  %b = add %d, %bias
  %t = add %b, %r
  %y = max %t, %zero
  return %y
})");
}

// Sums of images, of which one is enlarged by nearest neighbours and one may broadcast.
TEST(Windows, OfSumsOfImages) {
  for (const char* image : {"2*S, 2*T", "2*S, 1", "H, 2*T"}) {
    ExpectRight(absl::Substitute(R"(
graph @g(%x: f32[N, C, $0], %small: f32[N, C, S, T], %k: f32[C, 1, 1, 3, 3])
    where N in [1, 2], C in [1, 20], S in [1, $1], T in [1, 70]$2 {
  %zero = constant 0 : f32[]
  %r = reshape %small {shape = [N, C, S, 1, T, 1]}
  %b = broadcast %r {shape = [N, C, S, 2, T, 2]}
  %u = reshape %b {shape = [N, C, 2*S, 2*T]}
  %s = add %x, %u
  %p = pad %s, %zero {low = [0, 0, 2, 2], high = [0, 0, 2, 2]}
  %w = window %p {axes = [2, 3], sizes = [3, 3]}
  %m = mul %w, %k
  %y = reduce_sum %m {axes = [4, 5]}
  return %y
})",
                                 image, image[0] == 'H' ? "1" : "20", image[0] == 'H' ? ", H in [1, 2]" : ""));
  }
}

// The result is written over an operand of the epilogue or stands for several nodes' ends.
TEST(Windows, OfManyElementsAreWeighed) {
  ExpectRight(R"(
graph @g(%x: f32[B, C, H, W], %k: f32[C, 1, 1, 11, 13]) where B in [1, 1], C in [1, 3], H in [1, 20], W in [1, 40] {
  %v = constant 0 : f32[]
  %p = pad %x, %v {low = [0, 0, 5, 6], high = [0, 0, 5, 6]}
  %w = window %p {axes = [2, 3], sizes = [11, 13]}
  %m = mul %w, %k
  %s = reduce_sum %m {axes = [4, 5]}
  %y = tanh %s
  return %y
})");
}

TEST(Windows, AddUpInPlace) {
  ExpectRight(R"(
graph @g(%x: f32[C, H, W]) where C in [1, 5], H in [1, 40], W in [1, 40] {
  %v = constant 0 : f32[]
  %r = tanh %x
  %p = pad %x, %v {low = [0, 1, 1], high = [0, 1, 1]}
  %w = window %p {axes = [1, 2], sizes = [3, 3]}
  %d = reduce_sum %w {axes = [3, 4]}
  %t = add %d, %r
  %y = neg %t
  return %y
})");
}

// Two images in one window, an operand that moves with the results, and a sum over channels too.
TEST(Windows, OfOtherForms) {
  ExpectRight(R"(
graph @g(%x: f32[B, H, W], %z: f32[B, H, W]) {
  %v = constant 1 : f32[]
  %p = pad %x, %v {low = [0, 1, 1], high = [0, 1, 1]}
  %q = pad %z, %v {low = [0, 1, 1], high = [0, 1, 1]}
  %w = window %p {axes = [1, 2], sizes = [3, 3]}
  %u = window %q {axes = [1, 2], sizes = [3, 3]}
  %m = mul %w, %u
  %y = reduce_sum %m {axes = [3, 4]}
  return %y
})");
  ExpectRight(R"(
graph @g(%x: f32[B, H, W], %z: f32[H, W, 1, 1]) {
  %v = constant 1 : f32[]
  %p = pad %x, %v {low = [0, 1, 1], high = [0, 1, 1]}
  %w = window %p {axes = [1, 2], sizes = [3, 3]}
  %m = mul %w, %z
  %y = reduce_sum %m {axes = [3, 4]}
  return %y
})");
  ExpectRight(R"(
graph @g(%x: f32[C, H, W]) where C in [1, 9], H in [1, 20], W in [1, 40] {
  %v = constant 1 : f32[]
  %p = pad %x, %v {low = [0, 1, 1], high = [0, 1, 1]}
  %w = window %p {axes = [1, 2], sizes = [3, 3]}
  %y = reduce_sum %w {axes = [0, 3, 4]}
  return %y
})");
}

// As many planes as lanes, or multiples: lanes run across planes where these are small.
TEST(Windows, OfManySmallPlanes) {
  for (const char* window : {"sizes = [3, 3]", "sizes = [5, 5]", "sizes = [3, 5], strides = [2, 2]"}) {
    const std::string steps = std::string(window).substr(9, 4);
    ExpectRight(R"(
graph @g(%x: f32[N, 32, H, W], %k: f32[32, 1, 1, )" +
                steps + R"(], %bias: f32[32, 1, 1]) where N in [1, 3], H in [1, 40], W in [1, 40] {
  %zero = constant 0 : f32[]
  %p = pad %x, %zero {low = [0, 0, 2, 2], high = [0, 0, 2, 2]}
  %w = window %p {axes = [2, 3], )" +
                window + R"(}
  %m = mul %w, %k
  %d = reduce_sum %m {axes = [4, 5]}
  %t = add %d, %bias
  %y = max %t, %zero
  return %y
})");
  }
}

// Weights that depend on the position of the result are no weights of a plane.
TEST(Windows, OfManySmallPlanesWeighedByPosition) {
  ExpectRight(R"(
graph @g(%x: f32[N, 32, H, W]) where N in [1, 3], H in [1, 40], W in [1, 40] {
  %zero = constant 0 : f32[]
  %row = iota {shape = [H, 1, 3, 1], axis = 0, dtype = i32}
  %step = iota {shape = [H, 1, 3, 1], axis = 2, dtype = i32}
  %is_low = lt %row, %step
  %k = cast %is_low {dtype = f32}
  %p = pad %x, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %w = window %p {axes = [2, 3], sizes = [3, 3]}
  %m = mul %w, %k
  %y = reduce_sum %m {axes = [4, 5]}
  return %y
})");
}

// Images whose channels are last in memory, with weights of either order: lanes run along channels.
TEST(Windows, OfChannelsThatAreLast) {
  struct Window {
    int height, width, stride;
  };
  for (const char* channels : {"20", "C"}) {
    for (const Window& w : {Window{3, 3, 1}, Window{5, 5, 1}, Window{3, 2, 2}, Window{7, 7, 1}}) {
      const auto results = [&](const char* side, int size) {
        return absl::Substitute("max(0, floordiv($0 + 4 - $1, $2) + 1)", side, size, w.stride);
      };
      ExpectRight(absl::Substitute(R"(
graph @g(%x: f32[N, H, W, $0], %k: f32[$1, $2, $0], %bias: f32[$0], %r: f32[N, $4, $5, $0])
    where N in [1, 2], H in [3, 14], W in [3, 20]$6 {
  %zero = constant 0 : f32[]
  %p = pad %x, %zero {low = [0, 2, 2, 0], high = [0, 2, 2, 0]}
  %w = window %p {axes = [1, 2], sizes = [$1, $2], strides = [$3, $3]}
  %t = transpose %k {permutation = [2, 0, 1]}
  %m = mul %w, %t
  %d = reduce_sum %m {axes = [4, 5]}
  %b = add %d, %bias
  %s = add %b, %r
  %y = max %s, %zero
  return %y
})",
                                   channels, w.height, w.width, w.stride, results("H", w.height), results("W", w.width),
                                   channels[0] == 'C' ? ", C in [1, 40]" : ""));
    }
  }
  ExpectRight(R"(
graph @g(%x: f32[N, H, W, 20], %k: f32[20, 3, 3]) where N in [1, 2], H in [1, 30], W in [28, 70] {
  %low = constant -inf : f32[]
  %e = exp %x
  %p = pad %e, %low {low = [0, 1, 0, 0], high = [0, 0, 1, 0]}
  %w = window %p {axes = [1, 2], sizes = [3, 3]}
  %m = mul %w, %k
  %y = reduce_max %m {axes = [4, 5]}
  return %y
})");
}

// A matmul's results, which are channels last (fusion/image_layouts.h): windows of two forms with one constant's
// factors, and a bias that repeats one channel.
TEST(Windows, OfMatmulsResults) {
  ExpectRight(R"(
graph @g(%x: f32[N, 32, H, W]) where N in [1, 2], H in [3, 9], W in [3, 9] {
  %m = constant @m : f32[1, 32, 32]
  %k = constant @k : f32[32, 3]
  %p = reshape %x {shape = [N, 1, 32, H*W]}
  %d = dot %p, %m {transpose_lhs = 1, transpose_rhs = 1}
  %t = transpose %d {permutation = [0, 1, 3, 2]}
  %y = reshape %t {shape = [N, 32, H, W]}
  %a = reshape %k {shape = [32, 1, 1, 3, 1]}
  %b = reshape %k {shape = [32, 1, 1, 1, 3]}
  %high = window %y {axes = [2, 3], sizes = [3, 1]}
  %u = mul %high, %a
  %v = reduce_sum %u {axes = [4, 5]}
  %wide = window %v {axes = [2, 3], sizes = [1, 3]}
  %w = mul %wide, %b
  %z = reduce_sum %w {axes = [4, 5]}
  %r = reduce_max %z {axes = [2, 3]}
  return %r
})");
  ExpectRight(R"(
graph @g(%x: f32[N, 32, H, W]) where N in [1, 2], H in [3, 9], W in [3, 9] {
  %m = constant @m : f32[1, 1, 32]
  %c = constant @c : f32[48]
  %p = reshape %x {shape = [N, 1, 32, H*W]}
  %d = dot %p, %m {transpose_lhs = 1, transpose_rhs = 1}
  %s = add %d, %c
  %t = transpose %s {permutation = [0, 1, 3, 2]}
  %y = reshape %t {shape = [N, 48, H, W]}
  %w = window %y {axes = [2, 3], sizes = [3, 3]}
  %z = reduce_max %w {axes = [4, 5]}
  %r = reduce_sum %z {axes = [2, 3], keep_dims = 1}
  return %r
})");
}

}  // namespace
}  // namespace tailor
