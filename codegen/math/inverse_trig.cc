#include "codegen/math/functions.h"

namespace tailor::math {
namespace {

using llvm::Value;

// atan(t) = t + t z A(z) for |t| <= tan(pi/8), asin(t) = t + t z B(z) for |t| <= 1/2, z = t^2; pi/2 in two parts.
struct Constants {
  double half_pi, half_pi_low;
  llvm::ArrayRef<double> atan, asin;
};

constexpr double kAtanF32[] = {-0.06451841276882797, 0.10743705260895021, -0.1426395317115633, 0.1999954041360354,
                               -0.33333331760863766};
constexpr double kAsinF32[] = {0.03369084720283012, 0.017149238357677253, 0.03110066273549457,
                               0.04459940152851218, 0.07500094543497424,  0.16666666337430908};
constexpr double kAtanF64[] = {-0.01917627151752634, 0.0392311556198723,  -0.050854323376990765, 0.05858145587628202,
                               -0.06664511064599371, 0.07692183163650894, -0.09090904576954117,  0.11111111015227572,
                               -0.14285714284666184, 0.19999999999995519, -0.3333333333333333};
constexpr double kAsinF64[] = {0.028757851367421566, -0.014851887071247204, 0.01740087944269402,  0.005457506718640358,
                               0.01032281435018578,  0.011479177415184906,  0.013971212973552933, 0.017352392720869973,
                               0.02237217294214989,  0.030381944138531247,  0.04464285714635543,  0.07499999999998433,
                               0.16666666666666669};

const Constants kF32{0x1.921fb6p+0, -0x1.777a5cp-25, kAtanF32, kAsinF32};
const Constants kF64{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, kAtanF64, kAsinF64};

const Constants& ConstantsOf(const LaneMath& m) { return m.is_double() ? kF64 : kF32; }

constexpr double kTanEighth = 0.41421356237309503, kTanThreeEighths = 2.414213562373095;  // tan(pi / 8), tan(3 pi / 8)

// With u = |x| <= 1/2, or u = sqrt((1 - |x|) / 2): asin(u) = u + tail.
struct AsinParts {
  Value* is_small;
  Value* u;
  Value* tail;
};

AsinParts SplitAsin(const LaneMath& m, Value* magnitude) {
  auto& b = m.builder();
  Value* is_small = b.CreateFCmpOLE(magnitude, m.K(0.5), "asin.is_small");
  Value* halved = b.CreateFMul(b.CreateFSub(m.K(1.0), magnitude, "asin.from_one"), m.K(0.5), "asin.halved");
  Value* z = b.CreateSelect(is_small, b.CreateFMul(magnitude, magnitude, "asin.square"), halved, "asin.z");
  Value* root = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, halved, nullptr, "asin.root");
  Value* u = b.CreateSelect(is_small, magnitude, root, "asin.u");
  Value* tail =
      b.CreateFMul(b.CreateFMul(u, z, "asin.u_z"), m.Horner(z, ConstantsOf(m).asin, "asin.poly"), "asin.tail");
  return {is_small, u, tail};
}

}  // namespace

// u = |x| if that is small, -1/|x| if it is large, else (|x| - 1) / (|x| + 1). Then atan|x| is atan(u) plus zero, pi /
// 2 or pi / 4.
Value* Atan(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  const Constants& c = ConstantsOf(m);
  Value* magnitude = m.Abs(x, "atan.magnitude");
  Value* is_above = b.CreateFCmpOGT(magnitude, m.K(kTanEighth), "atan.is_above");
  Value* is_large = b.CreateFCmpOGT(magnitude, m.K(kTanThreeEighths), "atan.is_large");
  auto choose = [&](Value* small, Value* middle, Value* large, const llvm::Twine& name) {
    return b.CreateSelect(is_large, large, b.CreateSelect(is_above, middle, small, name + ".up_to_middle"), name);
  };
  Value* numerator = choose(magnitude, b.CreateFSub(magnitude, m.K(1.0), "atan.less_one"), m.K(-1.0), "atan.numerator");
  Value* divisor = choose(m.K(1.0), b.CreateFAdd(magnitude, m.K(1.0), "atan.plus_one"), magnitude, "atan.divisor");
  Value* u = b.CreateFDiv(numerator, divisor, "atan.u");
  Value* z = b.CreateFMul(u, u, "atan.z");
  Value* base = choose(m.K(0.0), m.K(c.half_pi / 2), m.K(c.half_pi), "atan.base");
  Value* base_low = choose(m.K(0.0), m.K(c.half_pi_low / 2), m.K(c.half_pi_low), "atan.base_low");
  Value* tail = m.MulAdd(b.CreateFMul(u, z, "atan.u_z"), m.Horner(z, c.atan, "atan.poly"), base_low, "atan.tail");
  Value* result = b.CreateFAdd(base, b.CreateFAdd(u, tail, "atan.rest"), "atan.positive");
  return m.CopySign(result, x, "atan");
}

// asin|x| = asin(u), or pi/2 - 2 asin(u).
Value* Asin(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  const Constants& c = ConstantsOf(m);
  AsinParts parts = SplitAsin(m, m.Abs(x, "asin.magnitude"));
  Value* small = b.CreateFAdd(parts.u, parts.tail, "asin.small");
  Value* angle = b.CreateFAdd(parts.u, b.CreateFSub(parts.tail, m.K(c.half_pi_low / 2), "asin.less_low"), "asin.angle");
  Value* half = b.CreateFSub(m.K(c.half_pi / 2), angle, "asin.half");
  Value* large = b.CreateFAdd(half, half, "asin.large");
  return m.CopySign(b.CreateSelect(parts.is_small, small, large, "asin.positive"), x, "asin");
}

// acos(x) = pi/2 - asin(x), or 2 asin(u) for x > 1/2, or pi - 2 asin(u) for x < -1/2.
Value* Acos(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  const Constants& c = ConstantsOf(m);
  AsinParts parts = SplitAsin(m, m.Abs(x, "acos.magnitude"));
  Value* is_negative = b.CreateFCmpOLT(x, m.K(0.0), "acos.is_negative");
  Value* signed_u = m.CopySign(parts.u, x, "acos.u");
  Value* signed_tail = m.CopySign(parts.tail, x, "acos.tail");
  Value* rest = b.CreateFSub(signed_u, b.CreateFSub(m.K(c.half_pi_low), signed_tail, "acos.low"), "acos.rest");
  Value* small = b.CreateFSub(m.K(c.half_pi), rest, "acos.small");
  Value* near_one = b.CreateFAdd(parts.u, parts.tail, "acos.near_one");
  Value* beyond = b.CreateFAdd(parts.u, b.CreateFSub(parts.tail, m.K(c.half_pi_low), "acos.less_low"), "acos.beyond");
  Value* near_minus_one = b.CreateFSub(m.K(c.half_pi), beyond, "acos.near_minus_one");
  Value* half = b.CreateSelect(is_negative, near_minus_one, near_one, "acos.half");
  return b.CreateSelect(parts.is_small, small, b.CreateFAdd(half, half, "acos.large"), "acos");
}

}  // namespace tailor::math
