// Every f16, and f32 and f64 inputs around every rounding boundary, against plain arithmetic on values.
#include "codegen/scalar/scalar_ops_cast.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "gtest/gtest.h"
#include "tests/codegen/math/lane_jit.h"

namespace tailor {
namespace {

constexpr double kWideInf = std::numeric_limits<double>::infinity();
constexpr double kWideNaN = std::numeric_limits<double>::quiet_NaN();

struct Narrow {
  DType dtype;
  int mantissa;     // stored bits
  int least;        // exponent of the least normal number
  double overflow;  // from here on the result is inf
};
const Narrow kHalf{DType::kF16, 10, -14, 65520.0};
const Narrow kBrain{DType::kBF16, 7, -126, 0x1.ffp127};

// The value of memory bits, by the definition of the format.
double ValueOf(const Narrow& n, uint16_t bits) {
  const int exponent_bits = 15 - n.mantissa;
  const int field = (bits >> n.mantissa) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << n.mantissa) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (field == (1 << exponent_bits) - 1) return fraction ? kWideNaN : sign * kWideInf;
  const int significand = field == 0 ? fraction : fraction | 1 << n.mantissa;
  return sign * std::ldexp(significand, (field == 0 ? 1 : field) - 1 + n.least - n.mantissa);
}

// The nearest value of the format, ties to even.
double Nearest(const Narrow& n, double x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  if (std::fabs(x) >= n.overflow) return std::copysign(kWideInf, x);
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 1, n.least) - n.mantissa);
  return std::nearbyint(x / unit) * unit;
}

bool SameValue(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

class NarrowFloats : public testing::TestWithParam<Narrow> {};

TEST_P(NarrowFloats, WidenExactly) {
  const Narrow& n = GetParam();
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  const auto got = math::LaneJit(math::UseOf(OpKind::kCast, n.dtype, DType::kF32), 16).Run<float>(bits);
  for (size_t i = 0; i < bits.size(); ++i) ASSERT_TRUE(SameValue(got[i], ValueOf(n, bits[i]))) << i;
}

TEST_P(NarrowFloats, RoundTripTheirBits) {
  const Narrow& n = GetParam();
  std::vector<uint16_t> bits(1 << 16);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  const auto got = math::LaneJit(math::UseOf(OpKind::kCast, n.dtype, n.dtype), 16).Run<uint16_t>(bits);
  for (size_t i = 0; i < bits.size(); ++i) {
    if (std::isnan(ValueOf(n, bits[i]))) continue;
    ASSERT_EQ(got[i], bits[i]);
  }
}

// Midpoints between neighbours and the doubles next to them, where a double rounding would show.
std::vector<double> Boundaries(const Narrow& n) {
  std::vector<double> x = {0.0, -0.0, kWideInf, -kWideInf, kWideNaN, 1e300, -1e300, 1e-300, -1e-300};
  for (uint32_t bits = 0; bits < 0x7fff; ++bits) {
    const double low = ValueOf(n, bits), high = ValueOf(n, bits + 1);
    if (std::isnan(low) || std::isnan(high) || std::isinf(high)) continue;
    const double middle = (low + high) / 2;
    for (double v : {low, middle, std::nextafter(middle, 0), std::nextafter(middle, kWideInf)}) {
      x.push_back(v);
      x.push_back(-v);
    }
  }
  for (double v : {n.overflow, std::nextafter(n.overflow, 0), std::nextafter(n.overflow, kWideInf)}) x.push_back(v);
  x.resize((x.size() + 15) / 16 * 16, 1.0);
  return x;
}

TEST_P(NarrowFloats, RoundOnceFromF64) {
  const Narrow& n = GetParam();
  const auto x = Boundaries(n);
  const auto got = math::LaneJit(math::UseOf(OpKind::kCast, DType::kF64, n.dtype), 16).Run<uint16_t>(x);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(SameValue(ValueOf(n, got[i]), Nearest(n, x[i]))) << x[i];
}

TEST_P(NarrowFloats, RoundToNearestFromF32) {
  const Narrow& n = GetParam();
  std::vector<float> x;
  for (double v : Boundaries(n)) {
    const float f = static_cast<float>(v);
    x.insert(x.end(), {f, std::nextafter(f, 0.0f), std::nextafter(f, INFINITY)});
  }
  x.resize((x.size() + 15) / 16 * 16, 1.0f);
  const auto got = math::LaneJit(math::UseOf(OpKind::kCast, DType::kF32, n.dtype), 16).Run<uint16_t>(x);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(SameValue(ValueOf(n, got[i]), Nearest(n, x[i]))) << x[i];
}

TEST_P(NarrowFloats, RoundOnceFromI64) {
  const Narrow& n = GetParam();
  std::vector<int64_t> x = {0, 1, -1, 65503, 65504, 65519, 65520, -65519, -65520, INT64_MAX, INT64_MIN};
  std::mt19937_64 random(2);
  for (int shift = 0; shift < 62; ++shift) {
    const int64_t base = int64_t{1} << shift;
    // Halfway between two bf16 neighbours, and one off.
    const int64_t middle = base + (base >> 8);
    x.insert(x.end(),
             {base, middle, middle - 1, middle + 1, -middle, -middle - 1, static_cast<int64_t>(random() >> shift)});
  }
  const auto got = math::LaneJit(math::UseOf(OpKind::kCast, DType::kI64, n.dtype), 1).Run<uint16_t>(x);
  for (size_t i = 0; i < x.size(); ++i) {
    // 80-bit arithmetic holds every i64, so this is the one rounding.
    const long double value = static_cast<long double>(x[i]);
    double want = 0;
    if (value != 0) {
      int exponent = 0;
      std::frexp(value, &exponent);
      const long double unit = std::ldexp(1.0L, exponent - 1 - n.mantissa);
      want = static_cast<double>(std::nearbyint(value / unit) * unit);
      if (unit < std::ldexp(1.0L, n.least - n.mantissa)) want = static_cast<double>(value);
      if (std::fabs(want) >= n.overflow) want = std::copysign(kWideInf, want);
    }
    EXPECT_EQ(ValueOf(n, got[i]), want) << x[i];
  }
}

// Sums, matmuls, quotients and roots of narrow values round as the format's own operations do.
TEST_P(NarrowFloats, ArithmeticRoundsAfterEachOp) {
  const Narrow& n = GetParam();
  std::mt19937 random(4);
  std::vector<uint16_t> x(1 << 16), y(1 << 16);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<uint16_t>(random());
    y[i] = static_cast<uint16_t>(random());
  }
  struct {
    OpKind op;
    double (*exact)(double, double);
  } const cases[] = {{OpKind::kAdd, [](double a, double b) { return a + b; }},
                     {OpKind::kSub, [](double a, double b) { return a - b; }},
                     {OpKind::kMul, [](double a, double b) { return a * b; }}};
  for (const auto& c : cases) {
    const auto got = math::LaneJit(math::UseOf(c.op, n.dtype), 16).Run<uint16_t>(x, y);
    for (size_t i = 0; i < x.size(); ++i) {
      const double a = ValueOf(n, x[i]), b = ValueOf(n, y[i]), exact = c.exact(a, b);
      // A double sum of far-apart bf16 values is itself rounded; skip the few where that could show.
      if (n.dtype == DType::kBF16 && c.op != OpKind::kMul && exact - a != b) continue;
      ASSERT_TRUE(SameValue(ValueOf(n, got[i]), Nearest(n, exact))) << a << " " << b;
    }
  }
}

// Of every value, by a polynomial that is less accurate than f32's.
TEST_P(NarrowFloats, ErfIsTheNearestValueOrItsNeighbour) {
  const Narrow& n = GetParam();
  std::vector<uint16_t> x(1 << 16);
  std::iota(x.begin(), x.end(), uint16_t{0});
  const auto got = math::LaneJit(math::UseOf(OpKind::kErf, n.dtype), 16).Run<uint16_t>(x);
  int numbers = 0, exact = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = ValueOf(n, x[i]), want = Nearest(n, std::erf(value)), mine = ValueOf(n, got[i]);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(mine));
      continue;
    }
    ASSERT_EQ(std::signbit(mine), std::signbit(value)) << value;
    const auto neighbour = [&](int way) { return ValueOf(n, static_cast<uint16_t>(got[i] + way)); };
    ASSERT_TRUE(mine == want || neighbour(1) == want || neighbour(-1) == want) << value << ": " << mine;
    ++numbers;
    exact += mine == want;
  }
  EXPECT_GT(exact, numbers * 0.99);
}

INSTANTIATE_TEST_SUITE_P(ScalarOpsCast, NarrowFloats, testing::Values(kHalf, kBrain),
                         [](const auto& info) { return NameOf(info.param.dtype); });

template <class To, class From>
To Saturated(From x) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (x >= static_cast<From>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

template <class To, class From>
void ExpectSaturating(DType from, DType to) {
  std::vector<From> x = {0,
                         From(-0.0),
                         From(kWideInf),
                         From(-kWideInf),
                         From(kWideNaN),
                         From(0.99),
                         From(-0.99),
                         From(1.5),
                         From(-1.5),
                         From(127),
                         From(128),
                         From(-128),
                         From(-129),
                         From(255),
                         From(256),
                         From(32767),
                         From(32768),
                         From(65535),
                         From(65536),
                         From(2147483520),
                         From(2147483648),
                         From(-2147483648),
                         From(-2147484000),
                         From(4294967040),
                         From(4294967296),
                         From(9.2e18),
                         From(9223372036854775808.0),
                         From(-9.3e18),
                         From(1.84e19),
                         From(1.9e19),
                         From(1e30),
                         From(-1e30)};
  for (int lanes : {1, 16}) {
    const auto got = math::LaneJit(math::UseOf(OpKind::kCast, from, to), lanes).Run<To>(x);
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(got[i], (Saturated<To, From>(x[i]))) << NameOf(from) << " -> " << NameOf(to) << " of " << x[i];
    }
  }
}

template <class From>
void ExpectSaturatingToAll(DType from) {
  ExpectSaturating<int8_t, From>(from, DType::kI8);
  ExpectSaturating<int16_t, From>(from, DType::kI16);
  ExpectSaturating<int32_t, From>(from, DType::kI32);
  ExpectSaturating<int64_t, From>(from, DType::kI64);
  ExpectSaturating<uint8_t, From>(from, DType::kU8);
  ExpectSaturating<uint16_t, From>(from, DType::kU16);
  ExpectSaturating<uint32_t, From>(from, DType::kU32);
  ExpectSaturating<uint64_t, From>(from, DType::kU64);
}

TEST(Cast, FloatsToIntegersSaturate) {
  ExpectSaturatingToAll<float>(DType::kF32);
  ExpectSaturatingToAll<double>(DType::kF64);
}

TEST(Cast, IntegersWrapAndExtend) {
  const std::vector<int32_t> x = {0,         1,         -1,    127,   128,    255, 256, -129,
                                  INT32_MAX, INT32_MIN, 65535, 65536, -32769, 3,   4,   5};
  const auto narrow = math::LaneJit(math::UseOf(OpKind::kCast, DType::kI32, DType::kI8), 16).Run<int8_t>(x);
  const auto wide = math::LaneJit(math::UseOf(OpKind::kCast, DType::kI32, DType::kI64), 16).Run<int64_t>(x);
  const auto unsigned_wide = math::LaneJit(math::UseOf(OpKind::kCast, DType::kU32, DType::kI64), 16).Run<int64_t>(x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(narrow[i], static_cast<int8_t>(x[i]));
    EXPECT_EQ(wide[i], x[i]);
    EXPECT_EQ(unsigned_wide[i], static_cast<uint32_t>(x[i]));
  }
}

TEST(Cast, BoolIsNotEqualToZero) {
  const std::vector<float> x = {0, -0.0f, 1, -1, 0.5f, 1e-45f, NAN, INFINITY};
  EXPECT_EQ(math::LaneJit(math::UseOf(OpKind::kCast, DType::kF32, DType::kBool), 8).Run<uint8_t>(x),
            (std::vector<uint8_t>{0, 0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(math::LaneJit(math::UseOf(OpKind::kCast, DType::kBool, DType::kF32), 4)
                .Run<float>(std::vector<uint8_t>{0, 1, 1, 0}),
            (std::vector<float>{0, 1, 1, 0}));
  EXPECT_EQ(math::LaneJit(math::UseOf(OpKind::kCast, DType::kBool, DType::kI64), 4)
                .Run<int64_t>(std::vector<uint8_t>{0, 1, 1, 0}),
            (std::vector<int64_t>{0, 1, 1, 0}));
}

}  // namespace
}  // namespace tailor
