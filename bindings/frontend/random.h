// Random numbers in a graph: a counter-based generator as a formula of integer ops.
//
// An element's number is a function of a key and a counter. The key names a stream; the counter is the element's
// row-major index and the number of the run. No state is carried: an element does not depend on other elements, on the
// size of the tensor, on threads or on the device. Uniform and normal numbers are the same to the last bit everywhere:
// they use only ops that round correctly.
#ifndef TAILOR_BINDINGS_FRONTEND_RANDOM_H_
#define TAILOR_BINDINGS_FRONTEND_RANDOM_H_

#include <array>
#include <cstdint>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/ops.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// Philox4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011: the 4 words of
// each counter's block. Counters, key and results are u64. Bits of counters beyond the lowest 32 are ignored; the key
// is of rank 0 and has its first word in the lowest 32 bits.
std::array<Tensor, 4> Philox(const std::array<Tensor, 4>& counter, const Tensor& key);

// The run state of a graph that is run.
RunState AppendRunState(Builder& builder);
// The run state inside of a loop whose iterations count from 0.
RunState InIteration(const RunState& state, const Tensor& iteration);

// A stream of random numbers for one tensor.
class RandomStream {
 public:
  // Depends on `seed` and on the number of the run.
  static RandomStream OfSeed(Builder& builder, uint64_t seed);
  // Depends on the caller's seed too. `node`: a number that is evenly distributed over 64 bits, other nodes have
  // others.
  static RandomStream OfNode(Builder& builder, uint64_t node);

  // f32 or f64. Uniform in [0, 1): multiples of 2^-24 or 2^-53.
  Tensor Uniform(const Shape& shape, DType dtype) const;
  // Of mean 0 and variance 1, by Box and Muller; up to 6.8 (f32) or 8.6 (f64) in magnitude.
  Tensor Normal(const Shape& shape, DType dtype) const;
  // Whether each element happens that has this probability (f32 or f64): bool of this shape, to which `probability`
  // broadcasts. Probabilities are cut to multiples of 2^-32; below 0 and NaN are 0, above 1 is 1.
  Tensor Happens(const Tensor& probability, const Shape& shape) const;

 private:
  RandomStream(Tensor key, Tensor run) : key_(std::move(key)), run_(std::move(run)) {}
  std::array<Tensor, 4> Words(const Shape& shape) const;

  Tensor key_, run_;
};

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_RANDOM_H_
