// Graphs whose rows or columns several blocks, or threads, may share, and numbers for them.
#ifndef TAILOR_TESTS_CODEGEN_CPU_LOOPS_PARTS_CASES_H_
#define TAILOR_TESTS_CODEGEN_CPU_LOOPS_PARTS_CASES_H_

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/element.h"
#include "tests/support/device.h"

namespace tailor::cpu {

struct PartsCase {
  const char* name;
  const char* dtype;
  const char* text;    // of inputs x: T[R, C] and i: i64[1]
  bool exact = false;  // no order of sums of Numbers rounds

  std::string Text() const { return absl::StrReplaceAll(text, {{"T[", absl::StrCat(dtype, "[")}}); }
};

inline constexpr char kTotal[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %s = reduce_sum %x {axes = [0, 1]}
  return %s
})";
inline constexpr char kScaled[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %m = reduce_max %x {axes = [0, 1]}
  %l = reduce_min %x {axes = [0, 1]}
  %d = sub %m, %l
  %y = mul %x, %d
  return %y, %m
})";
inline constexpr char kSoftmax[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %s = sub %x, %m
  %e = exp %s
  %t = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %t
  return %y
})";
inline constexpr char kNorm[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %mean = reduce_mean %x {axes = [1], keep_dims = 1}
  %c = sub %x, %mean
  %q = mul %c, %c
  %v = reduce_mean %q {axes = [1], keep_dims = 1}
  %y = mul %c, %v
  return %y, %v
})";
inline constexpr char kMirrored[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %e = sub %x, %m
  %t = reduce_sum %e {axes = [1], keep_dims = 1}
  %d = mul %e, %t
  %y = slice %d {starts = [0, C - 1], sizes = [R, C], steps = [1, -1]}
  return %y
})";
inline constexpr char kColumns[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %s = reduce_sum %x {axes = [0]}
  %m = reduce_max %x {axes = [0]}
  return %s, %m
})";
inline constexpr char kOuterAndInner[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %z = reshape %x {shape = [R, 1, C]}
  %b = broadcast %z {shape = [R, 3, C]}
  %s = reduce_sum %b {axes = [0, 2]}
  return %s
})";
inline constexpr char kColumnSoftmax[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %m = reduce_max %x {axes = [0], keep_dims = 1}
  %s = sub %x, %m
  %e = exp %s
  %t = reduce_sum %e {axes = [0], keep_dims = 1}
  %y = div %e, %t
  return %y
})";
// Two axes that are not one in memory.
inline constexpr char kPadded[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %v = constant 3 : T[]
  %p = pad %x, %v {low = [1, 0], high = [0, 2]}
  %s = reduce_sum %p {axes = [0, 1]}
  return %s
})";
// 0 / 0 among the elements.
inline constexpr char kNotNumbers[] = R"(graph @g(%x: T[R, C], %i: i64[1]) {
  %q = div %x, %x
  %m = reduce_max %q {axes = [1]}
  %l = reduce_min %q {axes = [0, 1]}
  return %m, %l
})";

inline constexpr PartsCase kPartsCases[] = {
    {"Total", "f32", kTotal, true},
    {"TotalOfHalves", "f16", kTotal},
    {"TotalOfIntegers", "i64", kTotal, true},
    {"Scaled", "f32", kScaled, true},
    {"ScaledHalves", "f16", kScaled},
    {"ScaledBytes", "u8", kScaled, true},
    {"Softmax", "f32", kSoftmax},
    {"SoftmaxOf64", "f64", kSoftmax},
    {"ColumnSoftmax", "f32", kColumnSoftmax},
    {"ColumnSoftmaxOf64", "f64", kColumnSoftmax},
    {"Norm", "f32", kNorm},
    {"NormOfHalves", "bf16", kNorm},
    {"Mirrored", "f32", kMirrored},
    {"Columns", "f32", kColumns, true},
    {"ColumnsOf64", "i64", kColumns, true},
    {"Halves", "f16", kColumns},
    {"OuterAndInner", "f32", kOuterAndInner, true},
    {"Padded", "f32", kPadded, true},
    {"NotNumbers", "f32", kNotNumbers, true},
};

inline HostTensor Tensor(DType dtype, std::vector<int64_t> dims) {
  size_t bytes = SizeOf(dtype);
  for (int64_t dim : dims) bytes *= static_cast<size_t>(dim);
  return {.dtype = dtype, .dims = std::move(dims), .bytes = std::vector<std::byte>(bytes)};
}

// Multiples of 1/4 in [0, 2), whose sums no order rounds.
inline HostTensor Numbers(DType dtype, int64_t rows, int64_t columns) {
  HostTensor tensor = Tensor(dtype, {rows, columns});
  std::mt19937 random(3);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const auto number = static_cast<double>(random() % 8);
    ElementFromDouble(dtype, IsFloat(dtype) ? number * 0.25 : number, &tensor.bytes[i * SizeOf(dtype)]);
  }
  return tensor;
}

}  // namespace tailor::cpu

#endif  // TAILOR_TESTS_CODEGEN_CPU_LOOPS_PARTS_CASES_H_
