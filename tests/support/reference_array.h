// Arrays of the reference evaluator: the exact value of each element, and the error that a correct program may have.
#ifndef TAILOR_TESTS_SUPPORT_REFERENCE_ARRAY_H_
#define TAILOR_TESTS_SUPPORT_REFERENCE_ARRAY_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/dtype.h"

namespace tailor::reference {

// `value` holds every element type exactly: long double has the 64 bits of the widest integer. A program's result
// is right within `error` of it. An unknown element (infinite error) may be anything, as where two floats that a
// comparison meets are too close to tell which is larger. Integers and bools are exact or unknown.
struct Element {
  long double value = 0;
  long double error = 0;
  bool overflowed = false;  // a product of finite factors; a sum may add it before it is rounded to infinity
  bool known() const { return !std::isinf(error); }
};

inline Element Unknown() { return {0, INFINITY}; }

struct Array {
  DType dtype = DType::kInvalid;
  std::vector<int64_t> dims;
  std::vector<Element> elements;  // row-major
};

int64_t CountOf(const std::vector<int64_t>& dims);

// The limits of a float type.
struct FloatFormat {
  int precision;       // bits, the hidden one included
  int least_exponent;  // of a normal number
  int most_exponent;
  long double Largest() const;
  long double LeastNormal() const { return std::ldexp(1.0L, least_exponent); }
  long double LeastSubnormal() const { return std::ldexp(1.0L, least_exponent - precision + 1); }
  long double UnitRoundoff() const { return std::ldexp(1.0L, -precision); }
};
FloatFormat FormatOf(DType dtype);

// The nearest value of the float type `dtype`, ties to even.
long double RoundTo(DType dtype, long double value);
// `value` modulo 2^bits, in the range of the integer type `dtype`.
long double WrapTo(DType dtype, __int128 value);
long double LeastOf(DType dtype);  // of an integer type
long double MostOf(DType dtype);

// Elements from and to memory. Values must be such that `dtype` has.
Array FromBytes(DType dtype, std::vector<int64_t> dims, const void* bytes);
std::vector<std::byte> ToBytes(const Array& array);

}  // namespace tailor::reference

#endif  // TAILOR_TESTS_SUPPORT_REFERENCE_ARRAY_H_
