// A sentence encoder of the MiniLM architecture with seeded weights, as a graph through the C API: embeddings and
// layer norm, layers of masked attention and gelu, mean pooling, L2 normalisation. Inputs "ids" and "mask"
// (1 for tokens, 0 for padding), both i64[B, S]; output "embedding", f32[B, hidden]. For tests and benchmarks.
#ifndef TAILOR_BENCH_ENCODER_H_
#define TAILOR_BENCH_ENCODER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tailor/compiler.h"
#include "tools/handles.h"

namespace tailor::bench {

// The default is all-MiniLM-L6-v2. `hidden` is a multiple of `heads`.
struct EncoderSize {
  int64_t layers = 6;
  int64_t heads = 12;
  int64_t hidden = 384;
  int64_t inner = 1536;
  int64_t vocabulary = 30522;
  int64_t positions = 512;  // the largest S
  int64_t batch = 64;       // the largest B
};

inline constexpr double kEncoderEpsilon = 1e-12;  // of its layer norms
inline constexpr double kEncoderMasked = -1e9;    // added to the score of a padding token

// y = x weight^T + bias, weight [outputs, inputs].
struct EncoderDense {
  int64_t outputs, inputs;
  std::vector<float> weight, bias;
};

struct EncoderNorm {
  std::vector<float> scale, bias;  // [hidden]
};

struct EncoderLayer {
  EncoderDense query, key, value, attended;
  EncoderNorm attended_norm;
  EncoderDense inner, outer;
  EncoderNorm norm;
};

struct EncoderWeights {
  EncoderSize size;
  std::vector<float> words, positions;  // [vocabulary, hidden], [positions, hidden]
  EncoderNorm norm;
  std::vector<EncoderLayer> layers;
};

// Weights with which every layer and the attention weights affect the result; the same on every machine.
EncoderWeights SeededEncoder(const EncoderSize& size, uint64_t seed);

// Computes in `dtype`, TAILOR_F32 or TAILOR_BF16, with copies of the weights in that type; pooling is in f32. An error
// of the C API ends the process with its message.
GraphHandle BuildEncoder(const EncoderWeights& weights, int32_t dtype = TAILOR_F32);

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_ENCODER_H_
