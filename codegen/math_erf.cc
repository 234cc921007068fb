#include "codegen/math_functions.h"

namespace tailor::math {
namespace {

using llvm::Value;

// erf(x) = x + x P(x^2) for |x| < bound, else 1 - exp(-t - t Q(t)) with t = |x| and x's sign, where beyond
// `last` the result is 1.
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

}  // namespace

Value* Erf(const LaneMath& m, Value* x) {
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
  // Unordered or less: NaN takes the polynomial, which keeps it.
  Value* is_small = b.CreateFCmpULT(magnitude, m.K(c.bound), "erf.is_small");
  return b.CreateSelect(is_small, small, large, "erf");
}

}  // namespace tailor::math
