// Interval arithmetic on Range. Both bounds are inclusive. A bound of INT64_MIN or INT64_MAX means "unbounded" and is
// preserved. A result may be wider than the exact set of values, never narrower.
#ifndef TAILOR_ANALYSIS_INTERVAL_H_
#define TAILOR_ANALYSIS_INTERVAL_H_

#include <cstdint>

#include "analysis/shape_facts.h"

namespace tailor::interval {

inline constexpr Range kEverything{INT64_MIN, INT64_MAX};

constexpr Range Point(int64_t value) { return {value, value}; }
constexpr bool IsEmpty(Range r) { return r.min > r.max; }
constexpr bool IsPoint(Range r) { return r.min == r.max; }
constexpr bool Contains(Range r, int64_t value) { return r.min <= value && value <= r.max; }

Range Add(Range a, Range b);
Range Multiply(Range a, Range b);
Range FloorDivide(Range a, Range divisor);  // for divisors > 0
Range Modulo(Range a, Range divisor);       // for divisors > 0
Range Intersect(Range a, Range b);          // may be empty

// Round towards minus and plus infinity; divisor > 0. Unbounded values are preserved.
int64_t FloorDivideBound(int64_t value, int64_t divisor);
int64_t CeilDivideBound(int64_t value, int64_t divisor);

}  // namespace tailor::interval

#endif  // TAILOR_ANALYSIS_INTERVAL_H_
