#include "tests/support/reference_accumulate.h"

#include <algorithm>

#include "tests/support/reference_scalar.h"

namespace tailor::reference {
namespace {

DType AccumulatorOf(DType dtype) { return SizeOf(dtype) == 2 && IsFloat(dtype) ? DType::kF32 : dtype; }

}  // namespace

void Sum::Add(const Element& x, bool multiplied) {
  known_ = known_ && x.known() && !x.overflowed;
  if (!IsFloat(dtype_)) {
    integer_ += known_ ? static_cast<__int128>(x.value) : 0;
    return;
  }
  value_ += x.value;
  if (std::isfinite(x.value)) magnitude_ += std::fabs(x.value) + x.error;
  error_ += x.error;
  roundings_ += multiplied ? 2 : 1;
  flushes_ = flushes_ || (multiplied && dtype_ == DType::kBF16);
}

Element Sum::Result(std::optional<long double> divisor) const {
  if (!known_) return Unknown();
  if (!IsFloat(dtype_)) return {WrapTo(dtype_, integer_)};
  const DType accumulate = AccumulatorOf(dtype_);
  const FloatFormat format = FormatOf(accumulate);
  long double value = value_, error = error_;
  if (magnitude_ * growth_ > format.Largest() / 2) return Unknown();  // may overflow on the way
  const long double least = flushes_ ? format.LeastNormal() : format.LeastSubnormal();
  error += static_cast<long double>(roundings_) * (format.UnitRoundoff() * magnitude_ + least);
  if (divisor) {
    value /= *divisor;
    error = *divisor == 0 ? 0 : error / *divisor;
  }
  if (std::isfinite(value)) error += format.UnitRoundoff() * std::fabs(value) + format.LeastSubnormal();
  return Rounded(dtype_, value, error, accumulate == dtype_ ? 0 : 1);
}

void Product::Multiply(const Element& x) {
  known_ = known_ && x.known();
  if (!known_) return;
  if (!IsFloat(dtype_)) {
    value_ = Apply(OpKind::kMul, dtype_, {{value_}, x}).value;
    return;
  }
  const long double magnitude = std::fabs(x.value);
  if (x.error > 0) {
    error_ = std::fabs(value_) * x.error + error_ * (magnitude + x.error);
  } else if (error_ > 0) {
    error_ *= magnitude;
  }
  value_ *= x.value;
  if (std::isfinite(magnitude)) most_ *= std::max(magnitude, 1.0L);
  if (magnitude > 0) least_ *= std::min(magnitude, 1.0L);
  ++count_;
}

Element Product::Result() const {
  if (!known_) return Unknown();
  if (!IsFloat(dtype_)) return {value_};
  const FloatFormat format = FormatOf(AccumulatorOf(dtype_));
  // On the way a program may overflow, or lose bits to underflow.
  if (most_ > format.Largest() / 2 || least_ < 2 * format.LeastNormal() || std::isnan(error_)) return Unknown();
  return Rounded(dtype_, value_, error_, static_cast<long double>(count_ + 1));
}

}  // namespace tailor::reference
