#include "graph/recurrence.h"

#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include "tests/graph/evaluated_builder.h"

namespace tailor {
namespace {

using Built = absl::StatusOr<std::vector<Value>>;
using Matrix = std::vector<double>;
using Function = std::function<double(double)>;

constexpr int64_t kSteps = 4, kBatch = 3, kInputs = 2, kHidden = 2;
constexpr Value kX{0, 0}, kW{1, 0}, kR{2, 0}, kBias{3, 0}, kRecurrentBias{4, 0}, kH{5, 0}, kC{6, 0}, kLengths{7, 0},
    kPeepholes{8, 0};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Tanh(double x) { return std::tanh(x); }

// What a layer is given, and how the reference below computes it: by the formulas of ONNX, one number at a time.
struct Case {
  int64_t gates;
  RecurrenceOptions options;
  std::vector<Function> functions;
  std::vector<int64_t> lengths = std::vector<int64_t>(kBatch, kSteps);
};

struct Data {
  Matrix x, w, r, bias, recurrent_bias, h, c, peepholes;
};

Matrix Random(std::mt19937& random, int64_t count) {
  Matrix values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
  return values;
}

Data MakeData(const Case& layer) {
  std::mt19937 random(7);
  const int64_t rows = layer.gates * kHidden, state = kBatch * kHidden;
  const auto given = [&](Value v, int64_t count) {
    Matrix values = Random(random, count);
    return v.node >= 0 ? values : Matrix(count, 0);
  };
  Data data;
  data.x = Random(random, kSteps * kBatch * kInputs);
  data.w = Random(random, rows * kInputs);
  data.r = Random(random, rows * kHidden);
  data.bias = given(layer.options.bias, rows);
  data.recurrent_bias = given(layer.options.recurrent_bias, rows);
  data.h = given(layer.options.initial_h, state);
  data.c = given(layer.options.initial_c, state);
  data.peepholes = given(layer.options.peepholes, 3 * kHidden);
  return data;
}

struct Expected {
  Matrix y, h, c;
};

// The new h and c of one entry of the batch.
void Advance(const Case& layer, const Data& data, const double* x, Matrix* h, Matrix* c) {
  const auto product = [&](const Matrix& weights, int64_t row, const double* with, int64_t count) {
    double sum = 0;
    for (int64_t k = 0; k < count; ++k) sum += weights[row * count + k] * with[k];
    return sum;
  };
  const auto input = [&](int64_t row) { return product(data.w, row, x, kInputs) + data.bias[row]; };
  const auto state = [&](int64_t row, const Matrix& with) {
    return product(data.r, row, with.data(), kHidden) + data.recurrent_bias[row];
  };
  const double clip = layer.options.clip;
  const auto apply = [&](int f, double v) { return layer.functions[f](std::min(std::max(v, -clip), clip)); };
  const Matrix before = *h;
  for (int64_t j = 0; j < kHidden; ++j) {
    const auto row = [&](int64_t gate) { return gate * kHidden + j; };
    const auto gate = [&](int f, int64_t g, double more) {
      return apply(f, input(row(g)) + state(row(g), before) + more);
    };
    const auto peep = [&](int64_t g, double cell) { return data.peepholes[row(g)] * cell; };
    if (layer.gates == 1) (*h)[j] = gate(0, 0, 0);
    if (layer.gates == 3) {
      const double z = gate(0, 0, 0);
      Matrix reset = before;
      for (int64_t k = 0; k < kHidden; ++k) {
        const int64_t other = kHidden + k;
        reset[k] *= apply(0, input(other) + state(other, before));
      }
      const double r = gate(0, 1, 0);
      const double n = layer.options.linear_before_reset ? apply(1, input(row(2)) + r * state(row(2), before))
                                                         : apply(1, input(row(2)) + state(row(2), reset));
      (*h)[j] = (1 - z) * n + z * before[j];
    }
    if (layer.gates == 4) {
      const double old = (*c)[j];
      const double i = gate(0, 0, peep(0, old));
      const double f = layer.options.input_forget ? 1 - i : gate(0, 2, peep(2, old));
      (*c)[j] = f * old + i * gate(1, 3, 0);
      (*h)[j] = gate(0, 1, peep(1, (*c)[j])) * layer.functions[2]((*c)[j]);
    }
  }
}

Expected Reference(const Case& layer, const Data& data) {
  Expected out{Matrix(kSteps * kBatch * kHidden, 0), data.h, data.c};
  for (int64_t b = 0; b < kBatch; ++b) {
    Matrix h(data.h.begin() + b * kHidden, data.h.begin() + (b + 1) * kHidden);
    Matrix c(data.c.begin() + b * kHidden, data.c.begin() + (b + 1) * kHidden);
    for (int64_t i = 0; i < layer.lengths[b]; ++i) {
      const int64_t t = layer.options.reverse ? layer.lengths[b] - 1 - i : i;
      Advance(layer, data, &data.x[(t * kBatch + b) * kInputs], &h, &c);
      std::copy(h.begin(), h.end(), out.y.begin() + (t * kBatch + b) * kHidden);
    }
    std::copy(h.begin(), h.end(), out.h.begin() + b * kHidden);
    std::copy(c.begin(), c.end(), out.c.begin() + b * kHidden);
  }
  return out;
}

reference::Array ArrayOf(std::vector<int64_t> dims, const Matrix& values) {
  return Numbers(DType::kF64, std::move(dims), {values.begin(), values.end()});
}

void ExpectNear(const reference::Array& got, const Matrix& wanted, const char* what) {
  ASSERT_EQ(got.elements.size(), wanted.size()) << what;
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(got.elements[i].value), wanted[i], 1e-9) << what << " " << i;
  }
}

Built Append(Graph& graph, const Case& layer) {
  const auto build = layer.gates == 1 ? Rnn : layer.gates == 3 ? Gru : Lstm;
  absl::StatusOr<RecurrenceResults> results = build(graph, kX, kW, kR, layer.options);
  if (!results.ok()) return results.status();
  std::vector<Value> values = {results->y, results->h};
  if (layer.gates == 4) values.push_back(results->c);
  return values;
}

std::string Header(int64_t gates) {
  const int64_t rows = gates * kHidden;
  return absl::StrCat("%x: f64[T, B, 2], %w: f64[", rows, ", 2], %r: f64[", rows, ", 2], %b: f64[", rows,
                      "], %rb: f64[", rows, "], %h: f64[B, 2], %c: f64[B, 2], %len: i32[B], %p: f64[6]");
}

void ExpectLikeReference(const Case& layer) {
  const Data data = MakeData(layer);
  const Graph graph = BuiltGraph(Header(layer.gates), [&](Graph& g) { return Append(g, layer); });
  const int64_t rows = layer.gates * kHidden;
  std::vector<reference::Array> inputs = {ArrayOf({kSteps, kBatch, kInputs}, data.x),
                                          ArrayOf({rows, kInputs}, data.w),
                                          ArrayOf({rows, kHidden}, data.r),
                                          ArrayOf({rows}, data.bias),
                                          ArrayOf({rows}, data.recurrent_bias),
                                          ArrayOf({kBatch, kHidden}, data.h),
                                          ArrayOf({kBatch, kHidden}, data.c),
                                          Numbers(DType::kI32, {kBatch}, {layer.lengths.begin(), layer.lengths.end()}),
                                          ArrayOf({6}, data.peepholes)};
  const std::vector<reference::Array> got = Evaluated(graph, {kSteps, kBatch}, inputs);
  const Expected wanted = Reference(layer, data);
  ASSERT_EQ(got.size(), layer.gates == 4 ? 3u : 2u);
  ExpectNear(got[0], wanted.y, "y");
  ExpectNear(got[1], wanted.h, "h");
  if (layer.gates == 4) ExpectNear(got[2], wanted.c, "c");
}

std::vector<Function> Defaults(int64_t gates) {
  if (gates == 1) return {Tanh};
  if (gates == 3) return {Sigmoid, Tanh};
  return {Sigmoid, Tanh, Tanh};
}

TEST(Recurrence, Defaults) {
  for (int64_t gates : {1, 3, 4}) {
    for (bool reverse : {false, true}) {
      SCOPED_TRACE(absl::StrCat(gates, " gates", reverse ? ", reverse" : ""));
      ExpectLikeReference({gates, {.reverse = reverse}, Defaults(gates)});
    }
  }
}

TEST(Recurrence, EverythingGiven) {
  for (int64_t gates : {1, 3, 4}) {
    for (bool reverse : {false, true}) {
      SCOPED_TRACE(absl::StrCat(gates, " gates", reverse ? ", reverse" : ""));
      RecurrenceOptions options{.bias = kBias,
                                .recurrent_bias = kRecurrentBias,
                                .initial_h = kH,
                                .lengths = kLengths,
                                .reverse = reverse,
                                .clip = 0.3};
      if (gates == 4) options.initial_c = kC, options.peepholes = kPeepholes;
      ExpectLikeReference({gates, options, Defaults(gates), {2, 0, 4}});
    }
  }
}

TEST(Recurrence, LinearBeforeReset) {
  const RecurrenceOptions options{.bias = kBias, .recurrent_bias = kRecurrentBias, .linear_before_reset = true};
  ExpectLikeReference({3, options, Defaults(3)});
  ExpectLikeReference({3, {.linear_before_reset = true}, Defaults(3)});
  ExpectLikeReference({3, {.bias = kBias, .linear_before_reset = true}, Defaults(3)});
}

// The two are not told apart by their values.
TEST(Recurrence, OneValueAsBothBiases) {
  const auto nodes = [](bool same) {
    const Graph graph = BuiltGraph(Header(3), [&](Graph& g) {
      const RecurrenceOptions options{
          .bias = kBias, .recurrent_bias = same ? kBias : kRecurrentBias, .linear_before_reset = true};
      return Append(g, {3, options, Defaults(3)});
    });
    return graph.nodes().size();
  };
  EXPECT_EQ(nodes(true), nodes(false));
}

TEST(Recurrence, InputForget) {
  ExpectLikeReference({4, {.initial_c = kC, .peepholes = kPeepholes, .input_forget = true}, Defaults(4)});
}

TEST(Recurrence, Activations) {
  const std::pair<Activation, Function> functions[] = {
      {{"relu"}, [](double x) { return std::max(x, 0.0); }},
      {{"sigmoid"}, Sigmoid},
      {{"softsign"}, [](double x) { return x / (1 + std::fabs(x)); }},
      {{"softplus"}, [](double x) { return std::log1p(std::exp(x)); }},
      {{"affine", 2, -0.25}, [](double x) { return 2 * x - 0.25; }},
      {{"affine"}, [](double x) { return x; }},
      {{"scaled_tanh", 2, 0.5}, [](double x) { return 2 * std::tanh(0.5 * x); }},
      {{"hard_sigmoid"}, [](double x) { return std::max(0.0, std::min(1.0, 0.2 * x + 0.5)); }},
      {{"hard_sigmoid", 2, 0.1}, [](double x) { return std::max(0.0, std::min(1.0, 2 * x + 0.1)); }},
      {{"leaky_relu"}, [](double x) { return x < 0 ? 0.01 * x : x; }},
      {{"thresholded_relu", 0.2}, [](double x) { return x > 0.2 ? x : 0; }},
      {{"elu", 0.5}, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }},
  };
  for (const auto& [activation, function] : functions) {
    SCOPED_TRACE(activation.name);
    ExpectLikeReference({1, {.bias = kBias, .activations = {activation}}, {function}});
  }
  ExpectLikeReference(
      {4, {.activations = {{"tanh"}, {"sigmoid"}, {"affine", 2}}}, {Tanh, Sigmoid, [](double x) { return 2 * x; }}});
}

TEST(Recurrence, NoSteps) {
  const Graph graph = BuiltGraph("%x: f32[T, B, 2], %w: f32[2, 2], %h: f32[B, 2]", [](Graph& g) -> Built {
    absl::StatusOr<RecurrenceResults> results = Rnn(g, kX, kW, kW, {.initial_h = {2, 0}, .reverse = true});
    if (!results.ok()) return results.status();
    return std::vector<Value>{results->y, results->h};
  });
  const std::vector<reference::Array> got =
      Evaluated(graph, {0, 1},
                {Numbers(DType::kF32, {0, 1, 2}, {}), Numbers(DType::kF32, {2, 2}, {1, 2, 3, 4}),
                 Numbers(DType::kF32, {1, 2}, {5, 6})});
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(Text(got[0]), "[0, 1, 2] {}");
  EXPECT_EQ(Text(got[1]), "[1, 2] {5, 6}");
}

// One product outside; in the loop a gather, the state's product and a scatter to y. A constant r is a constant of the
// body, over the bytes of the one outside.
TEST(Recurrence, IsOneLoopOverTheSteps) {
  Graph graph = *ParseGraph(R"(graph @g(%x: f32[T, B, 3]) where T in [1, 9], B {
  %w = constant @w : f32[6, 3]
  %r = constant @r : f32[6, 2]
  return
})");
  absl::StatusOr<RecurrenceResults> results = Gru(graph, kX, kW, kR, {});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(VerifyGraph(graph), absl::OkStatus());
  const Node& loop = graph.node(results->y.node);
  ASSERT_EQ(loop.op, OpKind::kWhile);
  const Graph& body = *loop.regions[1].graph;
  EXPECT_EQ(body.symbol(0).max, 9);
  const char* data = static_cast<const char*>(graph.constant_data(2).data);
  std::vector<const char*> parts;
  for (NodeId id = 0; id < static_cast<NodeId>(body.nodes().size()); ++id) {
    if (body.node(id).op == OpKind::kConstant && body.node(id).results[0].rank() == 2) {
      parts.push_back(static_cast<const char*>(body.constant_data(id).data));
    }
  }
  EXPECT_EQ(parts, (std::vector<const char*>{data, data + 4 * 2 * sizeof(float)}));
  const std::string text = body.ToText();
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "graph @body(%t: i64[], %y: f32[T, B, 2], %h: f32[B, 2], %xw: f32[T, B, 6]) "
            "where T in [1, 9] {");
}

TEST(Recurrence, Errors) {
  Graph graph = *ParseGraph(
      "graph @g(%x: f32[T, B, 3], %w: f32[8, 3], %r: f32[8, 2], %p: f32[5], %len: f32[B], %h: f32[5, 2]) { return }");
  const Value p{3, 0}, len{4, 0};
  const auto lstm = [&](Value x, Value w, Value r, const RecurrenceOptions& options) {
    return std::string(Lstm(graph, x, w, r, options).status().message());
  };
  EXPECT_EQ(lstm(kW, kW, kR, {}), "lstm: operand \"x\" (%w) has type f32[8, 3], needs rank 3");
  EXPECT_EQ(lstm(kX, kW, kX, {}), "lstm: operand \"r\" (%x) has type f32[T, B, 3], needs rank 2");
  EXPECT_EQ(lstm(kX, kR, kR, {}), "lstm: operand \"w\" (%r) has type f32[8, 2], needs f32[8, 3]");
  EXPECT_EQ(lstm(kX, {11, 0}, kR, {}), "lstm: operand \"w\" is no value of this graph (node 11, result 0)");
  EXPECT_EQ(lstm(kX, kW, kR, {.bias = p}), "lstm: operand \"bias\" (%p) has type f32[5], needs f32[8]");
  EXPECT_EQ(lstm(kX, kW, kR, {.initial_c = kW}),
            "lstm: operand \"initial_c\" (%w) has type f32[8, 3], needs f32[B, 2]");
  EXPECT_EQ(lstm(kX, kW, kR, {.lengths = len}),
            "lstm: operand \"lengths\" (%len) has type f32[B], needs i32 or i64 of rank 1");
  EXPECT_EQ(lstm(kX, kW, kR, {.clip = 0}), "lstm: clip is 0, needs to be above 0");
  EXPECT_EQ(lstm(kX, kW, kR, {.activations = {{"tanh"}}}), "lstm: there are 1 activation functions, needs 3");
  EXPECT_EQ(lstm(kX, kW, kR, {.activations = {{"tanh"}, {"tanh"}, {"tan"}}}),
            "lstm: there is no activation function \"tan\"");
  EXPECT_EQ(Rnn(graph, kX, kW, kR, {}).status().message(),
            "rnn: operand \"w\" (%w) has type f32[8, 3], needs f32[2, 3]");
}

}  // namespace
}  // namespace tailor
