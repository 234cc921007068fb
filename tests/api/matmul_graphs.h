// Graphs whose matmuls a provider computes, on the CPU or on a GPU.
#ifndef TAILOR_TESTS_API_MATMUL_GRAPHS_H_
#define TAILOR_TESTS_API_MATMUL_GRAPHS_H_

#include <string>

namespace tailor {

// "%c = constant [...] : f32[count]", of eighths.
inline std::string Constant(int count, const std::string& dtype) {
  std::string list;
  for (int i = 0; i < count; ++i) list += (i > 0 ? ", " : "") + std::to_string((5 * i % 13 - 6) * 0.125);
  return "\n  %c = constant [" + list + "] : " + dtype + "[" + std::to_string(count) + "]";
}

inline constexpr char kScores[] = R"(
graph @scores(%q: f32[B, S, 6], %k: f32[B, T, 6]) {
  %d = dot %q, %k {transpose_rhs = 1}
  return "d" = %d
})";

inline constexpr char kGradient[] = R"(
graph @gradient(%x: f32[M, K], %y: f32[M, N]) {
  %d = dot %x, %y {transpose_lhs = 1}
  %n = neg %d
  return "d" = %d, "n" = %n
})";

// A matmul in a loop.
inline constexpr char kPower[] = R"(
graph @power(%x: f32[N, 4], %w: f32[4, 4]) {
  %zero = constant 0 : i64[]
  %n, %y, %v = while(%zero, %x, %w) {
    region(%i: i64[], %a: f32[N, 4], %m: f32[4, 4]) {
      %three = constant 3 : i64[]
      %go = lt %i, %three
      return %go
    }
    region(%i: i64[], %a: f32[N, 4], %m: f32[4, 4]) {
      %one = constant 1 : i64[]
      %j = add %i, %one
      %d = dot %a, %m
      return %j, %d, %m
    }
  }
  return "y" = %y
})";

}  // namespace tailor

#endif  // TAILOR_TESTS_API_MATMUL_GRAPHS_H_
