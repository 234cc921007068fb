// A small sentence encoder through both libraries: right at every shape; after the largest shape nothing is allocated
// or compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/encoder.h"
#include "tailor/compiler.h"
#include "tools/handles.h"

// Of the counting library that replaces malloc and mmap for the whole process: requests by any thread.
extern "C" uint64_t tailor_allocations_during(void* (*call)(void*), void* argument, uint64_t times);

namespace tailor {
namespace {

constexpr bench::EncoderSize kSize = {
    .layers = 2, .heads = 3, .hidden = 48, .inner = 80, .vocabulary = 101, .positions = 70, .batch = 9};

// ---- The encoder in double, from the model's definition --------------------------------------------

using Row = std::vector<double>;
using Rows = std::vector<Row>;

Row Apply(const bench::EncoderDense& dense, const Row& x) {
  Row y(dense.outputs);
  for (int64_t o = 0; o < dense.outputs; ++o) {
    y[o] = dense.bias[o];
    for (int64_t i = 0; i < dense.inputs; ++i) y[o] += x[i] * dense.weight[o * dense.inputs + i];
  }
  return y;
}

Row Sum(const Row& x, const Row& y) {
  Row sum(x.size());
  for (size_t i = 0; i < x.size(); ++i) sum[i] = x[i] + y[i];
  return sum;
}

Row Normalized(const bench::EncoderNorm& norm, const Row& x) {
  double mean = 0, variance = 0;
  for (double v : x) mean += v / static_cast<double>(x.size());
  for (double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  Row y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    y[i] = (x[i] - mean) / std::sqrt(variance + bench::kEncoderEpsilon) * norm.scale[i] + norm.bias[i];
  }
  return y;
}

// What token `at` of a sentence sees of the others through the heads.
Row Attend(const Rows& query, const Rows& key, const Rows& value, const int64_t* mask, size_t at, int64_t heads) {
  const size_t width = query[at].size() / heads;
  Row context(query[at].size());
  for (size_t from = 0; from < context.size(); from += width) {
    Row weights(key.size());
    double total = 0;
    for (size_t s = 0; s < key.size(); ++s) {
      double score = 0;
      for (size_t d = from; d < from + width; ++d) score += query[at][d] * key[s][d];
      weights[s] = mask[s] ? std::exp(score / std::sqrt(static_cast<double>(width))) : 0;
      total += weights[s];
    }
    for (size_t s = 0; s < key.size(); ++s) {
      for (size_t d = from; d < from + width; ++d) context[d] += weights[s] / total * value[s][d];
    }
  }
  return context;
}

Rows ApplyLayer(const bench::EncoderLayer& layer, const Rows& x, const int64_t* mask, int64_t heads) {
  Rows query, key, value, y;
  for (const Row& row : x) {
    query.push_back(Apply(layer.query, row));
    key.push_back(Apply(layer.key, row));
    value.push_back(Apply(layer.value, row));
  }
  for (size_t s = 0; s < x.size(); ++s) {
    const Row context = Attend(query, key, value, mask, s, heads);
    const Row attended = Normalized(layer.attended_norm, Sum(x[s], Apply(layer.attended, context)));
    Row inner = Apply(layer.inner, attended);
    for (double& v : inner) v = v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
    y.push_back(Normalized(layer.norm, Sum(attended, Apply(layer.outer, inner))));
  }
  return y;
}

// One sentence of `length` tokens, of which at least one is no padding.
Row Embed(const bench::EncoderWeights& weights, const int64_t* ids, const int64_t* mask, int64_t length) {
  const int64_t hidden = weights.size.hidden;
  Rows x;
  for (int64_t s = 0; s < length; ++s) {
    Row row(hidden);
    for (int64_t i = 0; i < hidden; ++i) {
      row[i] = double{weights.words[ids[s] * hidden + i]} + weights.positions[s * hidden + i];
    }
    x.push_back(Normalized(weights.norm, row));
  }
  for (const bench::EncoderLayer& layer : weights.layers) x = ApplyLayer(layer, x, mask, weights.size.heads);
  Row total(hidden);
  for (int64_t s = 0; s < length; ++s) {
    if (mask[s]) total = Sum(total, x[s]);
  }
  double squares = 0;
  for (double v : total) squares += v * v;
  for (double& v : total) v /= std::sqrt(squares);
  return total;
}

// ---- Running it -------------------------------------------------------------------------------------

std::string Text(tailor_status* status) {
  if (status == nullptr) return "OK";
  std::string text = tailor_status_message(status);
  tailor_status_release(status);
  return text;
}

const bench::EncoderWeights& Weights() {
  static const bench::EncoderWeights weights = bench::SeededEncoder(kSize, 7);
  return weights;
}

// One executable for all tests: compiled once, for all shapes.
const tailor_executable* Encoder() {
  static const ExecutableHandle executable = [] {
    const GraphHandle graph = bench::BuildEncoder(Weights());
    tailor_executable* compiled = nullptr;
    EXPECT_EQ(Text(tailor_graph_compile(graph.get(), nullptr, nullptr, &compiled)), "OK");
    return ExecutableHandle(compiled);
  }();
  return executable.get();
}

SessionHandle MakeSession(uint64_t threads) {
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.threads = threads;
  tailor_session* session = nullptr;
  EXPECT_EQ(Text(tailor_session_create(Encoder(), &options, &session)), "OK");
  return SessionHandle(session);
}

tailor_tensor TensorOf(void* data, uint64_t bytes, int32_t dtype, int64_t rows, int64_t columns) {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  tensor.data = data;
  tensor.data_bytes = bytes;
  tensor.dtype = dtype;
  tensor.rank = 2;
  tensor.dims[0] = rows;
  tensor.dims[1] = columns;
  return tensor;
}

// One run's buffers: sentences of differing lengths, padded to `length`.
struct EncoderCall {
  EncoderCall(int64_t batch, int64_t length)
      : batch(batch), length(length), ids(batch * length), mask(batch * length), embedding(batch * kSize.hidden, -9) {
    for (int64_t i = 0; i < batch * length; ++i) {
      ids[i] = (i * 37 + batch) % kSize.vocabulary;
      mask[i] = i % length <= (length - 1) * (i / length + 1) / batch;
    }
    inputs = {TensorOf(ids.data(), ids.size() * 8, TAILOR_I64, batch, length),
              TensorOf(mask.data(), mask.size() * 8, TAILOR_I64, batch, length)};
    output = TensorOf(embedding.data(), embedding.size() * 4, TAILOR_F32, batch, kSize.hidden);
  }
  EncoderCall(const EncoderCall&) = delete;

  // The largest difference from the reference.
  double Error() const {
    double error = 0;
    for (int64_t b = 0; b < batch; ++b) {
      const Row want = Embed(Weights(), &ids[b * length], &mask[b * length], length);
      for (int64_t i = 0; i < kSize.hidden; ++i) {
        error = std::max(error, std::abs(want[i] - embedding[b * kSize.hidden + i]));
      }
    }
    return error;
  }

  int64_t batch, length;
  std::vector<int64_t> ids, mask;
  std::vector<float> embedding;
  std::vector<tailor_tensor> inputs;
  tailor_tensor output;
};

TEST(Encoder, AgreesWithAReferenceInDouble) {
  for (const uint64_t threads : {1, 2}) {
    const SessionHandle session = MakeSession(threads);
    for (const auto& [batch, length] : std::vector<std::pair<int, int>>{
             {1, 1}, {1, 2}, {2, 1}, {1, 15}, {3, 16}, {1, 33}, {2, 48}, {5, 21}, {9, 70}}) {
      EncoderCall call(batch, length);
      ASSERT_EQ(Text(tailor_session_run(session.get(), call.inputs.data(), 2, &call.output, 1)), "OK");
      EXPECT_LT(call.Error(), 2e-6) << "B = " << batch << ", S = " << length << ", " << threads << " threads";
    }
  }
}

TEST(Encoder, ThreadsDoNotChangeBits) {
  EncoderCall alone(7, 61), shared(7, 61);
  ASSERT_EQ(Text(tailor_session_run(MakeSession(1).get(), alone.inputs.data(), 2, &alone.output, 1)), "OK");
  ASSERT_EQ(Text(tailor_session_run(MakeSession(3).get(), shared.inputs.data(), 2, &shared.output, 1)), "OK");
  EXPECT_EQ(alone.embedding, shared.embedding);
}

TEST(Encoder, RefusesWordsAndShapesItDoesNotHave) {
  const SessionHandle session = MakeSession(2);
  EncoderCall unknown(2, 5);
  unknown.ids[3] = kSize.vocabulary;
  EXPECT_THAT(Text(tailor_session_run(session.get(), unknown.inputs.data(), 2, &unknown.output, 1)),
              testing::HasSubstr("101"));
  EncoderCall longer(1, kSize.positions + 1);
  EXPECT_THAT(Text(tailor_session_run(session.get(), longer.inputs.data(), 2, &longer.output, 1)),
              testing::AllOf(testing::HasSubstr("S"), testing::HasSubstr("71")));
  EncoderCall unequal(2, 5), other(2, 6);
  unequal.inputs[1] = other.inputs[1];
  EXPECT_THAT(Text(tailor_session_run(session.get(), unequal.inputs.data(), 2, &unequal.output, 1)),
              testing::AllOf(testing::HasSubstr("\"mask\" dim 1 is 6"), testing::HasSubstr("\"ids\"")));
}

// ---- Zero growth ------------------------------------------------------------------------------------

// Everything that is compiled, linked or grown in this process.
uint64_t CompiledOrGrown() {
  tailor_counters counters;
  tailor_counters_init(&counters);
  tailor_counters_read(&counters);
  return tailor_compiler_modules_emitted() + counters.images_linked + counters.workspace_growths;
}

// `count` distinct shapes, large and small ones mixed.
std::vector<std::unique_ptr<EncoderCall>> DistinctShapes(int64_t count) {
  std::vector<std::unique_ptr<EncoderCall>> calls;
  const int64_t shapes = kSize.batch * kSize.positions;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t shape = i * 1009 % shapes;  // 1009 is a prime and no divisor of `shapes`
    calls.push_back(std::make_unique<EncoderCall>(shape / kSize.positions + 1, shape % kSize.positions + 1));
  }
  return calls;
}

struct ManyRuns {
  tailor_session* session;
  std::vector<std::unique_ptr<EncoderCall>> calls;
  int refused = 0;
};

void* RunAll(void* argument) {
  auto& runs = *static_cast<ManyRuns*>(argument);
  for (auto& call : runs.calls) {
    runs.refused += tailor_session_run(runs.session, call->inputs.data(), 2, &call->output, 1) != nullptr;
  }
  return nullptr;
}

void* Reserve(void* session) {
  const EncoderCall largest(kSize.batch, kSize.positions);
  return tailor_session_reserve(static_cast<tailor_session*>(session), largest.inputs.data(), 2);
}

// The hooks count in all threads, so that a zero means something.
TEST(Growth, TheHooksSeeTheWorkspace) {
  const SessionHandle session = MakeSession(2);
  EXPECT_GT(tailor_allocations_during(Reserve, session.get(), 1), 0u);
}

void ExpectNothingGrows(uint64_t threads) {
  const SessionHandle session = MakeSession(threads);
  ASSERT_EQ(Reserve(session.get()), nullptr);
  ManyRuns runs{session.get(), DistinctShapes(200)};
  const uint64_t before = CompiledOrGrown();
  EXPECT_EQ(tailor_allocations_during(RunAll, &runs, 1), 0u);
  EXPECT_EQ(CompiledOrGrown(), before);
  EXPECT_EQ(runs.refused, 0);
  for (size_t i = 0; i < runs.calls.size(); i += 20) EXPECT_LT(runs.calls[i]->Error(), 2e-6) << "call " << i;
}

TEST(Growth, NoneIn200ShapesAfterReserve) { ExpectNothingGrows(1); }
TEST(Growth, NoneIn200ShapesOnThreads) { ExpectNothingGrows(2); }

// ---- The plan ---------------------------------------------------------------------------------------

TEST(Plan, TellsShapesAndTheWorkspaceOfRuns) {
  for (auto& call : DistinctShapes(50)) {
    tailor_tensor planned;
    tailor_tensor_init(&planned);
    tailor_plan_info info;
    tailor_plan_info_init(&info);
    ASSERT_EQ(Text(tailor_executable_plan(Encoder(), call->inputs.data(), 2, &planned, 1, &info)), "OK");
    EXPECT_EQ(planned.rank, 2);
    EXPECT_EQ(planned.dims[0], call->batch);
    EXPECT_EQ(planned.dims[1], kSize.hidden);

    // A session that reserved this shape runs it without growing.
    const SessionHandle session = MakeSession(1);
    ASSERT_EQ(Text(tailor_session_reserve(session.get(), call->inputs.data(), 2)), "OK");
    const uint64_t before = CompiledOrGrown();
    ASSERT_EQ(Text(tailor_session_run(session.get(), call->inputs.data(), 2, &call->output, 1)), "OK");
    EXPECT_EQ(CompiledOrGrown(), before);
    // The plan is no upper bound only: x and the inner activations at least are live together.
    EXPECT_GE(info.workspace_bytes, 4u * call->batch * call->length * (kSize.hidden + kSize.inner));
  }
}

}  // namespace
}  // namespace tailor
