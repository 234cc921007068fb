// Kernel plans that tests of both back ends emit, as texts: slot i of a plan holds symbol i.
#ifndef TAILOR_TESTS_CODEGEN_PLAN_LOOP_PLANS_H_
#define TAILOR_TESTS_CODEGEN_PLAN_LOOP_PLANS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/parse_kernel_plan.h"
#include "codegen/plan/verify_kernel_plan.h"
#include "gtest/gtest.h"

namespace tailor {

// Of a text that must be a plan's.
inline KernelPlan ParsedPlan(absl::string_view text) {
  auto plan = ParseKernelPlan(text);
  EXPECT_TRUE(plan.ok()) << plan.status() << "\n" << text;
  if (!plan.ok()) return {};
  EXPECT_EQ(VerifyKernelPlan(*plan), absl::OkStatus()) << text;
  return *std::move(plan);
}

inline KernelPlan BiasTanhPlan() {
  return ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 parallel]
  in b0: f32[d0, d1]
  in b1: f32[d1]
  out b2: f32[d0, d1]
  stage over []
    b2[a0, a1] = tanh(add(b0[a0, a1], b1[a1]))
)");
}

// Softmax over the last dim, the exponentials kept in a row buffer.
inline KernelPlan RowSoftmaxPlan(int64_t max_columns = INT64_MAX) {
  const bool known = max_columns < INT64_MAX;
  return ParsedPlan(absl::StrCat("kernel axes [a0: d0 parallel, a1: d1 tile]",
                                 known ? absl::StrCat("\n  d1: multiple of 1, at most ", max_columns) : "", R"(
  in b0: f32[d0, d1]
  out b1: f32[d0, d1]
  row b2: f32[d1]
  local b3: f32[]
  local b4: f32[]
  stage over [a1]
    e0 = b0[a0, a1]
    b3[] = reduce max in f32 e0
  stage over [a1]
    e1 = exp(sub(e0, b3[]))
    b2[a1] = e1
    b4[] = reduce add in f32 e1
  stage over [a1]
    b1[a0, a1] = div(b2[a1], b4[])
)"));
}

// The greatest or the least ("max", "min") of the last dim.
inline KernelPlan RowExtremePlan(absl::string_view combiner) {
  return ParsedPlan(absl::StrCat(R"(
kernel axes [a0: d0 parallel, a1: d1 tile]
  in b0: f32[d0, d1]
  out b1: f32[d0]
  local b2: f32[]
  stage over [a1]
    b2[] = reduce )",
                                 combiner, R"( in f32 b0[a0, a1]
  stage over []
    b1[a0] = b2[]
)"));
}

// By way of a row buffer, so that threads read what others wrote.
inline KernelPlan RowReversePlan() {
  return ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 tile]
  in b0: f32[d0, d1]
  out b1: f32[d0, d1]
  row b2: f32[d1]
  stage over [a1]
    b2[a1] = b0[a0, a1]
  stage over [a1]
    b1[a0, a1] = b2[(d1 - (a1 + 1))]
)");
}

// Both reductions in one stage.
inline KernelPlan RowMinAndSumPlan() {
  return ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 tile]
  in b0: bf16[d0, d1]
  out b1: bf16[d0]
  out b2: bf16[d0]
  local b3: f32[]
  local b4: f32[]
  stage over [a1]
    e0 = b0[a0, a1]
    b3[] = reduce min in f32 e0
    b4[] = reduce add in f32 e0
  stage over []
    b1[a0] = cast<bf16>(b3[])
    b2[a0] = cast<bf16>(b4[])
)");
}

// With `mirrored` the sum runs from the end of memory.
inline KernelPlan RowScanPlan(bool exclusive, bool mirrored) {
  const std::string at = mirrored ? "(d1 - (a1 + 1))" : "a1";
  return ParsedPlan(absl::StrCat(R"(
kernel axes [a0: d0 parallel, a1: d1 ordered]
  in b0: bf16[d0, d1]
  out b1: f32[d0, d1]
  local b2: f32[]
  stage over [a1]
    b2[] = )",
                                 exclusive ? "exclusive " : "", "scan add in f32 b0[a0, ", at, "]\n    b1[a0, ", at,
                                 "] = b2[]\n"));
}

inline KernelPlan ColumnScanPlan() {
  return ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 ordered]
  in b0: f32[d1, d0]
  out b1: f32[d1, d0]
  local b2: f32[]
  stage over [a1]
    b2[] = scan max in f32 b0[a1, a0]
    b1[a1, a0] = b2[]
)");
}

// Sums over the first dim.
inline KernelPlan ColumnTotalPlan(absl::string_view dtype = "i64") {
  return ParsedPlan(absl::StrReplaceAll(R"(
kernel axes [a0: d0 parallel, a1: d1 tile]
  in b0: T[d1, d0]
  out b1: T[d0]
  local b2: T[]
  stage over [a1]
    b2[] = reduce add in T b0[a1, a0]
  stage over []
    b1[a0] = b2[]
)",
                                        {{"T", dtype}}));
}

inline KernelPlan GatherRowsPlan() {
  return ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 parallel]
  in b0: f32[d2, d1]
  in b1: i32[d0]
  out b2: f32[d0, d1]
  faults: 1
  stage over []
    b2[a0, a1] = b0[gather(b1[a0], d2, fault 0), a1]
)");
}

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_PLAN_LOOP_PLANS_H_
