// 200 random programs that use the C++ layer wrongly: empty and moved-from objects, values of other graphs, wrong
// dtypes, ranks, sizes, indices and axes, repeated and nested runs, objects that end in any order. Each must get
// errors, and none may end the process. Seed: TAILOR_TEST_SEED, or 1.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tailor/tailor.hpp"

namespace {

using tailor::DType;
using tailor::Result;
using tailor::Value;

constexpr int kPrograms = 200, kSteps = 60;

// What all programs share: executables take long to make.
struct Fixture {
  Fixture() {
    tailor::Graph graph("fixture");
    const Value x = graph.input("x", DType::kF32, {graph.symbol("N"), 4});
    graph.output("y", x * 2.0f);
    graph.output("rows", x.reduce_sum({1}));
    tailor::CompileOptions options;
    options.targets = {"host"};
    options.max_versions = 1;
    plain.push_back(graph.compile(options).value());
    tailor::Graph step("step");
    const Value cache = step.input("cache", DType::kF32, {step.symbol("S"), 4});
    const Value at = step.input("at", DType::kI64, {1, 1});
    step.output("next", cache.scatter(at, step.input("row", DType::kF32, {1, 4}), "set"));
    options.donated = {"cache"};
    plain.push_back(step.compile(options).value());
  }
  std::vector<tailor::Executable> plain;
};

class Program {
 public:
  Program(const Fixture& fixture, std::uint32_t seed) : random_(seed), executables_(fixture.plain) {
    for (int i = 0; i < 2; ++i) {
      graphs_.emplace_back("graph");
      NewInput(graphs_.back());
    }
    for (const tailor::Executable& executable : executables_) sessions_.push_back(executable.session().value());
  }

  int Run() {
    for (int i = 0; i < kSteps; ++i) Step();
    return errors_;
  }

 private:
  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  template <typename T>
  T& Any(std::vector<T>& list) {
    return list[static_cast<std::size_t>(Pick(static_cast<int>(list.size())))];
  }
  std::int64_t Number() {
    static constexpr std::int64_t kNumbers[] = {0,  1,  2,  3,       4,         7,         -1,
                                                -2, -4, 64, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN};
    return kNumbers[Pick(14)];
  }
  std::vector<std::int64_t> Numbers() {
    std::vector<std::int64_t> out(static_cast<std::size_t>(Pick(4) == 0 ? Pick(12) : Pick(4)));
    for (std::int64_t& number : out) number = Pick(3) == 0 ? Number() : Pick(5);
    return out;
  }
  tailor::Shape AnyShape() { return Pick(2) == 0 ? tailor::Shape{Pick(4), 4} : tailor::Shape(Numbers()); }
  DType AnyDType() { return static_cast<DType>(Pick(6) == 0 ? Number() : 1 + Pick(13)); }
  tailor::Dims AnyDims() {
    if (Pick(3) == 0) return tailor::Dims{Any(dims_), 4};
    return Pick(2) == 0 ? tailor::Dims{Any(dims_), Any(dims_)} : tailor::Dims(Numbers());
  }
  std::string Text() {
    static const char* const kTexts[] = {"", "x", "y", "N", "add", "set", "\xFF\xFE", "a b"};
    return Pick(8) == 0 ? std::string("a\0b", 3) : kTexts[Pick(8)];
  }

  template <typename T>
  void Count(const Result<T>& result) {
    if (result) return;
    ++errors_;
    EXPECT_FALSE(result.error().message().empty());
    EXPECT_NE(static_cast<std::int32_t>(result.error().code()), TAILOR_OK);
  }
  // An error of a graph is counted and cleared, so that the program goes on.
  void Check(tailor::Graph& graph) {
    Count(graph.status());
    (void)graph.take_error();
  }
  void NewInput(tailor::Graph& graph) {
    dims_.push_back(graph.symbol("N" + std::to_string(dims_.size())));
    values_.push_back(
        graph.input("x" + std::to_string(values_.size()), Pick(4) == 0 ? DType::kI64 : DType::kF32, {dims_.back(), 4}));
  }
  void Keep(const Value& value) {
    if (values_.size() < 40) values_.push_back(value);
  }

  tailor::ConstTensorView AnyView() {
    switch (Pick(8)) {
      case 0:
        return {};
      case 1:
        return tailor::view(integers_, AnyShape());
      case 2:
        return tailor::ConstTensorView::strided(tailor::Span<const float>(floats_), AnyShape(), Numbers(), Number());
      case 3:
        return tailor::ConstTensorView(floats_.data(), sizeof(float) * floats_.size(), AnyDType(), AnyShape());
      case 4:
        return tailor::view(std::as_const(floats_), AnyShape());
      case 5:
        return tensor_;
      default:
        return Rows(1 + Pick(3));
    }
  }
  tailor::TensorView Rows(int rows) {
    return tailor::TensorView(tailor::Span<float>(floats_.data(), static_cast<std::size_t>(4 * rows)), {rows, 4});
  }
  std::vector<tailor::ConstTensorView> AnyInputs() {
    if (Pick(2) == 0) return {Rows(1 + Pick(3))};
    std::vector<tailor::ConstTensorView> out;
    for (int i = Pick(4); i > 0; --i) out.push_back(AnyView());
    return out;
  }
  std::vector<tailor::TensorView> AnyOutputs() {
    std::vector<tailor::TensorView> out;
    for (int i = Pick(4); i > 0; --i) {
      if (Pick(5) == 0) {
        out.emplace_back();
      } else if (Pick(2) == 0) {
        out.push_back(tailor::view(results_, AnyShape()));
      } else {
        out.push_back(tailor::TensorView(tailor::Span<float>(results_.data() + 16 * out.size(), 12), {3, 4}));
      }
    }
    return out;
  }

  void Step() {
    switch (Pick(6)) {
      case 0:
      case 1:
        return BuildValue();
      case 2:
        return BuildOther();
      case 3:
        return UseSession();
      case 4:
        return UseOutputs();
      default:
        return EndOrMove();
    }
  }

  void BuildValue() {
    const Value a = Any(values_), b = Any(values_);
    tailor::Graph& graph = Any(graphs_);
    tailor::SliceOptions steps;
    steps.steps = Numbers();
    tailor::Spatial spatial;
    spatial.strides = Numbers();
    spatial.low = AnyDims();
    switch (Pick(18)) {
      case 0:
        Keep(a + b);
        break;
      case 1:
        Keep(1.5 - a);
        break;
      case 2:
        Keep(a.softmax(Number()));
        break;
      case 3:
        Keep(a.reshape(AnyDims()));
        break;
      case 4:
        Keep(a.reduce_sum(Numbers()));
        break;
      case 5:
        Keep(a.transpose(Numbers()));
        break;
      case 6:
        Keep(a.cast(AnyDType()));
        break;
      case 7:
        Keep(a.slice(AnyDims(), AnyDims(), steps));
        break;
      case 8:
        Keep(graph.concat({a, b, Value()}, Number()));
        break;
      case 9:
        Keep(a.gather(b));
        break;
      case 10:
        Keep(a.scatter(b, a, Text()));
        break;
      case 11:
        Keep(a.dot(b));
        break;
      case 12:
        Keep(a.conv(b, {}, Number(), spatial));
        break;
      case 13:
        Keep(a.top_k(Number(), Number()).values);
        break;
      case 14:
        Keep(a.gt(0).select(b, Number()));
        break;
      case 15:
        Keep(a.layer_norm(b, {}, -1));
        break;
      case 16:
        Keep(graph.iota(AnyDims(), Number(), AnyDType()));
        break;
      default:
        Keep(a.unique(Number()).values);
    }
    for (tailor::Graph& each : graphs_) Check(each);
  }

  void BuildOther() {
    tailor::Graph& graph = Any(graphs_);
    const Value a = Any(values_), b = Any(values_);
    tailor::CustomResult result;
    result.dtype = AnyDType();
    result.dims = AnyDims();
    result.counted_dim = static_cast<std::int32_t>(Pick(9)) - 4;
    switch (Pick(14)) {
      case 0:
        dims_.push_back(graph.symbol(Text()));
        break;
      case 1:
        dims_.push_back(Any(dims_) * Any(dims_) + Number());
        break;
      case 2:
        dims_.push_back(Any(dims_).floordiv(Number()));
        break;
      case 3:
        Count(Any(dims_).range());
        Count(Any(dims_).is_less(Any(dims_)));
        break;
      case 4:
        Keep(graph.input(Text(), AnyDType(), AnyDims()));
        break;
      case 5:
        graph.output(Text(), a);
        break;
      case 6:
        Keep(graph.constant(Text(), floats_, AnyShape()));
        break;
      case 7:
        Keep(graph.constant_owned(Text(), floats_, AnyShape()));
        break;
      case 8:
        Keep(graph.custom(Text(), {a, b}, {result})[0]);
        break;
      case 9:
        Keep(graph.while_({a, b}, graph, Any(graphs_), AnyDims())[0]);
        break;
      case 10:
        Keep(graph.if_(
                      a, {b},
                      [&](const tailor::Graph&, const std::vector<Value>& v) {
                        return Pick(2) == 0 ? v : std::vector<Value>{a};
                      },
                      [](const tailor::Graph& region, const std::vector<Value>& v) {
                        return std::vector<Value>{region.concat(v, 0)};
                      })
                     .empty()
                 ? Value()
                 : a);
        break;
      case 11:
        Count(tailor::Graph::parse(Text()));
        Count(graph.text());
        break;
      case 12:
        graph.assume_at_least(Any(dims_), Any(dims_), Text());
        (void)a.dim(Number());
        break;
      default:
        if (Pick(4) == 0) Compile(graph);
    }
    for (tailor::Graph& each : graphs_) Check(each);
  }

  void Compile(const tailor::Graph& graph) {
    tailor::CompileOptions options;
    options.targets = {Pick(3) == 0 ? Text() : "host"};
    options.max_versions = Pick(5) == 0 ? 0 : 1;
    if (Pick(4) == 0) options.donated = {Text()};
    if (Pick(4) == 0) options.secret_key.resize(static_cast<std::size_t>(Pick(70)));
    if (Pick(4) == 0) options.runtime = &runtime_;
    if (Pick(8) == 0) options.device = {Pick(4) - 1, Pick(4) - 1};
    Result<tailor::Executable> executable = graph.compile(options);
    Count(executable);
    if (executable) executables_.push_back(*executable);
  }

  void UseSession() {
    tailor::Session& session = Any(sessions_);
    switch (Pick(9)) {
      case 0: {
        std::vector<tailor::TensorView> outputs = AnyOutputs();
        Count(session.run_into(AnyInputs(), tailor::Span<tailor::TensorView>(outputs)));
        break;
      }
      case 1:
        tensor_ = tailor::Tensor();  // memory that is bound has to live, which this one would not
        Count(session.bind(AnyInputs(), AnyOutputs()));
        break;
      case 2:
        Count(session.run_bound());
        break;
      case 3:
        Count(session.reserve({AnyShape()}));
        break;
      case 4:
        Count(session.follow(nullptr));
        Count(session.record(nullptr));
        Count(session.poll());
        Count(session.wait());
        Count(session.set_timeout(std::chrono::nanoseconds(Number())));
        Count(session.cancel());
        Count(Pick(2) == 0 ? session.uncancel() : session.trim());
        Count(Any(executables_).trim());
        Count(Any(executables_).counters());
        break;
      case 5:
        Count(Any(executables_).plan({AnyShape(), AnyShape()}, static_cast<std::uint64_t>(Pick(3))));
        break;
      case 6:
        Count(Any(executables_).run(AnyInputs(), AnyOutputs()));
        break;
      default: {
        Result<tailor::Outputs> outputs = session.run(AnyInputs());
        Count(outputs);
        if (outputs) outputs_.push_back(*std::move(outputs));
      }
    }
  }

  void UseOutputs() {
    if (outputs_.empty()) return;
    tailor::Outputs& outputs = Any(outputs_);
    const auto index = static_cast<std::size_t>(Pick(8) == 0 ? Number() : Pick(3));
    switch (Pick(6)) {
      case 0:
        Count(outputs.get<std::int64_t>(index));
        break;
      case 1: {
        Result<tailor::Tensor> taken = outputs.take(index);
        Count(taken);
        if (taken) tensor_ = *std::move(taken);
        break;
      }
      case 2:
        Count(outputs.shape(index));
        Count(outputs.device_address(index));
        break;
      case 3:
        Count(outputs.get<float>(Text()));
        break;
      default: {
        Result<std::vector<float>> copy = outputs.copy<float>(index);
        Count(copy);
        EXPECT_TRUE(!copy || copy->size() <= results_.size());
      }
    }
  }

  void EndOrMove() {
    tailor::Graph& graph = Any(graphs_);
    switch (Pick(10)) {
      case 0: {
        tailor::Graph gone = std::move(graph);
        Count(graph.status());
        if (Pick(2) == 0) graph = std::move(gone);
        break;
      }
      case 1:
        graph = tailor::Graph(Text());
        NewInput(graph);
        break;
      case 2: {
        tailor::Session gone = std::move(Any(sessions_));
        if (Pick(2) == 0) Any(sessions_) = std::move(gone);
        break;
      }
      case 3: {
        Result<tailor::Session> session = Any(executables_).session();
        Count(session);
        if (session) Any(sessions_) = *std::move(session);
        break;
      }
      case 4: {
        tailor::Executable gone = std::move(Any(executables_));
        if (Pick(2) == 0) executables_.push_back(gone);
        break;
      }
      case 5:
        if (!outputs_.empty()) {
          tailor::Outputs gone = std::move(Any(outputs_));
          if (Pick(2) == 0) outputs_.pop_back();
        }
        break;
      case 6:
        tensor_ = Pick(2) == 0 ? tailor::Tensor() : std::move(tensor_);
        Count(tensor_.elements<double>());
        break;
      case 7:
        // None that the system would give memory for, page by page.
        Count(
            tailor::Tensor::zeros(AnyDType(), {Pick(2) == 0 ? INT64_MAX : Pick(4) - 2, Pick(4) == 0 ? INT64_MIN : 2}));
        break;
      case 8: {
        Value gone = std::move(Any(values_));
        dims_.push_back(gone.dim(0));
        if (Pick(2) == 0) values_.emplace_back();
        break;
      }
      default: {
        tailor::LoadOptions options;
        options.target = Text();
        Count(tailor::Executable::load(Text(), options));
        const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(Pick(300)),
                                              static_cast<std::uint8_t>(Pick(256)));
        Count(tailor::Executable::load_owned(bytes, options));
        tailor::Runtime gone = std::move(runtime_);
        if (Pick(2) == 0) runtime_ = std::move(gone);
        Count(runtime_.register_operator(
            Text(), [](const tailor::CustomCall& call) -> Result<void> { return call.operand<float>(9).error(); }));
      }
    }
    for (tailor::Graph& each : graphs_) Check(each);
  }

  std::mt19937 random_;
  int errors_ = 0;
  std::vector<float> floats_ = std::vector<float>(16, 1.0f), results_ = std::vector<float>(64);
  std::vector<std::int64_t> integers_ = std::vector<std::int64_t>(16);
  tailor::Runtime runtime_ = tailor::Runtime::create().value();
  tailor::Tensor tensor_;
  std::vector<tailor::Graph> graphs_;
  std::vector<tailor::Dim> dims_ = {tailor::Dim()};
  std::vector<Value> values_ = {Value()};
  std::vector<tailor::Executable> executables_;
  std::vector<tailor::Session> sessions_;
  std::vector<tailor::Outputs> outputs_;
};

TEST(CppMisuse, RandomProgramsGetErrors) {
  const char* given = std::getenv("TAILOR_TEST_SEED");
  const auto seed = static_cast<std::uint32_t>(given == nullptr ? 1 : std::atoll(given));
  std::printf("seed %u\n", seed);
  std::fflush(stdout);
  const Fixture fixture;
  int errors = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const std::uint32_t program = seed * 1000 + static_cast<std::uint32_t>(i);
    const int found = Program(fixture, program).Run();
    EXPECT_GT(found, 0) << "program " << program;
    errors += found;
  }
  std::printf("%d errors\n", errors);

  // What they shared still works.
  tailor::Session session = fixture.plain[0].session().value();
  const std::vector<float> x = {1, 2, 3, 4};
  EXPECT_EQ(session.run({tailor::view(x, {1, 4})})->copy<float>(0).value(), (std::vector<float>{2, 4, 6, 8}));
}

}  // namespace
