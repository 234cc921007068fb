// Sums and products of elements in no particular order: their error bounds cover all orders.
#ifndef TAILOR_TESTS_SUPPORT_REFERENCE_ACCUMULATE_H_
#define TAILOR_TESTS_SUPPORT_REFERENCE_ACCUMULATE_H_

#include <optional>

#include "tests/support/reference_array.h"

namespace tailor::reference {

class Sum {
 public:
  explicit Sum(DType dtype) : dtype_(dtype) {}
  // `multiplied`: the addend was multiplied, with a rounding that a program may make.
  void Add(const Element& x, bool multiplied = false);
  // The addends have factors that were divided by a sum of `count` numbers of at most 1: a program may divide last.
  void MayDivideLast(int64_t count) { growth_ = static_cast<long double>(count); }
  // With `divisor`: the mean.
  Element Result(std::optional<long double> divisor = std::nullopt) const;

 private:
  const DType dtype_;
  bool known_ = true;
  __int128 integer_ = 0;
  long double value_ = 0, magnitude_ = 0, error_ = 0;
  long double growth_ = 1;  // by so much the sum may be larger on the way
  int64_t roundings_ = 0;
  bool flushes_ = false;  // subnormal sums may be zero: instructions for matmuls in bf16 know none
};

class Product {
 public:
  explicit Product(DType dtype) : dtype_(dtype) {}
  void Multiply(const Element& x);
  Element Result() const;

 private:
  const DType dtype_;
  bool known_ = true;
  long double value_ = 1, error_ = 0, most_ = 1, least_ = 1;
  int64_t count_ = 0;
};

}  // namespace tailor::reference

#endif  // TAILOR_TESTS_SUPPORT_REFERENCE_ACCUMULATE_H_
