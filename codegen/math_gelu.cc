#include <cassert>

#include "codegen/math_avx512.h"
#include "codegen/math_functions.h"

namespace tailor::math {
namespace {

using llvm::Value;

// What the normal distribution has beyond t in [0, kLast], Q(t) = (1 - erf(t / sqrt(2))) / 2, is a polynomial of
// t - i / 4 for the nearest whole i, fitted for the least relative error in each interval, highest power first; zero at
// kLast.
constexpr double kLast = 7.75;
constexpr int kIntervalBits = 2;              // of fraction in the bounds of intervals
constexpr double kIntervalMagic = 0x1.8p+21;  // adding it leaves i in the low mantissa bits
constexpr float kTable[][32] = {
    {-0.0031192272f, -0.011842521f,  -0.020127328f,  -0.022858474f,  -0.020061269f,  -0.013578535f,  -0.0060004643f,
     0.00042974384f, 0.0045039607f,  0.0061194529f,  0.0059053744f,  0.004724035f,   0.0032985765f,  0.002059459f,
     0.0011652437f,  0.00060246978f, 0.0002862415f,  0.00012546559f, 5.0883627e-05f, 1.9136338e-05f, 6.6853372e-06f,
     2.1725848e-06f, 6.5752471e-07f, 1.854971e-07f,  4.8819523e-08f, 1.1994189e-08f, 2.7524345e-09f, 5.9026345e-10f,
     1.1834332e-10f, 2.2190836e-11f, 3.8929558e-12f, -4.7225729e-10f},
    {0.066833034f,    0.060251851f,    0.043918792f,    0.021960318f,    7.8168909e-05f,  -0.01700718f,
     -0.026868945f,   -0.029574156f,   -0.026951773f,   -0.021481322f,   -0.01534999f,    -0.00996764f,
     -0.0059304074f,  -0.0032504045f,  -0.0016473695f,  -0.00077417458f, -0.00033804897f, -0.00013737513f,
     -5.2020448e-05f, -1.8374716e-05f, -6.0591319e-06f, -1.8665708e-06f, -5.3749636e-07f, -1.4474982e-07f,
     -3.6471658e-08f, -8.6009493e-09f, -1.8990149e-09f, -3.9266476e-10f, -7.6055919e-11f, -1.3802424e-11f,
     -2.3473205e-12f, -1.3185211e-10f},
    {-1.5409792e-05f, 0.048334125f,   0.088016361f,   0.11292601f,    0.12098422f,    0.11415431f,    0.097136945f,
     0.075491786f,    0.053990584f,   0.035707157f,   0.021910705f,   0.012504087f,   0.0066481908f,  0.0032975331f,
     0.0015274212f,   0.00066125521f, 0.0002677367f,  0.00010144037f, 3.5980989e-05f, 1.1952498e-05f, 3.7196869e-06f,
     1.0847629e-06f,  2.9651474e-07f, 7.5985319e-08f, 1.8258396e-08f, 4.1144661e-09f, 8.6964641e-10f, 1.7242655e-10f,
     3.2073462e-11f,  5.5977176e-12f, 9.1672395e-13f, -1.2195857e-11f},
    {-0.39894202f,    -0.38666746f,    -0.35206497f,    -0.30113745f,    -0.24197103f,    -0.18264954f,
     -0.12951803f,    -0.086277641f,   -0.053991135f,   -0.031739686f,   -0.017528253f,   -0.0090934811f,
     -0.0044317679f,  -0.0020289854f,  -0.00087264105f, -0.00035257122f, -0.0001338173f,  -4.7712438e-05f,
     -1.5981022e-05f, -5.0284107e-06f, -1.4863118e-06f, -4.1270692e-07f, -1.0765294e-07f, -2.6379231e-08f,
     -6.0722565e-09f, -1.313075e-09f,  -2.6673511e-10f, -5.0900468e-11f, -9.1246056e-12f, -1.5365864e-12f,
     -2.4308059e-13f, -4.7701865e-13f},
    {0.5f,           0.40129367f,    0.30853754f,    0.22662735f,
     0.15865526f,    0.10564978f,    0.066807203f,   0.04005916f,
     0.022750134f,   0.012224473f,   0.006209665f,   0.0029797624f,
     0.0013498972f,  0.00057702436f, 0.00023262862f, 8.8417e-05f,
     3.1671087e-05f, 1.0688447e-05f, 3.3976369e-06f, 1.0170679e-06f,
     2.8664562e-07f, 7.6047463e-08f, 1.898885e-08f,  4.4619526e-09f,
     9.8652464e-10f, 2.0520959e-10f, 4.0155858e-11f, 7.3913011e-12f,
     1.279607e-12f,  2.0834464e-13f, 3.1901226e-14f, 0.0f}};

}  // namespace

Value* GeluErf(const LaneMath& m, Value* x) {
  assert(m.avx512() && !m.is_double());
  auto& b = m.builder();
  Value* t = BoundedMagnitude(m, x, kLast, "gelu.magnitude");
  Value* index = m.Bits(b.CreateFAdd(t, m.K(kIntervalMagic), "gelu.shifted"), "gelu.index");
  Value* u = RestOfFraction(m, t, kIntervalBits, "gelu.u");
  Value* sum = nullptr;
  for (const auto& coefficients : kTable) {
    Value* c = LookUp(m, coefficients, index, "gelu.coefficient");
    sum = sum == nullptr ? c : m.MulAdd(sum, u, c, "gelu.beyond");
  }
  Value* zero = m.K(0);
  Value* positive = b.CreateSelect(b.CreateFCmpOGT(zero, x, "gelu.is_negative"), zero, x, "gelu.positive");
  return m.MulAdd(b.CreateFNeg(t, "gelu.minus_magnitude"), sum, positive, "gelu");
}

Value* TanhGate(const LaneMath& m, Value* v, Value* z) {
  assert(m.avx512() && !m.is_double());
  constexpr double kMost = 80;  // 1 + exp(kMost) has an inverse that is no subnormal
  auto& b = m.builder();
  Value* power = Exp(m, m.AtMost(b.CreateFMul(z, m.K(-2), "gate.minus_twice"), kMost, "gate.bounded"));
  Value* divisor = b.CreateFAdd(power, m.K(1), "gate.divisor");
  Value* rough = RoughInverse(m, divisor, "gate.rough");
  Value* rest = m.MulAdd(b.CreateFNeg(divisor), rough, m.K(1), "gate.rest");
  return b.CreateFMul(v, m.MulAdd(rest, rough, rough, "gate.inverse"), "gate");
}

}  // namespace tailor::math
