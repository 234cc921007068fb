// Accuracy of the polynomials against libm in the next wider type, over random and special inputs; equal bits for every
// lane count. math_sweep_test goes through all floats.
#include "codegen/math/functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "codegen/math/avx512.h"
#include "gtest/gtest.h"
#include "tests/codegen/math/lane_jit.h"
#include "tests/codegen/math/unary_math.h"

namespace tailor::math {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

double Rsqrt(double x) { return 1 / std::sqrt(x); }

template <class T>
struct Worst {
  double ulp = 0;
  T x = 0, y = 0;
};

class UnaryMath : public testing::TestWithParam<UnaryCase> {};

std::vector<double> DoubleInputs() {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> near(-1.5, 1.5), middle(-30, 30), wide(-760, 760);
  std::vector<double> x = {0.0,
                           -0.0,
                           kInf,
                           -kInf,
                           kNaN,
                           1.0,
                           -1.0,
                           0x1p-1022,
                           0x1p-1074,
                           -0x1p-1074,
                           0x1.fffffffffffffp1023,
                           709.782712893384,
                           709.7827128933841,
                           -745.13,
                           -745.14,
                           -708.5};
  for (int i = 0; i < 400000; ++i)
    x.insert(x.end(), {near(random), middle(random), wide(random), std::bit_cast<double>(random())});
  return x;
}

// The values of `exact` at x: once for all CPU levels, since libm is what takes the time.
template <class Wide, class T>
std::vector<Wide> Exact(Wide (*exact)(Wide), const std::vector<T>& x) {
  std::vector<Wide> values(x.size());
  std::transform(x.begin(), x.end(), values.begin(), [&](T v) { return exact(v); });
  return values;
}

TEST_P(UnaryMath, F64StaysWithinBoundAtEveryCpuLevel) {
  const UnaryCase& c = GetParam();
  const auto x = DoubleInputs();
  const auto want = Exact(c.f64, x);
  for (const char* cpu : kCpuLevels) {
    if (!RunsOrSays(cpu)) continue;
    const auto got = LaneJit(UseOf(c.op, DType::kF64), 8, cpu).Run<double>(x);
    Worst<double> worst;
    for (size_t i = 0; i < x.size(); ++i) {
      const double ulp = UlpError(got[i], want[i]);
      if (ulp > worst.ulp) worst = {ulp, x[i]};
    }
    std::printf("%s f64 %s: %.4f ulp at %a\n", std::string(InfoOf(c.op).text).c_str(), cpu, worst.ulp, worst.x);
    EXPECT_LE(worst.ulp, c.f64_bound) << "at " << worst.x;
  }
}

TEST_P(UnaryMath, LaneCountsGiveTheSameBits) {
  const UnaryCase& c = GetParam();
  std::mt19937 random(3);
  std::vector<uint32_t> x(1 << 16);
  for (auto& bits : x) bits = random();
  const auto one = LaneJit(UseOf(c.op, DType::kF32), 1).Run<uint32_t>(x);
  for (int lanes : {4, 8, 16}) EXPECT_EQ(LaneJit(UseOf(c.op, DType::kF32), lanes).Run<uint32_t>(x), one) << lanes;
}

TEST_P(UnaryMath, F32StaysWithinBoundAtEveryCpuLevel) {
  const UnaryCase& c = GetParam();
  std::mt19937 random(5);
  std::vector<float> x(1 << 20);
  for (auto& v : x) v = std::bit_cast<float>(static_cast<uint32_t>(random()));
  const auto want = Exact(c.f32, x);
  for (const char* cpu : kCpuLevels) {
    if (!RunsOrSays(cpu)) continue;
    const auto got = LaneJit(UseOf(c.op, DType::kF32), 8, cpu).Run<float>(x);
    Worst<float> worst;
    for (size_t i = 0; i < x.size(); ++i) {
      const double ulp = UlpError(got[i], want[i]);
      if (ulp > worst.ulp) worst = {ulp, x[i]};
    }
    EXPECT_LE(worst.ulp, c.f32_bound) << cpu << " at " << worst.x;
  }
}

INSTANTIATE_TEST_SUITE_P(MathFunctions, UnaryMath, testing::ValuesIn(kUnary),
                         [](const auto& info) { return std::string(InfoOf(info.param.op).kind_name); });

// Where exp ends in infinities, NaN and zero, and what is next to there; every one alone among ordinary neighbours.
template <class T>
std::vector<T> ExtremeArguments(int lanes) {
  using Limits = std::numeric_limits<T>;
  const T overflow = std::log(Limits::max()), underflow = std::log(Limits::denorm_min());
  std::vector<T> extremes = {kInf, -kInf, kNaN, 0, T(-0.0)};
  for (const T x : {Limits::max(),
                    Limits::max() / 2,
                    Limits::min(),
                    Limits::denorm_min(),
                    T(1e7),
                    T(1e30),
                    T(4e6),
                    T(1 << 19),
                    T(1 << 23),
                    T(6e15),
                    overflow,
                    underflow,
                    std::log(Limits::min()),
                    T(0.34657359),
                    T(0.69314718),
                    T(0.021660849),
                    T(88),
                    T(89),
                    T(709),
                    T(710),
                    T(104),
                    T(746)}) {
    for (const T sign : {1, -1}) {
      extremes.insert(extremes.end(),
                      {sign * x, std::nextafter(sign * x, T(kInf)), std::nextafter(sign * x, -T(kInf))});
    }
  }
  std::vector<T> x;
  for (size_t i = 0; i < extremes.size(); ++i) {
    x.resize(x.size() + lanes, 1);
    x[x.size() - lanes + i % lanes] = extremes[i];
  }
  return x;
}

template <class T, class Wide>
void ExpectExpOfExtremes(DType dtype, Wide (*exp)(Wide)) {
  for (const char* cpu : kCpuLevels) {
    if (!RunsOrSays(cpu)) continue;
    for (const int lanes : {1, 4, 8, 16, 32}) {
      const auto x = ExtremeArguments<T>(lanes);
      const auto got = LaneJit(UseOf(OpKind::kExp, dtype), lanes, cpu).template Run<T>(x);
      for (size_t i = 0; i < x.size(); ++i) {
        SCOPED_TRACE(testing::Message() << cpu << ", " << lanes << " lanes, exp(" << x[i] << ") = " << got[i]);
        ASSERT_LE(UlpError(got[i], exp(x[i])), 1.1);
        ASSERT_FALSE(std::signbit(got[i]) && !std::isnan(got[i]));
        if (x[i] == 0) {
          ASSERT_EQ(got[i], 1);
        }
      }
    }
  }
}

TEST(Exp, OfExtremesStaysWithinBoundAtEveryCpuLevel) {
  ExpectExpOfExtremes<float, double>(DType::kF32, std::exp);
  ExpectExpOfExtremes<double, long double>(DType::kF64, expl);
}

// How far `got` is from what exp may be at a rounded x, in units in the last place.
double ErrorOfPower(float x, float got) {
  const double want = std::exp(double{x});
  if (!std::isfinite(x) || std::isnan(got) || std::isinf(got)) return UlpError(got, want);
  const double reach = want * std::fabs(double{x}) * 0x1p-28;
  return UlpError(got, std::clamp(double{got}, want - reach, want + reach));
}

void ExpectExpOfDifference(const char* cpu) {
  for (const int lanes : {1, 8, 16, 32}) {
    LaneJit jit(math::ExpOfDifference, DType::kF32, lanes, cpu);
    std::vector<float> x = ExtremeArguments<float>(lanes);
    std::mt19937 random(3);
    std::uniform_real_distribution<float> normal(-88, 88), subnormal(-105, -87), near(-1, 1);
    for (int i = 0; i < 1 << 18; ++i) {
      x.insert(x.end(), {normal(random), subnormal(random), near(random),
                         std::bit_cast<float>(static_cast<uint32_t>(random())), -std::trunc(104 * near(random))});
    }
    x.resize(x.size() / lanes * lanes);
    const auto got = jit.Run<float>(x);
    Worst<float> worst;
    for (size_t i = 0; i < x.size(); ++i) {
      const double ulp = ErrorOfPower(x[i], got[i]);
      if (ulp > worst.ulp) worst = {ulp, x[i]};
      if (x[i] == 0) {
        ASSERT_EQ(got[i], 1);  // the greatest of a row: sums are 1 and more
      } else if (x[i] == -kInf) {
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), 0);
      }
    }
    std::printf("exp of a difference, %s: %.4f ulp beyond |x| 2^-28, at %a\n", cpu, worst.ulp, worst.x);
    EXPECT_LE(worst.ulp, 1.1) << "at " << worst.x;
  }
}

TEST(ExpOfDifference, StaysWithinBound) {
  for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
    if (RunsOrSays(cpu)) ExpectExpOfDifference(cpu);
  }
}

template <class T, class Bits>
void ExpectNearOne(DType dtype) {
  std::mt19937_64 random(19);
  std::uniform_real_distribution<T> near(0.25, 2.5);
  std::vector<T> x = ExtremeArguments<T>(16);
  x.insert(x.end(), {T(0.5), std::nextafter(T(0.5), T(0)), 1, std::nextafter(T(1), T(0)), 2, std::nextafter(T(2), T(0)),
                     T(-0.5), -1, std::nextafter(T(-2), T(0)), -2, 4, T(0.25), T(1.5), T(0.75), T(-0.75), T(-1.5)});
  for (int i = 0; i < 1 << 16; ++i) x.insert(x.end(), {near(random), std::bit_cast<T>(static_cast<Bits>(random()))});
  for (const int lanes : {1, 8, 16}) {
    const MathFunction f = [](const LaneMath& m, llvm::Value* v) { return math::NearOne(m, v, "near"); };
    const auto got = LaneJit(f, dtype, lanes, "x86-64-v4").template Run<T>(x);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(T(0.5) <= got[i] && got[i] < T(2)) << x[i] << " became " << got[i];
      if (T(0.5) <= x[i] && x[i] < T(2)) {
        ASSERT_EQ(got[i], x[i]);
      }
    }
  }
}

TEST(NearOne, LeavesWhatIsNearOneAndBoundsAllElse) {
  if (!RunsOrSays("x86-64-v4")) GTEST_SKIP() << WhyNotHere(*FindCpuTarget("x86-64-v4"));
  ExpectNearOne<float, uint32_t>(DType::kF32);
  ExpectNearOne<double, uint64_t>(DType::kF64);
}

TEST(Rsqrt, IsOneOverSqrtRoundedTwice) {
  std::mt19937 random(1);
  std::vector<float> x(1 << 18);
  for (auto& v : x) v = std::bit_cast<float>(static_cast<uint32_t>(random()));
  const auto got = LaneJit(UseOf(OpKind::kRsqrt, DType::kF32), 16).Run<float>(x);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const float want = 1.0f / std::sqrt(x[i]);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got[i]));
    } else {
      ASSERT_EQ(got[i], want) << x[i];
    }
    worst = std::max(worst, UlpError(got[i], Rsqrt(x[i])));
  }
  EXPECT_LE(worst, 1.5);
}

template <class T, class Wide>
double WorstPow(int lanes, const std::string& cpu, const std::vector<T>& x, const std::vector<T>& y,
                Wide (*pow)(Wide, Wide), DType dtype) {
  const auto got = LaneJit(UseOf(OpKind::kPow, dtype), lanes, cpu).template Run<T>(x, y);
  Worst<T> worst;
  for (size_t i = 0; i < x.size(); ++i) {
    const double ulp = UlpError(got[i], pow(x[i], y[i]));
    if (ulp > worst.ulp) worst = {ulp, x[i], y[i]};
  }
  std::printf("pow %s %s: %.4f ulp at %a, %a\n", NameOf(dtype), cpu.c_str(), worst.ulp, double(worst.x),
              double(worst.y));
  return worst.ulp;
}

// Pairs of random bits, pairs whose result is finite, and all pairs of special values.
template <class T, class Bits>
void PowInputs(std::vector<T>* x, std::vector<T>* y) {
  std::mt19937_64 random(11);
  const double reach = std::numeric_limits<T>::max_exponent;
  std::uniform_real_distribution<double> log2(-reach, reach), unit(0.5, 2.0), small(-20, 20);
  for (int i = 0; i < 300000; ++i) {
    x->push_back(std::bit_cast<T>(static_cast<Bits>(random())));
    y->push_back(std::bit_cast<T>(static_cast<Bits>(random())));
    x->push_back(static_cast<T>(unit(random)));
    y->push_back(static_cast<T>(log2(random) * 1.2 / std::log2(static_cast<double>(x->back()))));
    x->push_back(static_cast<T>(std::exp2(log2(random))));
    y->push_back(static_cast<T>(log2(random) * 1.1 / std::log2(static_cast<double>(x->back()))));
    x->push_back(static_cast<T>(small(random)));
    y->push_back(static_cast<T>(std::round(small(random))));
  }
  const T special[] = {0,
                       T(-0.0),
                       1,
                       -1,
                       2,
                       -2,
                       3,
                       -3,
                       T(0.5),
                       T(-0.5),
                       T(1e30),
                       T(-1e30),
                       kInf,
                       -kInf,
                       kNaN,
                       T(0.1),
                       T(-0.1),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::max(),
                       -std::numeric_limits<T>::max(),
                       T(0.999),
                       T(1.001)};
  for (T a : special) {
    for (T b : special) {
      x->push_back(a);
      y->push_back(b);
    }
  }
  while (x->size() % 16 != 0) {
    x->push_back(1);
    y->push_back(1);
  }
}

TEST(Pow, F32StaysWithinBound) {
  std::vector<float> x, y;
  PowInputs<float, uint32_t>(&x, &y);
  for (const char* cpu : kCpuLevels) {
    if (!RunsOrSays(cpu)) continue;
    EXPECT_LE((WorstPow<float, double>(16, cpu, x, y, std::pow, DType::kF32)), 0.51);
  }
}

TEST(Pow, F64StaysWithinBound) {
  std::vector<double> x, y;
  PowInputs<double, uint64_t>(&x, &y);
  for (const char* cpu : kCpuLevels) {
    if (!RunsOrSays(cpu)) continue;
    EXPECT_LE((WorstPow<double, long double>(8, cpu, x, y, powl, DType::kF64)), 1.5);
  }
}

TEST(Pow, ZeroResultsKeepTheirSign) {
  const std::vector<float> x = {-0.0f, -0.0f, -0.0f, -kInf, -kInf, -1e-30f, 0.0f, -kInf};
  const std::vector<float> y = {3, 2, -3, -3, -2, 5, 3, 3};
  const auto got = LaneJit(UseOf(OpKind::kPow, DType::kF32), 8).Run<float>(x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(std::pow(x[i], y[i]))) << x[i] << "^" << y[i];
  }
}

// The doubles nearest to multiples of pi/2: the rest after whole quarter turns has hardly a bit of them left.
std::vector<double> NearQuarterTurns() {
  std::mt19937_64 random(13);
  std::vector<double> x = {0x1.6ac5b262ca1ffp+849, 0x1p20, -0x1p20, 0x1.fffffffffffffp19, 0x1p1023, -0x1p500};
  for (int i = 0; i < 100000; ++i) {
    const uint64_t n = random() >> (20 + random() % 43);
    const auto nearest = static_cast<double>(static_cast<long double>(n) * 1.57079632679489661923132L);
    x.insert(x.end(), {nearest, -nearest});
  }
  while (x.size() % 8 != 0) x.push_back(1);
  return x;
}

TEST(MathFunctions, ReductionKeepsEveryBitNearQuarterTurns) {
  const auto x = NearQuarterTurns();
  const struct {
    OpKind op;
    long double (*exact)(long double);
    double bound;
  } cases[] = {{OpKind::kSin, sinl, 1.0}, {OpKind::kCos, cosl, 1.0}, {OpKind::kTan, tanl, 2.5}};
  for (const auto& [op, exact, bound] : cases) {
    const auto want = Exact(exact, x);
    for (const char* cpu : kCpuLevels) {
      if (!RunsOrSays(cpu)) continue;
      const auto got = LaneJit(UseOf(op, DType::kF64), 8, cpu).Run<double>(x);
      Worst<double> worst;
      for (size_t i = 0; i < x.size(); ++i) {
        const double ulp = UlpError(got[i], want[i]);
        if (ulp > worst.ulp) worst = {ulp, x[i]};
      }
      EXPECT_LE(worst.ulp, bound) << std::string(InfoOf(op).text) << " " << cpu << " at " << worst.x;
    }
  }
}

template <class T, class Bits>
void ExpectRemainders(DType dtype, int lanes) {
  std::vector<T> x, y;
  PowInputs<T, Bits>(&x, &y);
  for (const char* cpu : kCpuLevels) {
    if (!RunsOrSays(cpu)) continue;
    const auto rem = LaneJit(UseOf(OpKind::kRem, dtype), lanes, cpu).template Run<T>(x, y);
    const auto mod = LaneJit(UseOf(OpKind::kMod, dtype), lanes, cpu).template Run<T>(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const T want = std::fmod(x[i], y[i]);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(rem[i]) && std::isnan(mod[i])) << x[i] << " " << y[i];
        continue;
      }
      ASSERT_EQ(std::bit_cast<Bits>(rem[i]), std::bit_cast<Bits>(want)) << x[i] << " rem " << y[i] << " " << cpu;
      const bool moves = want != 0 && std::signbit(want) != std::signbit(y[i]);
      const T floored = want == 0 ? std::copysign(T{0}, y[i]) : moves ? want + y[i] : want;
      ASSERT_EQ(std::bit_cast<Bits>(mod[i]), std::bit_cast<Bits>(floored)) << x[i] << " mod " << y[i] << " " << cpu;
    }
  }
}

TEST(MathFunctions, RemaindersAreExact) {
  ExpectRemainders<float, uint32_t>(DType::kF32, 16);
  ExpectRemainders<double, uint64_t>(DType::kF64, 8);
}

// Every pair of special dividends and divisors, then random ones of all sizes; `lanes` of y are equal.
template <class T, class Bits>
void Quotients(int lanes, std::vector<T>* x, std::vector<T>* y) {
  using Limits = std::numeric_limits<T>;
  const T specials[] = {0,
                        1,
                        3,
                        Limits::min(),
                        Limits::max(),
                        Limits::denorm_min(),
                        100 * Limits::denorm_min(),
                        Limits::infinity(),
                        Limits::quiet_NaN(),
                        static_cast<T>(0.1),
                        std::sqrt(Limits::max()),
                        Limits::min() * 1000};
  std::mt19937_64 random(17);
  const auto any = [&] { return std::bit_cast<T>(static_cast<Bits>(random())); };
  const auto add = [&](T divisor, auto dividend) {
    for (int lane = 0; lane < lanes; ++lane) {
      x->push_back(dividend(lane));
      y->push_back(divisor);
    }
  };
  for (T divisor : specials) {
    for (T sign : {1, -1}) {
      for (size_t i = 0; i < std::size(specials); i += lanes / 2) {
        add(sign * divisor, [&](int lane) {
          const T value = specials[std::min(i + lane / 2, std::size(specials) - 1)];
          return lane % 2 == 0 ? value : -value;
        });
      }
    }
  }
  for (int i = 0; i < 100000; ++i) add(any(), [&](int) { return any(); });
}

template <class T, class Bits>
void ExpectQuotients(DType dtype, int lanes, double smallest) {
  std::vector<T> x, y;
  Quotients<T, Bits>(lanes, &x, &y);
  for (const char* cpu : kCpuLevels) {
    if (!RunsOrSays(cpu)) continue;
    OpUse use = UseOf(OpKind::kDiv, dtype);
    use.uniform = true;
    const auto got = LaneJit(use, lanes, cpu).template Run<T>(x, y);
    int exact = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const T want = x[i] / y[i];
      SCOPED_TRACE(testing::Message() << x[i] << " / " << y[i] << " = " << got[i] << ", not " << want << ", " << cpu);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got[i]));
      } else if (std::isnormal(want) && std::fabs(x[i]) >= smallest) {
        ASSERT_EQ(std::bit_cast<Bits>(got[i]), std::bit_cast<Bits>(want));
        ++exact;
      } else {
        ASSERT_EQ(std::signbit(got[i]), std::signbit(want));
        ASSERT_LE(UlpError(got[i], static_cast<long double>(x[i]) / y[i]), 2);
      }
    }
    EXPECT_GT(exact, static_cast<int>(x.size()) / 4);
  }
}

TEST(MathFunctions, DivisionOfAllLanesByOneNumber) {
  ExpectQuotients<float, uint32_t>(DType::kF32, 16, 0x1p-100);
  ExpectQuotients<double, uint64_t>(DType::kF64, 8, 0x1p-900);
}

TEST(MathFunctions, OddFunctionsKeepTheSignOfZero) {
  for (OpKind op : {OpKind::kTanh, OpKind::kErf, OpKind::kSin, OpKind::kTan, OpKind::kAsin, OpKind::kAtan}) {
    for (DType dtype : {DType::kF32, DType::kF64}) {
      if (dtype == DType::kF32) {
        EXPECT_TRUE(std::signbit(LaneJit(UseOf(op, dtype), 1).Run<float>(std::vector<float>{-0.0f})[0]));
      } else {
        EXPECT_TRUE(std::signbit(LaneJit(UseOf(op, dtype), 1).Run<double>(std::vector<double>{-0.0})[0]));
      }
    }
  }
}

}  // namespace
}  // namespace tailor::math
