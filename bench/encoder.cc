#include "bench/encoder.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>

namespace tailor::bench {
namespace {

// Uniform numbers of a given mean and standard deviation, by splitmix64.
class WeightSource {
 public:
  explicit WeightSource(uint64_t seed) : state_(seed) {}

  std::vector<float> Draw(int64_t count, float deviation, float mean = 0) {
    std::vector<float> values(count);
    for (float& value : values) value = mean + std::sqrt(3.0f) * deviation * (2 * Unit() - 1);
    return values;
  }
  // Outputs are about as large as inputs.
  EncoderDense Dense(int64_t outputs, int64_t inputs) {
    const float deviation = 1 / std::sqrt(static_cast<float>(inputs));
    return {outputs, inputs, Draw(outputs * inputs, deviation), Draw(outputs, 0.1f)};
  }
  EncoderNorm Norm(int64_t hidden) { return {Draw(hidden, 0.1f, 1), Draw(hidden, 0.1f)}; }

 private:
  float Unit() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<float>((z ^ z >> 31) >> 40) * 0x1p-24f;
  }
  uint64_t state_;
};

void Check(tailor_status* status) {
  if (status == nullptr) return;
  std::fprintf(stderr, "the encoder cannot be built: %s\n", tailor_status_message(status));
  std::abort();
}

// Rounds to nearest, ties to even; for finite numbers.
uint16_t ToBf16(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

class EncoderBuilder {
 public:
  EncoderBuilder(const EncoderWeights& weights, int32_t dtype) : weights_(weights), size_(weights.size), dtype_(dtype) {
    tailor_graph* graph = nullptr;
    Check(tailor_graph_create("encoder", SIZE_MAX, &graph));
    graph_.reset(graph);
    batch_ = Symbol("B", size_.batch);
    length_ = Symbol("S", size_.positions);
    hidden_ = Dim(size_.hidden);
  }

  GraphHandle Build() && {
    const tailor_value ids = Input("ids");
    const tailor_value given = Input("mask"), mask = Cast(given, TAILOR_F32);
    tailor_value x = Embed(ids);
    const tailor_value bias = Reshape(Mul(Sub(Scalar(1, dtype_), Cast(given, dtype_)), Scalar(kEncoderMasked, dtype_)),
                                      {batch_, Dim(1), Dim(1), length_});
    for (const EncoderLayer& layer : weights_.layers) x = Layer(x, layer, bias);
    if (dtype_ != TAILOR_F32) x = Cast(x, TAILOR_F32);
    Check(tailor_graph_output(g(), "embedding", SIZE_MAX, Pool(x, mask)));
    return std::move(graph_);
  }

 private:
  tailor_graph* g() { return graph_.get(); }

  tailor_dim Dim(int64_t dim_size) {
    tailor_dim dim;
    Check(tailor_graph_dim(g(), dim_size, &dim));
    return dim;
  }
  tailor_dim Symbol(const char* name, int64_t max) {
    tailor_symbol_options options;
    tailor_symbol_options_init(&options);
    options.min = 1;
    options.max = max;
    tailor_dim dim;
    Check(tailor_graph_symbol(g(), name, SIZE_MAX, &options, &dim));
    return dim;
  }
  tailor_value Input(const char* name) {
    const tailor_dim dims[] = {batch_, length_};
    tailor_value value;
    Check(tailor_graph_input(g(), name, SIZE_MAX, TAILOR_I64, dims, 2, &value));
    return value;
  }
  tailor_value Constant(const std::vector<float>& data, const std::vector<int64_t>& dims) {
    const std::string name = "w" + std::to_string(constants_++);
    const void* bytes = data.data();
    size_t size = data.size() * sizeof(float);
    std::vector<uint16_t> narrow;
    if (dtype_ == TAILOR_BF16) {
      for (const float number : data) narrow.push_back(ToBf16(number));
      bytes = narrow.data(), size = narrow.size() * sizeof(uint16_t);
    }
    tailor_value value;
    Check(tailor_graph_constant(g(), name.data(), name.size(), dtype_, dims.data(), dims.size(), bytes, size, nullptr,
                                nullptr, &value));
    return value;
  }
  tailor_value Scalar(double number, int32_t dtype = TAILOR_F32) {
    tailor_value value;
    Check(tailor_graph_scalar(g(), dtype, number, &value));
    return value;
  }
  tailor_value Cast(tailor_value x, int32_t dtype) {
    tailor_value value;
    Check(tailor_graph_cast(g(), x, dtype, &value));
    return value;
  }

  using Binary = tailor_status* (*)(tailor_graph*, tailor_value, tailor_value, tailor_value*);
  tailor_value Apply(Binary op, tailor_value lhs, tailor_value rhs) {
    tailor_value value;
    Check(op(g(), lhs, rhs, &value));
    return value;
  }
  tailor_value Add(tailor_value lhs, tailor_value rhs) { return Apply(tailor_graph_add, lhs, rhs); }
  tailor_value Sub(tailor_value lhs, tailor_value rhs) { return Apply(tailor_graph_sub, lhs, rhs); }
  tailor_value Mul(tailor_value lhs, tailor_value rhs) { return Apply(tailor_graph_mul, lhs, rhs); }

  tailor_value Reshape(tailor_value x, std::initializer_list<tailor_dim> dims) {
    tailor_value value;
    Check(tailor_graph_reshape(g(), x, dims.begin(), dims.size(), &value));
    return value;
  }
  // Exchanges dims 1 and 2 of four.
  tailor_value Exchange(tailor_value x) {
    constexpr int64_t kOrder[] = {0, 2, 1, 3};
    tailor_value value;
    Check(tailor_graph_transpose(g(), x, kOrder, 4, &value));
    return value;
  }
  tailor_value Norm(tailor_value x, const EncoderNorm& norm) {
    tailor_value value;
    Check(tailor_graph_layer_norm(g(), x, Constant(norm.scale, {size_.hidden}), Constant(norm.bias, {size_.hidden}),
                                  kEncoderEpsilon, &value));
    return value;
  }
  tailor_value Dense(tailor_value x, const EncoderDense& dense) {
    tailor_dot_options options;
    tailor_dot_options_init(&options);
    options.transpose_rhs = 1;
    tailor_value value;
    Check(tailor_graph_dot(g(), x, Constant(dense.weight, {dense.outputs, dense.inputs}), &options, &value));
    return Add(value, Constant(dense.bias, {dense.outputs}));
  }

  tailor_value Embed(tailor_value ids) {
    tailor_value words, positions;
    Check(tailor_graph_gather(g(), Constant(weights_.words, {size_.vocabulary, size_.hidden}), ids, nullptr, &words));
    const tailor_dim starts[] = {Dim(0), Dim(0)}, sizes[] = {length_, hidden_};
    Check(tailor_graph_slice(g(), Constant(weights_.positions, {size_.positions, size_.hidden}), starts, 2, sizes, 2,
                             nullptr, &positions));
    return Norm(Add(words, positions), weights_.norm);
  }

  // [B, S, hidden] -> [B, heads, S, hidden / heads]
  tailor_value Heads(tailor_value x) {
    return Exchange(Reshape(x, {batch_, length_, Dim(size_.heads), Dim(size_.hidden / size_.heads)}));
  }

  tailor_value Layer(tailor_value x, const EncoderLayer& layer, tailor_value bias) {
    const tailor_value query = Heads(Dense(x, layer.query));
    const tailor_value key = Heads(Dense(x, layer.key));
    const tailor_value value = Heads(Dense(x, layer.value));
    tailor_value context;
    Check(tailor_graph_attention(g(), query, key, value, bias, 0, &context));
    context = Reshape(Exchange(context), {batch_, length_, hidden_});
    x = Norm(Add(Dense(context, layer.attended), x), layer.attended_norm);
    tailor_value inner;
    Check(tailor_graph_gelu(g(), Dense(x, layer.inner), &inner));
    return Norm(Add(Dense(inner, layer.outer), x), layer.norm);
  }

  // The mean over the tokens that are not padding, of length 1.
  tailor_value Pool(tailor_value x, tailor_value mask) {
    constexpr int64_t kTokens = 1;
    tailor_reduce_sum_options keep;
    tailor_reduce_sum_options_init(&keep);
    keep.keep_dims = 1;
    tailor_value total, count, embedding;
    Check(tailor_graph_reduce_sum(g(), Mul(x, Reshape(mask, {batch_, length_, Dim(1)})), &kTokens, 1, nullptr, &total));
    Check(tailor_graph_reduce_sum(g(), mask, &kTokens, 1, &keep, &count));
    const tailor_value mean = Apply(tailor_graph_div, total, Apply(tailor_graph_max, count, Scalar(1e-9)));
    Check(tailor_graph_l2_normalize(g(), mean, -1, 1e-12, &embedding));
    return embedding;
  }

  const EncoderWeights& weights_;
  const EncoderSize size_;
  const int32_t dtype_;
  GraphHandle graph_;
  tailor_dim batch_ = 0, length_ = 0, hidden_ = 0;
  int constants_ = 0;
};

}  // namespace

EncoderWeights SeededEncoder(const EncoderSize& size, uint64_t seed) {
  WeightSource source(seed);
  EncoderWeights weights;
  weights.size = size;
  weights.words = source.Draw(size.vocabulary * size.hidden, 1);
  weights.positions = source.Draw(size.positions * size.hidden, 0.5f);
  weights.norm = source.Norm(size.hidden);
  for (int64_t i = 0; i < size.layers; ++i) {
    EncoderLayer layer;
    layer.query = source.Dense(size.hidden, size.hidden);
    layer.key = source.Dense(size.hidden, size.hidden);
    layer.value = source.Dense(size.hidden, size.hidden);
    layer.attended = source.Dense(size.hidden, size.hidden);
    layer.attended_norm = source.Norm(size.hidden);
    layer.inner = source.Dense(size.inner, size.hidden);
    layer.outer = source.Dense(size.hidden, size.inner);
    layer.norm = source.Norm(size.hidden);
    weights.layers.push_back(std::move(layer));
  }
  return weights;
}

GraphHandle BuildEncoder(const EncoderWeights& weights, int32_t dtype) {
  return EncoderBuilder(weights, dtype).Build();
}

}  // namespace tailor::bench
