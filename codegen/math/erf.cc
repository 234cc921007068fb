#include "codegen/math/avx512.h"
#include "codegen/math/functions.h"
#include "codegen/math/registers.h"

namespace tailor::math {
namespace {

using llvm::Value;

// erf(x) = x + x P(x^2) for |x| < bound, else 1 - exp(-t - t Q(t)) with t = |x| and x's sign. Beyond `last` the result
// is 1.
struct ErfConstants {
  double bound, last;
  llvm::ArrayRef<double> small, large;
};

constexpr double kSmallF32[] = {8.382376108784229e-05, -0.0008145601022988558, 0.005201287101954222,
                                -0.026859501376748085, 0.11283697187900543,    -0.37612634897232056,
                                0.12837916612625122};
constexpr double kLargeF32[] = {1.1521102351252921e-05, -0.00032564037246629596, 0.003653713036328554,
                                -0.023785239085555077,  0.10626301914453506,     0.6351360082626343,
                                0.12865214049816132};
constexpr double kSmallF64[] = {5.945255584220722e-11,   -1.1365670671825423e-09, 1.4657883530919173e-08,
                                -1.6350026192077193e-07, 1.6460972954153757e-06,  -1.4925593518728226e-05,
                                0.00012055331037551108,  -0.0008548326978765149,  0.00522397762478137,
                                -0.02686617064507296,    0.11283791670954858,     -0.3761263890318375,
                                0.1283791670955126};
constexpr double kLargeF64[] = {
    2.0098562998779363e-13, -9.946628088161831e-12, 2.3194318667941355e-10,  -3.3880125234673776e-09,
    3.47398500186259e-08,   -2.65258875898598e-07,  1.5580219201444814e-06,  -7.141700530013422e-06,
    2.543310063419682e-05,  -6.774753957044002e-05, 0.00011702514991638933,  -3.253275433672292e-05,
    -0.0005380991020594294, 0.0016595693288181106,  -0.00018925539174626945, -0.01913653168033512,
    0.10277490040903217,    0.6366193647154003,     0.12837920106094589};

const ErfConstants kF32{0.92, 3.95, kSmallF32, kLargeF32};
const ErfConstants kF64{1.0, 6.0, kSmallF64, kLargeF64};

// erf(t) = min(t, kBase) + t Q(u) for t in [0, kLast]; beyond it the result is 1. u = t - i / 8 for the nearest integer
// i; Q is the polynomial of the i-th interval, highest power first. kBase is between two intervals.
constexpr double kBase = 1.1875, kLast = 3.93;
constexpr int kIntervalBits = 3;              // fraction bits of the interval bounds
constexpr double kIntervalMagic = 0x1.8p+20;  // adding it leaves i in the low mantissa bits
constexpr float kTable[][32] = {
    {0.10355731f,     0.10683601f,    0.088913925f,    0.06288703f,     0.0331172f,    0.0017032033f,   -0.024767263f,
     -0.044766564f,   -0.056453537f,  -0.062416684f,   -0.44743934f,    -0.29210955f,  -0.19709513f,    -0.13466795f,
     -0.09190825f,    -0.06264828f,   -0.041294757f,   -0.0280078f,     -0.017680526f, -0.010250036f,   -0.008057576f,
     -0.0060259625f,  -0.0037735226f, -0.0012728521f,  -4.1055097e-05f, 5.986221e-05f, -2.8853668e-05f, 3.7105863e-05f,
     -6.5253273e-04f, 4.6882953e-04f, -3.6318484e-04f, 4.4663547e-04f},
    {0.0011179163f, 0.055298246f,  0.10455391f,    0.142774f,    0.16666998f,   0.17512402f,   0.16916806f,
     0.15148021f,   0.12583956f,   0.09622813f,    0.5542377f,   0.3721486f,    0.25134295f,   0.16931984f,
     0.113192044f,  0.074946f,     0.049132373f,   0.032026988f, 0.02088356f,   0.013705705f,  0.009172587f,
     0.0063256784f, 0.004530538f,  0.0033837063f,  0.002632605f, 0.0021184392f, 0.0017518991f, 0.0014774868f,
     0.0012631607f, 0.0010920358f, 9.5051766e-04f, 8.33949e-04f},
    {-0.37616885f,   -0.36564755f,   -0.33535078f,   -0.28849706f,   -0.22991748f,  -0.16526331f,  -0.100217886f,
     -0.039728433f,  0.012484721f,   0.05420087f,    -0.52337354f,   -0.3525343f,   -0.23738718f,  -0.15966679f,
     -0.10748136f,   -0.072746314f,  -0.049858786f,  -0.034887508f,  -0.025143003f, -0.018776283f, -0.014548631f,
     -0.011685522f,  -0.009680568f,  -0.008219867f,  -0.0071046636f, -0.006219331f, -0.00549643f,  -0.00489326f,
     -0.0043779328f, -0.0039416593f, -0.0035560718f, -0.0032253356f},
    {5.1664176e-07f, -0.0931549f,  -0.18116558f, -0.2594459f,  -0.32443416f, -0.3738972f,  -0.4070351f,  -0.4243893f,
     -0.4275933f,    -0.4190262f,  0.35855946f,  0.25048494f,  0.17768402f,  0.12869026f,  0.09573353f,  0.07350268f,
     0.058377925f,   0.047917683f, 0.0405003f,   0.03506674f,  0.030936427f, 0.027677976f, 0.025019886f, 0.022791049f,
     0.020882204f,   0.019221736f, 0.017760867f, 0.016464842f, 0.015307726f, 0.014269361f, 0.013333577f, 0.012487083f},
    {0.12837917f,   0.12252964f,   0.10530556f,   0.07764509f,  0.04099976f,   -0.0028145886f, -0.051792488f,
     -0.103914216f, -0.1572992f,   -0.21032158f,  -0.21167989f, -0.17405812f,  -0.14759657f,   -0.12865001f,
     -0.11475904f,  -0.10427197f,  -0.096088864f, -0.08948425f, -0.08398343f,  -0.07927702f,   -0.07516278f,
     -0.07150681f,  -0.06821841f,  -0.065234035f, -0.06250736f, -0.060003165f, -0.05769363f,   -0.055556092f,
     -0.05357164f,  -0.051724218f, -0.05000003f,  -0.048387107f}};
Value* TabulatedErf(const LaneMath& m, Value* x) {
  auto& b = m.builder();
  Value* t = m.AtMost(m.Abs(x, "erf.magnitude"), kLast, "erf.bounded");
  Value* index = m.Bits(b.CreateFAdd(t, m.K(kIntervalMagic), "erf.shifted"), "erf.index");
  Value* u = ReduceFraction(m, t, kIntervalBits, "erf.u");
  Value* sum = nullptr;
  for (const auto& coefficients : kTable) {
    Value* c = LookUp(m, coefficients, index, "erf.coefficient");
    sum = sum == nullptr ? c : m.MulAdd(sum, u, c, "erf.poly");
  }
  Value* result = m.MulAdd(sum, t, m.AtMost(t, kBase, "erf.base"), "erf.magnitude");
  return m.CopySign(result, x, "erf");
}

}  // namespace

Value* Erf(const LaneMath& m, Value* x) {
  if (m.avx512() && !m.is_double()) return TabulatedErf(m, x);
  auto& b = m.builder();
  const ErfConstants& c = m.is_double() ? kF64 : kF32;
  Value* magnitude = m.Abs(x, "erf.magnitude");
  Value* square = b.CreateFMul(x, x, "erf.square");
  Value* small = m.MulAdd(m.Horner(square, c.small, "erf.small_poly"), x, x, "erf.small");
  Value* t = m.AtMost(magnitude, c.last, "erf.bounded");
  Value* minus_t = b.CreateFNeg(t, "erf.minus_t");
  Value* power = m.MulAdd(m.Horner(t, c.large, "erf.large_poly"), minus_t, minus_t, "erf.power");
  Value* rest = b.CreateFSub(m.K(1.0), NormalExp(m, power, "erf.exp"), "erf.rest");
  Value* large = m.CopySign(rest, x, "erf.large");
  // Unordered or less: NaN takes the polynomial, which propagates it.
  Value* is_small = b.CreateFCmpULT(magnitude, m.K(c.bound), "erf.is_small");
  return b.CreateSelect(is_small, small, large, "erf");
}

// |x| P(x^2 - kMiddle): around the middle of its range the polynomial's terms do not cancel.
Value* ErfOfNarrow(const LaneMath& m, Value* x) {
  constexpr double kBound = 2.8, kMiddle = 3.92;  // erf(2.8) is closer to 1 than half a place of f16
  constexpr double kTerms[] = {-6.312622424786696e-09, 7.284491232439905e-08,  -5.081641916149238e-07,
                               4.324280325818108e-06,  -3.660279980977066e-05, 0.0002644367632456124,
                               -0.001711447723209858,  0.01028596144169569,    -0.061237771064043045,
                               0.5024960041046143};
  auto& b = m.builder();
  Value* bounded = m.AtMost(m.Abs(x, "erf.magnitude"), kBound, "erf.bounded");
  Value* square = m.MulAdd(bounded, bounded, m.K(-kMiddle), "erf.square");
  return m.CopySign(b.CreateFMul(m.Horner(square, kTerms, "erf.poly"), bounded, "erf.positive"), x, "erf");
}

}  // namespace tailor::math
