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
    {-0.0098663978f,  -0.0084271617f,  -0.0045467052f,  0.00016779649f,  0.0040328326f,   0.00596955f,
     0.0058414335f,   0.004283282f,    0.0022283481f,   0.00045001783f,  -0.00066952594f, -0.0011199812f,
     -0.0011024913f,  -0.0008598899f,  -0.0005739989f,  -0.00033878689f, -0.00017986775f, -8.6792643e-05f,
     -3.8323495e-05f, -1.5558262e-05f, -5.8274618e-06f, -2.0191303e-06f, -6.4849814e-07f, -1.933862e-07f,
     -5.3616045e-08f, -1.3835548e-08f, -3.3260774e-09f, -7.4549333e-10f, -1.5589161e-10f, -3.0431394e-11f,
     -5.5483148e-12f, -1.156518e-08f},
    {-2.0332003e-05f, -0.011786566f,  -0.020098673f,  -0.022867193f,  -0.020117104f,  -0.013661389f,  -0.006086369f,
     0.00036275064f,  0.0044678659f,  0.0061141043f,  0.0059221084f,  0.0047511938f,  0.0033264197f,  0.0020823379f,
     0.001181368f,    0.00061251328f, 0.00029186119f, 0.00012831858f, 5.22066e-05f,   1.9699362e-05f, 6.9060161e-06f,
     2.252463e-06f,   6.842829e-07f,  1.9380707e-07f, 5.1215448e-08f, 1.2636275e-08f, 2.9125364e-09f, 6.2743871e-10f,
     1.2638765e-10f,  2.3814076e-11f, 4.1985738e-12f, -3.9435388e-09f},
    {0.066491887f,    0.060416337f,    0.04400754f,     0.021957424f,    -2.4531974e-07f, -0.017123267f,
     -0.026982477f,   -0.029657347f,   -0.026995031f,   -0.021490075f,   -0.015337119f,   -0.0099460809f,
     -0.0059092105f,  -0.0032339015f,  -0.0016363763f,  -0.00076770119f, -0.0003346208f,  -0.00013572541f,
     -5.1294126e-05f, -1.8080758e-05f, -5.9493887e-06f, -1.8286777e-06f, -5.2537024e-07f, -1.4114755e-07f,
     -3.5476944e-08f, -8.3453431e-09f, -1.8378368e-09f, -3.7901537e-10f, -7.3215309e-11f, -1.3250673e-11f,
     -2.2472449e-12f, -4.9362403e-10f},
    {-4.8289937e-08f, 0.04833325f,    0.088015914f,   0.11292613f,    0.12098509f,    0.1141556f,     0.097138286f,
     0.075492829f,    0.05399115f,    0.035707243f,   0.021910444f,   0.012503665f,   0.0066477582f,  0.0032971778f,
     0.0015271711f,   0.00066109962f, 0.00026764974f, 0.00010139625f, 3.5960558e-05f, 1.1943815e-05f, 3.7162874e-06f,
     1.0835341e-06f,  2.9610374e-07f, 7.5857869e-08f, 1.822171e-08f,  4.1046508e-09f, 8.6720336e-10f, 1.718603e-10f,
     3.1951164e-11f,  5.573088e-12f,  9.1209624e-13f, -2.7277191e-11f},
    {-0.39894229f,    -0.38666812f,    -0.35206532f,    -0.30113742f,    -0.24197072f,    -0.18264909f,
     -0.1295176f,     -0.086277321f,   -0.053990968f,   -0.031739652f,   -0.017528301f,   -0.0090935621f,
     -0.0044318479f,  -0.0020290476f,  -0.00087268231f, -0.00035259541f, -0.00013383004f, -4.7718531e-05f,
     -1.5983687e-05f, -5.0294825e-06f, -1.486709e-06f,  -4.1284306e-07f, -1.0769616e-07f, -2.6391961e-08f,
     -6.0757399e-09f, -1.3139616e-09f, -2.6694516e-10f, -5.094684e-11f,  -9.1341483e-12f, -1.5384182e-12f,
     -2.434087e-13f,  -6.7910131e-13f},
    {0.5f,           0.40129367f,    0.30853754f,    0.22662735f,
     0.15865526f,    0.10564978f,    0.066807203f,   0.040059157f,
     0.022750132f,   0.012224472f,   0.0062096654f,  0.0029797631f,
     0.0013498981f,  0.00057702506f, 0.0002326291f,  8.8417299e-05f,
     3.167125e-05f,  1.0688531e-05f, 3.3976753e-06f, 1.0170843e-06f,
     2.8665195e-07f, 7.6049751e-08f, 1.8989612e-08f, 4.462188e-09f,
     9.8659203e-10f, 2.0522752e-10f, 4.0160295e-11f, 7.3923246e-12f,
     1.2798267e-12f, 2.0838863e-13f, 3.1909435e-14f, 0.0f}};

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

}  // namespace tailor::math
