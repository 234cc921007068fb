#include "bindings/frontend/random.h"

#include <string_view>
#include <vector>

#include "bindings/frontend/error.h"

namespace tailor::frontend {
namespace {

constexpr int kRounds = 10;
constexpr int64_t kLowWord = 0xffffffff;

Tensor Xor(const Tensor& a, const Tensor& b) { return Binary(BinaryOp::kXor, a, b); }
Tensor ShiftLeft(const Tensor& x, int bits) { return Binary(BinaryOp::kShiftLeft, x, bits); }
Tensor ShiftRight(const Tensor& x, int bits) { return Binary(BinaryOp::kShiftRight, x, bits); }

// The two words of the key in each round: u64 [2 * kRounds], first all of the first word. One tensor, so that a kernel
// computes them before its loop; bits beyond the lowest 32 are not cut.
Tensor RoundKeys(const Tensor& key) {
  constexpr int64_t kSteps[] = {0x9e3779b9, 0xbb67ae85};
  std::vector<int64_t> shifts, added;
  for (int word = 0; word < 2; ++word) {
    for (int round = 0; round < kRounds; ++round) {
      shifts.push_back(32 * word);
      added.push_back(round * kSteps[word]);
    }
  }
  Builder& builder = key.builder();
  const auto constant = [&](const std::vector<int64_t>& values) {
    return builder.Constant(Array::Integers(values, DType::kU64));
  };
  return Binary(BinaryOp::kShiftRight, key, constant(shifts)) + constant(added);
}

// x[index] of rank 0. Not Slice and Reshape, which would make it a known element that dims might take up.
Tensor EntryOf(const Tensor& x, int64_t index) {
  Builder& builder = x.builder();
  if (const Array* array = x.array()) return builder.Constant(Array::Integer(x.dtype(), array->integer(index)));
  const tailor_dim start = builder.dims().Handle(index), size = builder.dims().Handle(1);
  return builder.Append({x}, [&](tailor_value* out) -> tailor_status* {
    tailor_value entry;
    Check(tailor_graph_slice(builder.graph(), x.value(), &start, 1, &size, 1, nullptr, &entry));
    return tailor_graph_reshape(builder.graph(), entry, nullptr, 0, out);
  });
}

// Row-major indices: u64. Not Iota, which would be a constant for small shapes.
Tensor IndicesOf(Builder& builder, const Shape& shape) {
  const tailor_dim count = builder.dims().Handle(builder.dims().Product(shape));
  const std::vector<tailor_dim> dims = builder.dims().Handles(shape);
  return builder.Append({}, [&](tailor_value* out) -> tailor_status* {
    tailor_value flat;
    Check(tailor_graph_iota(builder.graph(), &count, 1, 0, TAILOR_U64, &flat));
    return tailor_graph_reshape(builder.graph(), flat, dims.data(), dims.size(), out);
  });
}

// ---- Floats. Only ops that round correctly: add, mul, div, sqrt and moves of bits.

// What the types differ in. Polynomials: minimax, highest power first.
struct FloatFormulas {
  DType bits;  // the integer of the same size
  int mantissa_bits;
  int64_t root_half;              // bits of sqrt(1/2)
  std::vector<double> log, sine;  // 2 artanh(s) / s and sin(2 pi r) / r, of s^2 <= 0.0295 and r^2 <= 1/16
};

const FloatFormulas& FormulasOf(DType dtype) {
  static const auto* f32 = new FloatFormulas{DType::kI32,
                                             23,
                                             0x3f3504f3,
                                             {0.2992439, 0.39974850, 0.66666815, 2.0},
                                             {39.759827, -76.581173, 81.602476, -41.341681, 6.2831853}};
  static const auto* f64 = new FloatFormulas{
      DType::kI64,
      52,
      0x3fe6a09e667f3bcd,
      {0.14809710360655277, 0.15312528148364191, 0.18183631680229329, 0.22222197056726047, 0.28571428760641680,
       0.39999999999302338, 0.66666666666667646, 2.0},
      {0.10089695501646811, -0.71773379214134533, 3.8199280942271642, -15.094641676117900, 42.058693925428682,
       -76.705859752824919, 81.605249276073615, -41.341702240399757, 6.2831853071795865}};
  return dtype == DType::kF64 ? *f64 : *f32;
}

Tensor Polynomial(const Tensor& x, const std::vector<double>& coefficients) {
  Tensor sum = x * coefficients[0] + coefficients[1];
  for (size_t i = 2; i < coefficients.size(); ++i) sum = sum * x + coefficients[i];
  return sum;
}

// The logarithm of normal numbers > 0: u = 2^e m, m in [sqrt(1/2), sqrt(2)), log m = 2 artanh((m - 1) / (m + 1)).
Tensor LogOf(const Tensor& u) {
  const FloatFormulas& formulas = FormulasOf(u.dtype());
  const Tensor offset = Bitcast(u, formulas.bits) - formulas.root_half;
  const Tensor exponent = ShiftRight(offset, formulas.mantissa_bits);
  const Tensor mantissa = (offset & ((int64_t{1} << formulas.mantissa_bits) - 1)) + formulas.root_half;
  const Tensor m = Bitcast(mantissa, u.dtype());
  const Tensor s = (m - 1.0) / (m + 1.0);
  return Cast(exponent, u.dtype()) * 0.69314718055994531 + s * Polynomial(s * s, formulas.log);
}

// cos(2 pi t) for t in [0, 1), with the other sign.
Tensor CosineOfTurns(const Tensor& t) {
  const Tensor r = Abs(t - 0.5) - 0.25;
  return r * Polynomial(r * r, FormulasOf(t.dtype()).sine);
}

// The highest bits of one or two words as a number in [0, 1).
Tensor Fraction(const Tensor& high, const Tensor& low, DType dtype) {
  if (dtype == DType::kF32) return Cast(Cast(ShiftRight(high, 8), DType::kI32), dtype) * 0x1p-24;
  return Cast(Cast(ShiftRight(ShiftLeft(high, 32) | low, 11), DType::kI64), dtype) * 0x1p-53;
}

// Those as a number in (0, 1], with more digits where it is small.
Tensor PositiveFraction(const Tensor& high, const Tensor& low, DType dtype) {
  if (dtype == DType::kF32) return Cast(Cast(high, DType::kU32), dtype) * 0x1p-32 + 0x1p-33;
  return Fraction(high, low, dtype) + 0x1p-54;
}

}  // namespace

std::array<Tensor, 4> Philox(const std::array<Tensor, 4>& counter, const Tensor& key) {
  constexpr int64_t kMultipliers[] = {0xd2511f53, 0xcd9e8d57};
  const Tensor keys = RoundKeys(key);
  std::array<Tensor, 4> words = counter;
  for (int round = 0; round < kRounds; ++round) {
    // Only factors need their upper halves cut, and a product of 32-bit factors is one instruction.
    const Tensor even = (words[0] & kLowWord) * kMultipliers[0], odd = (words[2] & kLowWord) * kMultipliers[1];
    const Tensor first = EntryOf(keys, round), second = EntryOf(keys, kRounds + round);
    words = {Xor(Xor(ShiftRight(odd, 32), words[1]), first), odd, Xor(Xor(ShiftRight(even, 32), words[3]), second),
             even};
  }
  for (Tensor& word : words) word = word & kLowWord;
  return words;
}

RunState AppendRunState(Builder& builder) {
  constexpr std::string_view kOperator = "tailor.run_state";
  const tailor_dim size = builder.dims().Handle(2);
  const tailor_custom_result seed_and_run = {&size, 1, TAILOR_U64, -1};
  const Tensor both = builder.Append({}, [&](tailor_value* out) {
    return tailor_graph_custom(builder.graph(), kOperator.data(), kOperator.size(), nullptr, 0, &seed_and_run, 1,
                               nullptr, out);
  });
  return {EntryOf(both, 0), EntryOf(both, 1)};
}

RunState InIteration(const RunState& state, const Tensor& iteration) {
  // With fewer than 2^32 runs and 2^31 iterations no two (run, iteration) pairs collide: the lattice of the two factors
  // has no shorter vector.
  constexpr auto kPerRun = static_cast<int64_t>(0xd1342543de82ef95);
  constexpr auto kPerIteration = static_cast<int64_t>(0x9e3779b97f4a7c15);
  return {state.seed, state.run * kPerRun + (Cast(iteration, DType::kU64) + 1) * kPerIteration};
}

RandomStream RandomStream::OfSeed(Builder& builder, uint64_t seed) {
  const Tensor key = builder.Constant(Array::Integer(DType::kU64, static_cast<int64_t>(seed)));
  return RandomStream(key, builder.run_state().run);
}

RandomStream RandomStream::OfNode(Builder& builder, uint64_t node) {
  const RunState& state = builder.run_state();
  return RandomStream(state.seed + static_cast<int64_t>(node), state.run);
}

// One block for each element: 18 products, 18 shifts and 19 three-way xors for 8 elements with AVX-512, as the first
// and the last round need only one product. A block for 4 elements would need a quarter of them, but its words would
// have to be joined by a concat, which ends fusion: 2.4 ns instead of 1.6 ns for a uniform f32 of 2^20, with one
// thread.
std::array<Tensor, 4> RandomStream::Words(const Shape& shape) const {
  const Tensor index = IndicesOf(key_.builder(), shape);
  return Philox({index, ShiftRight(index, 32), run_, ShiftRight(run_, 32)}, key_);
}

Tensor RandomStream::Uniform(const Shape& shape, DType dtype) const {
  const auto words = Words(shape);
  return Fraction(words[0], words[1], dtype);
}

Tensor RandomStream::Normal(const Shape& shape, DType dtype) const {
  const auto words = Words(shape);
  const bool wide = dtype == DType::kF64;
  const Tensor radius = Sqrt(LogOf(PositiveFraction(words[0], words[1], dtype)) * -2.0);
  return radius * CosineOfTurns(Fraction(words[wide ? 2 : 1], words[3], dtype));
}

Tensor RandomStream::Happens(const Tensor& probability, const Shape& shape) const {
  const Tensor limit = Cast(probability * 0x1p32, DType::kI64);
  return Cast(Words(shape)[0], DType::kI64) < limit;
}

}  // namespace tailor::frontend
