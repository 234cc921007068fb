#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

#include "codegen/math/avx512.h"
#include "codegen/math/functions.h"
#include "codegen/math/registers.h"

namespace tailor::math {
namespace {

using llvm::Value;

// The tail Q(t) of a distribution, t in [0, kLast], as a polynomial of t - i / 4 for the nearest integer i, highest
// power first. Fitted for the least relative error per interval; zero at kLast.
constexpr double kLast = 7.75;
constexpr int kIntervalBits = 2;              // fraction bits of the interval bounds
constexpr double kIntervalMagic = 0x1.8p+21;  // adding it leaves i in the low mantissa bits

// (1 - erf(t / sqrt(2))) / 2, the tail of the normal distribution.
constexpr float kErfTable[][32] = {
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

// (1 - tanh(sqrt(2 / pi) (t + 0.044715 t^3))) / 2.
constexpr float kTanhTable[][32] = {{-0.010748867f,   -0.0080766585f,  -0.0049358937f,  0.00048935908f,
                                     0.0043873987f,   0.0061231134f,   0.0058400729f,   0.0040424219f,
                                     0.0020586397f,   0.00052465638f,  -0.00055611774f, -0.0010086527f,
                                     -0.0010563034f,  -0.00086841098f, -0.0006079225f,  -0.00036808816f,
                                     -0.00019394964f, -8.8814188e-05f, -3.5320012e-05f, -1.214345e-05f,
                                     -3.5934629e-06f, -9.1128669e-07f, -1.9707853e-07f, -3.6152304e-08f,
                                     -5.5952887e-09f, -7.265849e-10f,  -7.8712037e-11f, -7.0724147e-12f,
                                     -5.2394515e-13f, -3.1811535e-14f, -1.5733342e-15f, 0.0f},
                                    {0.00018131039f, -0.012512944f,  -0.019983528f,  -0.023035852f,
                                     -0.020013548f,  -0.013354909f,  -0.0057996274f, 0.00043888489f,
                                     0.0042888913f,  0.0058264271f,  0.0057349056f,  0.0047178534f,
                                     0.0034017216f,  0.0021815705f,  0.0012503897f,  0.00063915894f,
                                     0.00029018617f, 0.00011642546f, 4.1049017e-05f, 1.2646556e-05f,
                                     3.385094e-06f,  7.8271734e-07f, 1.554361e-07f,  2.6354002e-08f,
                                     3.792386e-09f,  4.6040388e-10f, 4.686946e-11f,  3.9765136e-12f,
                                     2.7944024e-13f, 1.6163632e-14f, 7.647509e-16f,  0.0f},
                                    {0.066799544f,    0.060602102f,    0.04388985f,     0.021555644f,
                                     -0.00041333315f, -0.017247682f,   -0.026726449f,   -0.029191056f,
                                     -0.026606046f,   -0.021361198f,   -0.015454615f,   -0.01017467f,
                                     -0.006110026f,   -0.0033407763f,  -0.0016559646f,  -0.00073996716f,
                                     -0.00029622007f, -0.00010555201f, -3.3261487e-05f, -9.2100281e-06f,
                                     -2.2267354e-06f, -4.6711335e-07f, -8.4487844e-08f, -1.3093848e-08f,
                                     -1.7279207e-09f, -1.9295063e-10f, -1.8118286e-11f, -1.421724e-12f,
                                     -9.2644391e-14f, -4.9820047e-15f, -2.1970666e-16f, 0.0f},
                                    {8.5353548e-07f, 0.04855302f,    0.08825317f,    0.11296348f,
                                     0.12069853f,    0.11365431f,    0.096690416f,   0.075333156f,
                                     0.054168746f,   0.036085036f,   0.022286758f,   0.012740258f,
                                     0.006716432f,   0.0032489256f,  0.0014334675f,  0.00057315332f,
                                     0.00020628859f, 6.6383807e-05f, 1.8971605e-05f, 4.7829676e-06f,
                                     1.0567238e-06f, 2.0325101e-07f, 3.3811165e-08f, 4.8328355e-09f,
                                     5.8968463e-10f, 6.1020772e-11f, 5.320354e-12f,  3.8830541e-13f,
                                     2.3569049e-14f, 1.1819876e-15f, 4.8658056e-17f, 0.0f},
                                    {-0.39894229f,    -0.38661075f,    -0.35188377f,    -0.30087668f,
                                     -0.24177209f,    -0.18265702f,    -0.12977538f,    -0.086693659f,
                                     -0.054400206f,   -0.032001782f,   -0.017594114f,   -0.0090026688f,
                                     -0.0042655435f,  -0.0018606151f,  -0.0007424854f,  -0.00026928689f,
                                     -8.8170957e-05f, -2.5887264e-05f, -6.7696546e-06f, -1.5661931e-06f,
                                     -3.1842882e-07f, -5.6515464e-08f, -8.6979481e-09f, -1.153114e-09f,
                                     -1.3081206e-10f, -1.2614166e-11f, -1.0271152e-12f, -7.0152455e-14f,
                                     -3.9924542e-15f, -1.8806899e-16f, -7.284121e-18f,  0.0f},
                                    {0.5f,           0.40129858f,    0.30857199f,    0.22671926f,
                                     0.15880801f,    0.10582864f,    0.066952281f,   0.040116925f,
                                     0.022701154f,   0.01208948f,    0.0060337065f,  0.002808416f,
                                     0.0012124641f,  0.00048265452f, 0.00017605649f, 5.8467234e-05f,
                                     1.7561497e-05f, 4.7393073e-06f, 1.1414994e-06f, 2.4374833e-07f,
                                     4.5836188e-08f, 7.5400015e-09f, 1.0777687e-09f, 1.329737e-10f,
                                     1.4066532e-11f, 1.2673138e-12f, 9.6594343e-14f, 6.1870497e-15f,
                                     3.308057e-16f,  1.4665995e-17f, 5.3553622e-19f, 0.0f}};

// max(x, 0) - |x| Q(|x|). NaN for -inf, which the formulas multiply by zero.
Value* TabulatedGate(const LaneMath& m, Value* x, llvm::ArrayRef<float[32]> table) {
  auto& b = m.builder();
  Value* t = BoundedMagnitude(m, x, kLast, "gelu.magnitude");
  Value* index = m.Bits(b.CreateFAdd(t, m.K(kIntervalMagic), "gelu.shifted"), "gelu.index");
  Value* u = ReduceFraction(m, t, kIntervalBits, "gelu.u");
  Value* sum = nullptr;
  for (const auto& coefficients : table) {
    Value* c = LookUp(m, coefficients, index, "gelu.coefficient");
    sum = sum == nullptr ? c : m.MulAdd(sum, u, c, "gelu.beyond");
  }
  Value* positive = PositivePart(m, x, "gelu.positive");
  return m.MulAdd(b.CreateFNeg(t, "gelu.minus_magnitude"), sum, positive, "gelu");
}

// Q(t) = 2^(t P(t)) / 2 where registers hold no table of intervals. Fitted for the least absolute error of t Q(t), for
// t <= 1 relative to Q(t). Beyond the fitted range it goes on falling until `last`, to 2^-110 and 2^-47.
struct TailPower {
  double last;
  llvm::ArrayRef<double> polynomial;  // P
};

constexpr double kErfPolynomial[] = {-3.2854555e-06, 4.422715e-05, -0.00020637084, -9.560201e-05,
                                     0.007019631,    -0.052472983, -0.4592136,     -1.1511048};
constexpr double kTanhPolynomial[] = {1.9407123e-06, -3.7690737e-05, 0.00027104476, -0.00081822235, 0.0007047288,
                                      -0.0010080643, 0.008167353,    -0.051616352,  -0.4592041,     -1.151105};
const TailPower kErfPower{9.5, kErfPolynomial}, kTanhPower{7, kTanhPolynomial};

// 2^y = T[k mod 8] 2^floor(k / 8) 2^f with y = k / 8 + f. The low bits of k / 8 + kEighthMagic are those of k; shifted
// to kEighthField, they add k / 8 to the exponent, and its fraction to the mantissa, which T[j] lacks.
constexpr double kEighthMagic = 0x1.8p+20;
constexpr int kEighthField = 20;
constexpr double kEighthPolynomial[] = {0.05551147, 0.24025764, 0.6931472};  // (2^f - 1) / f, |f| <= 1 / 16

constexpr std::array<float, 8> HalfPowers() {
  constexpr float kPowers[] = {1.0f,       1.0905077f, 1.1892071f, 1.2968396f,
                               1.4142135f, 1.5422108f, 1.6817929f, 1.8340081f};
  std::array<float, 8> table;
  for (uint32_t j = 0; j < 8; ++j) {
    table[j] = std::bit_cast<float>(std::bit_cast<uint32_t>(0.5f * kPowers[j]) - (j << kEighthField));
  }
  return table;
}

// 2^(j / 8) over its rounded value, less 1.
constexpr float kLost[] = {0.0f,           -1.1992157e-08f, 3.1934181e-08f,  -3.0990721e-08f,
                           1.7114271e-08f, 5.2333342e-09f,  -1.4719606e-08f, -6.1282598e-09f};

// As TabulatedGate. x - min(x, 0) is max(x, 0), but NaN for -inf. A core finds work in few vectors at a time, each a
// chain of dependent operations, hence pairs; the greatest terms are added last, for smaller rounding errors.
// The exponent y = t P(t) is not rounded before its fraction f is left.
Value* PowerGate(const LaneMath& m, Value* x, const TailPower& tail) {
  static constexpr std::array<float, 8> kTable = HalfPowers();
  auto& b = m.builder();
  Value* t = m.AtMost(m.Abs(x, "gelu.magnitude"), tail.last, "gelu.bounded");
  Value* p = m.HornerOfPairs(t, tail.polynomial.drop_back(2), "gelu.poly");
  for (const double c : tail.polynomial.take_back(2)) p = m.MulAdd(p, t, m.K(c), "gelu.slope");
  Value* shifted = m.MulAdd(t, p, m.K(kEighthMagic), "gelu.shifted");
  Value* whole = b.CreateFSub(shifted, m.K(kEighthMagic), "gelu.eighths");
  Value* index = m.Bits(shifted, "gelu.index");
  Value* f = m.MulAdd(t, p, b.CreateFNeg(whole, "gelu.minus_eighths"), "gelu.fraction");
  Value* entry = m.Bits(LookUp(m, kTable, index, "gelu.entry"), "gelu.entry_bits");
  Value* field = b.CreateShl(index, m.KBits(kEighthField), "gelu.field");
  Value* power = m.FromBits(b.CreateAdd(entry, field, "gelu.power_bits"), "gelu.power");
  Value* lost = LookUp(m, kLost, index, "gelu.lost");
  Value* rest = m.MulAdd(m.Horner(f, kEighthPolynomial, "gelu.power_poly"), f, lost, "gelu.rest");
  Value* beyond = m.MulAdd(power, rest, power, "gelu.beyond");
  Value* positive = b.CreateFSub(x, m.AtMost(x, 0, "gelu.negative"), "gelu.positive");
  return m.MulAdd(b.CreateFNeg(t, "gelu.minus_bounded"), beyond, positive, "gelu");
}

Value* Gate(const LaneMath& m, Value* x, llvm::ArrayRef<float[32]> table, const TailPower& tail) {
  assert(m.avx2() && !m.is_double());
  return m.avx512() ? TabulatedGate(m, x, table) : PowerGate(m, x, tail);
}

}  // namespace

Value* GeluErf(const LaneMath& m, Value* x) { return Gate(m, x, kErfTable, kErfPower); }

Value* GeluTanh(const LaneMath& m, Value* x) { return Gate(m, x, kTanhTable, kTanhPower); }

}  // namespace tailor::math
