// Loads with predicates: padding, idle lanes, and the sources of a concat.
#include <immintrin.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "tests/codegen/cpu/loops/emit_loops_case.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor::cpu {
namespace {

class PaddedLoadsTest : public EmitLoopsCase {};

// Fills the stack below with denormals.
__attribute__((noinline)) void LeaveDenormalsOnTheStack() {
  volatile float below[1 << 16];
  for (volatile float& element : below) element = 1e-40f;
}

// Results narrower than a vector leave lanes idle, whose operands must not be what the stack held before.
TEST_P(PaddedLoadsTest, IdleLanesOfWindowsReadNoDenormals) {
  BUILD_OR_SKIP(ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: 3 parallel, a2: 3 parallel, a3: 13 tile, a4: 13 tile]
  in b0: f32[d0, 3, 3]
  in b1: f32[d0, 13, 13]
  out b2: f32[d0, 3, 3]
  local b3: f32[]
  stage over [a3, a4]
    e0 = (a1 + a3)
    e1 = (a2 + a4)
    e2 = and(and(and((5 < e0), (e0 < 9)), (5 < e1)), (e1 < 9))
    b3[] = reduce add in f32 mul(select(e2, b0[a0, (e0 - 6), (e1 - 6)] if e2, 0f00000000), b1[a0, a3, a4])
  stage over []
    b2[a0, a1, a2] = b3[]
)"));
  EXPECT_TRUE(schedule_.windows);
  const std::vector<float> x = Random(9), k = Random(169);
  std::vector<float> y(9);
  LeaveDenormalsOnTheStack();
  constexpr unsigned kDenormalOperand = 2;
  _mm_setcsr(_mm_getcsr() & ~kDenormalOperand);
  Run({Slot(x.data()), Slot(k.data()), Slot(y.data()), 1}, {1});
  EXPECT_EQ(_mm_getcsr() & kDenormalOperand, 0u);
  float middle = 0;  // the window around (1, 1) is the image
  for (int i = 0; i < 9; ++i) middle += x[i] * k[(5 + i / 3) * 13 + 5 + i % 3];
  EXPECT_NEAR(y[4], middle, 1e-4);
}

// A masked load from an unmapped page is slow even if its mask is zero: rows before b1 are none of its memory.
TEST_P(PaddedLoadsTest, LoadsOfExcludedRowsStayInTheirBuffer) {
  for (const char* column : {"a1", "(a1 * 2)", "(d2 - a1)"}) {
    for (const bool excludes : {true, false}) {
      const std::string second = absl::StrCat(
          "b1[", excludes ? absl::StrCat("(a0 - 64), ", column, "] if (63 < a0)") : absl::StrCat("a0, ", column, "]"));
      const std::string text = Emitted(ParsedPlan(absl::StrCat(R"(
kernel axes [a0: 96 parallel, a1: d0 parallel]
  in b0: f32[96, d0]
  in b1: f32[96, d1]
  out b2: f32[96, d0]
  stage over []
    b2[a0, a1] = add(b0[a0, a1], )",
                                                               second, ")\n")));
      EXPECT_EQ(text.find("row.if_wanted = select") != std::string::npos, excludes) << column << text;
    }
  }
}

// An enlarged image before padding: without a predicate for each lane, AVX2 would branch eight times a vector.
TEST_P(PaddedLoadsTest, RepeatedElementsAreLoadedOnce) {
  const std::string text = Emitted(ParsedPlan(R"(
kernel axes [a0: 96 parallel, a1: d0 parallel]
  in b0: f32[96, d1]
  out b1: f32[96, d0]
  stage over []
    e0 = and((1 < a1), (a1 < d2))
    b1[a0, a1] = select(e0, b0[a0, ((a1 - 2) / 2)] if e0, 0f00000000)
)"));
  const bool permutes = std::string_view(GetParam()) != "x86-64-v2";
  EXPECT_EQ(text.find("masked.gather") == std::string::npos, permutes) << text;
  EXPECT_EQ(text.find("permuted") != std::string::npos, permutes) << text;
}

// The concat along `axis` of [d2, ...], [d3, ...] and [d4, ...], or without `third` of the first two; d5 = d2 + d3.
KernelPlan ConcatPlan(int axis, bool third) {
  const auto index = [&](const char* place) {
    return axis == 0 ? absl::StrCat("[", place, ", a1]") : absl::StrCat("[a0, ", place, "]");
  };
  const auto dims = [&](const char* size) {
    return absl::StrCat(axis == 0 ? "" : "d0, ", size, axis == 0 ? ", d1" : "");
  };
  const std::string at = axis == 0 ? "a0" : "a1";
  const std::string second = absl::StrCat("b1", index(absl::StrCat("(", at, " - d2)").c_str()), " if ");
  const std::string rest = third ? absl::StrCat("select(e1, ", second, "and(e1, not(e0)), b2",
                                                index(absl::StrCat("(", at, " - d5)").c_str()), " if not(e1))")
                                 : absl::StrCat(second, "not(e0)");
  return ParsedPlan(absl::StrCat("kernel axes [a0: d0 parallel, a1: d1 parallel]\n  in b0: f32[", dims("d2"),
                                 "]\n  in b1: f32[", dims("d3"), "]\n  in b2: f32[", dims("d4"),
                                 "]\n  out b3: f32[d0, d1]\n  stage over []\n    e0 = (", at, " < d2)\n    e1 = (", at,
                                 " < d5)\n    b3[a0, a1] = select(e0, b0", index(at.c_str()), " if e0, ", rest, ")\n"));
}

TEST_P(PaddedLoadsTest, ConcatReadsOnlySourcesThatALaneWants) {
  const auto branches = [&](int axis, bool third) {
    const std::string text = Emitted(ConcatPlan(axis, third));
    return text.find("source.then") != std::string::npos;
  };
  EXPECT_TRUE(branches(0, false));
  EXPECT_TRUE(branches(0, true));
  EXPECT_FALSE(branches(1, false)) << "two masked loads cost less than two branches";
  EXPECT_TRUE(branches(1, true));
}

// Rows of one source each: a loop along them has one load and no branch.
TEST_P(PaddedLoadsTest, SourcesOfWholeRowsAreChosenBeforeTheirLoops) {
  const std::string text = Emitted(ConcatPlan(0, true));
  const auto count = [&](const char* word) {
    int found = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\nsource.then"), 2) << text;  // of three
  EXPECT_LT(text.find("\nsource.then"), text.find("\nvector.body")) << text;
  EXPECT_EQ(text.find("\nsource.then", text.find("\nvector.body")), std::string::npos) << text;
}

// Parts that are whole vectors have no mask, wherever a task begins; others do.
TEST_P(PaddedLoadsTest, PartsOfWholeVectorsAreChosenByABranch) {
  for (const int64_t first : {64, 62}) {
    const std::string text = Emitted(ParsedPlan(absl::Substitute(R"(
kernel axes [a0: d0 parallel, a1: 192 parallel]
  in b0: f32[d0, $0]
  in b1: f32[d0, $1]
  in b2: f32[d0, 64]
  out b3: f32[d0, 192]
  stage over []
    e0 = (a1 < $0)
    e1 = (a1 < 128)
    b3[a0, a1] = select(e0, b0[a0, a1] if e0, select(e1, b1[a0, (a1 - $0)] if and(e1, not(e0)), b2[a0, (a1 - 128)] if not(e1)))
)",
                                                                 first, 128 - first)));
    EXPECT_NE(text.find("source.then"), std::string::npos) << text;
    EXPECT_EQ(text.find("source.lanes") == std::string::npos && text.find("lanes.below") == std::string::npos,
              first == 64)
        << text;
  }
}

// Not by data: a branch would skip the check of a gather's index, and emit twice what the arms share.
TEST_P(PaddedLoadsTest, SelectsByDataReadBothSources) {
  const std::string text = Emitted(ParsedPlan(R"(
kernel axes [a0: d0 parallel, a1: d1 parallel]
  in b0: bool[d0]
  in b1: f32[d2, d1]
  in b2: f32[d3, d1]
  out b3: f32[d0, d1]
  stage over []
    b3[a0, a1] = select(b0[a0], b1[a0, a1] if (a0 < d2), b2[a0, a1] if (a0 < d3))
)"));
  EXPECT_EQ(text.find("source.then"), std::string::npos) << text;
}

TEST_P(PaddedLoadsTest, ConcatOfThreeParts) {
  for (const int axis : {0, 1}) {
    BUILD_OR_SKIP(ConcatPlan(axis, true));
    using Sizes = std::array<int64_t, 3>;
    for (const Sizes& sizes : {Sizes{1, 1, 1}, {16, 16, 16}, {0, 5, 40}, {3, 0, 2}, {33, 1, 0}, {7, 90, 21}}) {
      for (const int64_t other : {9, 50, 4100}) {
        const int64_t sum = sizes[0] + sizes[1] + sizes[2];
        const int64_t rows = axis == 0 ? sum : other, columns = axis == 0 ? other : sum;
        std::vector<float> parts[3], expected(rows * columns), y(rows * columns + 16, -7.0f);
        for (int i = 0; i < 3; ++i) {
          parts[i] = Random(sizes[i] * other);
          for (float& x : parts[i]) x += 10 * i;
        }
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            int64_t place = axis == 0 ? r : c, part = 0;
            while (place >= sizes[part]) place -= sizes[part++];
            expected[r * columns + c] = parts[part][axis == 0 ? place * other + c : r * sizes[part] + place];
          }
        }
        const int64_t d5 = sizes[0] + sizes[1];
        Run({Slot(parts[0].data()), Slot(parts[1].data()), Slot(parts[2].data()), Slot(y.data()), rows, columns,
             sizes[0], sizes[1], sizes[2], d5},
            {rows, columns, sizes[0], sizes[1], sizes[2], d5});
        EXPECT_EQ(y.back(), -7.0f) << "wrote past the end";
        y.resize(rows * columns);
        EXPECT_EQ(y, expected) << axis << " " << sizes[0] << " " << sizes[1] << " " << sizes[2] << " " << other;
      }
    }
  }
}

// A depthwise convolution of `planes` planes of [d2, d3] by `size` x `size` weights, padded by half of that on every
// side, to planes of [d0, d1]. `d4`, `d5`: the image's sides plus the padding.
KernelPlan PaddedWindowsPlan(int64_t planes, int64_t size, int64_t stride) {
  const std::string count = std::to_string(planes), side = std::to_string(size), pad = std::to_string(size / 2);
  const auto index = [&](const char* result, const char* step) {
    return stride == 1 ? absl::StrCat("(", result, " + ", step, ")")
                       : absl::StrCat("((", result, " * ", stride, ") + ", step, ")");
  };
  const std::string inside = absl::StrCat("(", size / 2 - 1, " < e");
  return ParsedPlan(absl::StrCat(
      "\nkernel axes [a0: ", count, " parallel, a1: d0 parallel, a2: d1 parallel, a3: ", side, " tile, a4: ", side,
      " tile]\n  in b0: f32[", count, ", d2, d3]\n  in b1: f32[", count, ", ", side, ", ", side, "]\n  out b2: f32[",
      count, ", d0, d1]\n  local b3: f32[]\n  stage over [a3, a4]\n    e0 = ", index("a1", "a3"),
      "\n    e1 = ", index("a2", "a4"), "\n    e2 = and(and(and(", inside, "0), (e0 < d4)), ", inside,
      "1)), (e1 < d5))\n    b3[] = reduce add in f32 mul(select(e2, b0[a0, (e0 - ", pad, "), (e1 - ", pad,
      ")] if e2, 0f00000000), b1[a0, a3, a4])\n  stage over []\n    b2[a0, a1, a2] = b3[]\n"));
}

TEST_P(PaddedLoadsTest, WindowsReachIntoThePadding) {
  struct Case {
    int64_t planes, size, stride;
  };
  // Lanes run along rows of few planes, else across planes; across some that do not fill the last vector.
  for (const Case c : {Case{3, 5, 1}, {3, 3, 2}, {32, 3, 1}, {40, 5, 1}, {32, 5, 2}, {20, 3, 2}}) {
    BUILD_OR_SKIP(PaddedWindowsPlan(c.planes, c.size, c.stride));
    EXPECT_TRUE(schedule_.windows);
    using Sides = std::pair<int64_t, int64_t>;
    for (auto [height, width] :
         {Sides{1, 1}, {7, 7}, {3, 14}, {20, 16}, {5, 37}, {33, 133}, {0, 3}, {3, 0}, {130, 129}}) {
      const int64_t rows = (height + c.stride - 1) / c.stride, columns = (width + c.stride - 1) / c.stride;
      const int64_t plane = height * width, steps = c.size * c.size, pad = c.size / 2;
      const std::vector<float> x = Random(c.planes * plane), w = Random(c.planes * steps);
      std::vector<float> y(c.planes * rows * columns + 16, -1.0f);
      const std::vector<int64_t> dims = {rows, columns, height, width, height + pad, width + pad};
      std::vector<int64_t> args = {Slot(x.data()), Slot(w.data()), Slot(y.data())};
      args.insert(args.end(), dims.begin(), dims.end());
      Run(args, dims);
      int64_t wrong = 0;
      for (int64_t i = 0; i < c.planes * rows * columns; ++i) {
        const int64_t p = i / (rows * columns), row = i / columns % rows, column = i % columns;
        double sum = 0;
        for (int64_t k = 0; k < steps; ++k) {
          const int64_t from = row * c.stride + k / c.size - pad, at = column * c.stride + k % c.size - pad;
          if (from < 0 || from >= height || at < 0 || at >= width) continue;
          sum += double{x[p * plane + from * width + at]} * w[p * steps + k];
        }
        if (!(std::abs(y[i] - sum) <= 1e-4)) ++wrong;
      }
      EXPECT_EQ(wrong, 0) << c.planes << " planes of " << height << "x" << width << ", " << c.size << " by "
                          << c.stride;
      EXPECT_EQ(y[c.planes * rows * columns], -1.0f) << "wrote past the end";
    }
  }
}

// With AVX2 the masks of padding are words, compared once for all rows; AVX-512 has registers for them.
TEST_P(PaddedLoadsTest, MasksOfPaddingAreWordsWithAvx2) {
  const std::string text = Emitted(PaddedWindowsPlan(3, 3, 2));
  EXPECT_EQ(text.find("access.words") != std::string::npos, GetParam() == std::string("x86-64-v3")) << text;
}

// Masks of elements that are wider than the kernel's lanes take two registers.
TEST_P(PaddedLoadsTest, PaddedLoadsOfWideElements) {
  BUILD_OR_SKIP(ParsedPlan(R"(
kernel axes [a0: d0 parallel]
  in b0: f64[d1]
  out b1: f32[d0]
  stage over []
    e0 = (a0 < d1)
    b1[a0] = select(e0, cast<f32>(b0[a0] if e0), 0f00000000)
)"));
}

// Masked stores are slow on cores with AVX2 and no mask registers.
TEST_P(PaddedLoadsTest, LastVectorsAreStoredInPiecesWithAvx2) {
  const std::string text = Emitted(PaddedWindowsPlan(3, 3, 1));
  EXPECT_EQ(text.find("store.part") != std::string::npos, GetParam() == std::string("x86-64-v3")) << text;
  EXPECT_EQ(text.find("llvm.masked.store") == std::string::npos, GetParam() == std::string("x86-64-v3")) << text;
}

INSTANTIATE_TEST_SUITE_P(Levels, PaddedLoadsTest, ::testing::Values("x86-64-v2", "x86-64-v3", "x86-64-v4"));

}  // namespace
}  // namespace tailor::cpu
