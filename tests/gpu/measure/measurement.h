// Measurements on a GPU, by kind and dim sizes: "softmax/1024x1024", "dot_bf16/512x1024x1024/nt".
#ifndef TAILOR_TESTS_GPU_MEASURE_MEASUREMENT_H_
#define TAILOR_TESTS_GPU_MEASURE_MEASUREMENT_H_

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/gpu/measure/gpu.h"

namespace tailor::bench {

struct MeasuredCase {
  std::string kind;
  std::vector<int64_t> dim_sizes;
  std::string form;  // what follows the dim sizes, or ""
};

struct Measured {
  std::map<std::string, double> figures;  // by name; times in seconds
  std::string peer;                       // with its version, or ""
};

// What was measured computed something else.
class WrongResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Each throws NotMeasured where it cannot be measured, and WrongResult.
Measured MeasureCopy(const Gpu& gpu, const MeasuredCase& asked);      // copy/BYTES
Measured MeasureMatmul(const Gpu& gpu, const MeasuredCase& asked);    // dot_bf16/MxKxN/{n,t}{n,t}
Measured MeasureRows(const Gpu& gpu, const MeasuredCase& asked);      // softmax, layer_norm or reduce_sum/RxC
Measured MeasureEncoder(const Gpu& gpu, const MeasuredCase& asked);   // bert_large or bert_tiny/BxS
Measured MeasureLaunches(const Gpu& gpu, const MeasuredCase& asked);  // launch/COUNT

// The figures of `name` as JSON, {"name", "figures": {...}, "peer"}; {"name", "reason"} where it could not be measured,
// with "wrong": true where its results were.
std::string Measure(const std::string& name);

}  // namespace tailor::bench

#endif  // TAILOR_TESTS_GPU_MEASURE_MEASUREMENT_H_
