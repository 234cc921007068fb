// tailor/tailor.hpp: building graphs, regions, custom operators, compiling, errors.
#include <gtest/gtest.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tailor/tailor.hpp"
#include "tests/hosts/cpp_expect.hpp"

namespace {

using tailor::Code;
using tailor::CompileOptions;
using tailor::CustomCall;
using tailor::Dim;
using tailor::DType;
using tailor::Executable;
using tailor::Graph;
using tailor::Outputs;
using tailor::Result;
using tailor::Session;
using tailor::Span;
using tailor::Value;
using tailor::view;

Value Input(const Graph& graph, const std::string& name) {
  return graph.input(name, DType::kF32, {graph.symbol("rows_of_" + name), 4});
}

// "f32[N, 4]"
std::string TypeOf(const Value& value) {
  const Result<DType> dtype = value.dtype();
  if (!dtype) return dtype.error().what();
  std::string out = name_of(*dtype) + "[";
  for (const Dim& dim : value.shape()) out += (out.back() == '[' ? "" : ", ") + dim.text().value();
  return out + "]";
}

// Expects that `graph` has an error with these words, and clears it.
void ExpectFailed(Graph& graph, Code code, const std::string& words) {
  ExpectError(graph.status(), code, words);
  ExpectError(graph.text(), code, words);
  ExpectError(graph.compile(), code, words);
  EXPECT_TRUE(graph.take_error().has_value());
  EXPECT_TRUE(graph.status());
}
void ExpectRefused(Graph& graph, const std::string& words) { ExpectFailed(graph, Code::kInvalidArgument, words); }

// Compiles for this machine alone.
Result<Executable> Compile(const Graph& graph, CompileOptions options = {}) {
  options.targets = {"host"};
  options.max_versions = 1;
  return graph.compile(options);
}

// The elements of output 0 of a run on one thread.
std::vector<float> FirstOutput(const Executable& executable, const std::vector<tailor::ConstTensorView>& inputs) {
  Session session = executable.session().value();
  return session.run(inputs).value().copy<float>(0).value();
}

template <typename T, typename = void>
struct CanCompare : std::false_type {};
template <typename T>
struct CanCompare<
    T, std::void_t<decltype(std::declval<T>() == std::declval<T>() || std::declval<T>() < std::declval<T>())>>
    : std::true_type {};

// Comparisons are methods, and handles are moved; executables are shared.
static_assert(!CanCompare<Value>::value && !CanCompare<Dim>::value && !std::is_convertible_v<Value, bool>);
static_assert(!std::is_copy_constructible_v<Graph> && !std::is_copy_constructible_v<Session>);
static_assert(!std::is_copy_constructible_v<Outputs> && std::is_nothrow_move_constructible_v<Outputs>);
static_assert(!std::is_copy_constructible_v<tailor::Runtime> && !std::is_copy_constructible_v<tailor::Tensor>);
static_assert(std::is_copy_constructible_v<Executable> && std::is_nothrow_move_constructible_v<Executable>);

TEST(CppGraph, DimsAreCanonicalExpressions) {
  Graph graph("test");
  tailor::SymbolOptions options;
  options.min = 1;
  options.max = 512;
  options.multiple_of = 8;
  options.likely = {8, 64};
  const Dim b = graph.symbol("B", options), s = graph.symbol("S");
  const std::pair<Dim, const char*> expected[] = {
      {b * s, "B*S"},
      {b * 2 + 1, "2*B + 1"},
      {2 * b + 1, "2*B + 1"},
      {10 - s, "-S + 10"},
      {s - 3u, "S - 3"},
      {s.floordiv(2), "floordiv(S, 2)"},
      {s.mod(3), "mod(S, 3)"},
      {s.min(4), "min(S, 4)"},
      {s.max(b), "max(B, S)"},
      {s.ceildiv(4), "floordiv(S + 3, 4)"},
      {s.truncdiv(4), "floordiv(S, 4)"},
      {s.truncmod(4), "mod(S, 4)"},
      {s.equal(s), "1"},
      {s.less(s), "0"},
      {s.equal(s).select(b, 7), "B"},
      {graph.dim(3) * 2, "6"},
  };
  for (const auto& [dim, text] : expected) EXPECT_EQ(dim.text().value(), text);
  graph.output("x", graph.input("x", DType::kF32, {b, s, 4}));
  EXPECT_NE(graph.text()->find("B in [1, 512] multiple_of 8 likely [8, 64]"), std::string::npos);
  EXPECT_FALSE(s.floordiv(0).valid());
  ExpectRefused(graph, "tailor_dim_floordiv");
  graph.symbol("B");
  ExpectRefused(graph, "\"B\"");
  (void)(s + UINT64_MAX);
  ExpectRefused(graph, "above the range of int64");
}

TEST(CppGraph, FactsOfDims) {
  Graph graph("test");
  tailor::SymbolOptions options;
  options.min = 3;
  options.max = 10;
  const Dim s = graph.symbol("S", options), b = graph.symbol("B"), c = graph.symbol("C"), more = s + 1;
  EXPECT_EQ((s * 8).range().value(), (std::pair<std::int64_t, std::int64_t>(24, 80)));
  EXPECT_EQ(s.is_equal(s).value(), true);
  EXPECT_EQ(s.is_equal(more).value(), false);
  EXPECT_EQ(s.is_equal(b).value(), std::nullopt);
  EXPECT_EQ(s.is_less(more).value(), true);
  EXPECT_EQ(s.is_at_most(10).value(), true);
  graph.output("x", graph.input("x", DType::kF32, {s, b, c}));
  graph.assume_equal(s, b);
  graph.assume_at_least(c, 3, "the stem");
  EXPECT_EQ(s.is_equal(b).value(), true);
  EXPECT_NE(graph.facts()->find("C >= 3: the stem: by the caller"), std::string::npos) << *graph.facts();
  Graph other("other");
  ExpectInvalid(s.is_equal(other.symbol("S")), "another graph");
  ExpectInvalid(Dim().range(), "belongs to no graph");
}

TEST(CppGraph, OpsHaveTheTypesThatTheTableSays) {
  Graph graph("test");
  const Value x = Input(graph, "x");
  const Dim b = x.dim(0);
  const Value ids = graph.input("ids", DType::kI64, {b});
  tailor::ReduceSumOptions keep;
  keep.keep_dims = 1;
  tailor::DotOptions transposed;
  transposed.transpose_rhs = 1;
  tailor::SliceOptions step;
  step.steps = {1, 2};
  const std::pair<Value, const char*> expected[] = {
      {x.reduce_sum({-1}, keep), "f32[rows_of_x, 1]"},
      {x.reduce_max({0}), "f32[4]"},
      {x.dot(x, transposed), "f32[rows_of_x, rows_of_x]"},
      {x.reshape({b * 2, 2}), "f32[2*rows_of_x, 2]"},
      {x.reshape(std::vector<Dim>{x.dim(-1), b}), "f32[4, rows_of_x]"},
      {x.slice({0, 0}, {b, 2}, step), "f32[rows_of_x, 2]"},
      {x.pad(graph.scalar(DType::kF32, 0), {1, 0}, {0, 2}), "f32[rows_of_x + 1, 6]"},
      {x.gather(ids), "f32[rows_of_x, 4]"},
      {x.cast(DType::kBF16), "bf16[rows_of_x, 4]"},
      {x.mod(2.0), "f32[rows_of_x, 4]"},
      {ids.shift_left(1), "i64[rows_of_x]"},
      {x.transpose({1, 0}), "f32[4, rows_of_x]"},
      {x.scan(0, "add"), "f32[rows_of_x, 4]"},
      {graph.concat({x, x, x}, 1), "f32[rows_of_x, 12]"},
      {graph.iota({b, 3}, 1, DType::kI32), "i32[rows_of_x, 3]"},
      {x.gt(0.0).select(x, 0.0), "f32[rows_of_x, 4]"},
      {x.softmax(-1), "f32[rows_of_x, 4]"},
      {x.log_softmax(0), "f32[rows_of_x, 4]"},
      {x.layer_norm(graph.constant("one", std::vector<float>(4, 1.0f), {4}), {}, 1e-5), "f32[rows_of_x, 4]"},
      {x.gelu(), "f32[rows_of_x, 4]"},
      {x.gelu_tanh(), "f32[rows_of_x, 4]"},
      {x.l2_normalize(-1, 1e-12), "f32[rows_of_x, 4]"},
      {x.attention(x, x, {}, 0.5), "f32[rows_of_x, 4]"},
      {x.sort(0).indices, "i64[rows_of_x, 4]"},
      {x.top_k(2, -1).values, "f32[rows_of_x, 2]"},
  };
  ASSERT_TRUE(graph.status()) << graph.status().error().what();
  for (const auto& [value, text] : expected) EXPECT_EQ(TypeOf(value), text);
}

TEST(CppGraph, OperatorsAppendTheOpsOfTheirNames) {
  Graph graph("test");
  const Value x = Input(graph, "x");
  const Value y = (x + 1.0 - x) * 2 / x;
  const Value z = -(1.0f - y % 3);
  const Value above = z.gt(0.0), number = z.eq(z), below = z.lt(1);
  graph.output("z", (below & ~(above | number)).named("between"));
  const std::string text = graph.text().value();
  EXPECT_EQ(text, R"(graph @test(%x: f32[rows_of_x, 4]) {
  %1 = constant 1 : f32[]
  %2 = add %x, %1 : f32[rows_of_x, 4]
  %3 = sub %2, %x : f32[rows_of_x, 4]
  %4 = constant 2 : f32[]
  %5 = mul %3, %4 : f32[rows_of_x, 4]
  %6 = div %5, %x : f32[rows_of_x, 4]
  %7 = constant 3 : f32[]
  %8 = rem %6, %7 : f32[rows_of_x, 4]
  %9 = constant 1 : f32[]
  %10 = sub %9, %8 : f32[rows_of_x, 4]
  %11 = neg %10 : f32[rows_of_x, 4]
  %12 = constant 0 : f32[]
  %13 = gt %11, %12 : bool[rows_of_x, 4]
  %14 = eq %11, %11 : bool[rows_of_x, 4]
  %15 = constant 1 : f32[]
  %16 = lt %11, %15 : bool[rows_of_x, 4]
  %17 = or %13, %14 : bool[rows_of_x, 4]
  %18 = not %17 : bool[rows_of_x, 4]
  %between = and %16, %18 : bool[rows_of_x, 4]
  return "z" = %between
}
)");
  EXPECT_EQ(Graph::parse(text)->text().value(), text);
  ExpectInvalid(Graph::parse("grph @g() {}"), "line 1, column");
}

TEST(CppGraph, ConvolutionsAndPoolsTakeTheirWindows) {
  Graph graph("test");
  const Value x = graph.input("x", DType::kF32, {graph.symbol("N"), 1, graph.symbol("size")});
  const Value weights = graph.constant("weights", {1.0f, 10.0f, 100.0f}, {1, 1, 3});
  const Value bias = graph.constant_owned("bias", std::vector<float>{0.5f}, {1});
  tailor::Spatial padded;
  padded.strides = {2};
  padded.low = padded.high = {1};
  graph.output("conv", x.conv(weights, bias, 1, padded));
  graph.output("max", x.max_pool({2}));
  graph.output("mean", x.average_pool({3}, false, padded));
  graph.output("padded", x.average_pool({3}, true, padded));
  Session session = Compile(graph)->session().value();
  const std::vector<float> line = {1, 2, 4, 9};
  Outputs outputs = session.run({view(line, {1, 1, 4})}).value();
  EXPECT_EQ(*outputs.copy<float>(0), (std::vector<float>{210.5, 942.5}));
  EXPECT_EQ(*outputs.copy<float>(1), (std::vector<float>{2, 4, 9}));
  EXPECT_EQ(*outputs.copy<float>(2), (std::vector<float>{1.5, 5}));
  EXPECT_EQ(*outputs.copy<float>(3), (std::vector<float>{1, 5}));
  tailor::Spatial uneven;
  uneven.strides = {1, 1};
  uneven.low = {0};
  x.max_pool({2}, uneven);
  ExpectRefused(graph, "2 strides, 0 dilations, 1 low and 0 high");
}

TEST(CppGraph, RecurrentLayersAndSelections) {
  Graph graph("test");
  const Value x = graph.input("x", DType::kF32, {graph.symbol("T"), 1, 1});
  const Value one = graph.constant("one", {1.0f}, {1, 1});
  tailor::Recurrence options;
  options.activations = {{"affine", 1.0, 0.0}};
  const tailor::RecurrenceResult sums = x.rnn(one, one, options);
  graph.output("y", sums.y);
  graph.output("last", sums.h);
  const Value flat = x.reshape({x.dim(0)});
  graph.output("positive", flat.compact(flat.gt(0)));
  const tailor::Unique unique = flat.unique();
  graph.output("distinct", unique.values);
  graph.output("counts", unique.counts);
  graph.output("nonzero", flat.nonzero());
  graph.output("sorted", flat.sort(0, true).values);
  Session session = Compile(graph).value().session().value();
  const std::vector<float> steps = {1, -2, 1, 0};
  Outputs outputs = session.run({view(steps, {4, 1, 1})}).value();
  EXPECT_EQ(*outputs.copy<float>(0), (std::vector<float>{1, -1, 0, 0}));
  EXPECT_EQ(*outputs.copy<float>(1), (std::vector<float>{0}));
  EXPECT_EQ(*outputs.copy<float>(2), (std::vector<float>{1, 1}));
  EXPECT_EQ(*outputs.copy<float>(3), (std::vector<float>{-2, 0, 1}));
  EXPECT_EQ(*outputs.copy<std::int64_t>(4), (std::vector<std::int64_t>{1, 1, 2}));
  EXPECT_EQ(*outputs.copy<std::int64_t>(5), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(*outputs.copy<float>(6), (std::vector<float>{1, 1, 0, -2}));
}

TEST(CppGraph, RegionsAreFunctions) {
  Graph graph("test");
  const Dim n = graph.symbol("N");
  const Value x = graph.input("x", DType::kF32, {n}), twice = graph.input("twice", DType::kF32, {n * 2});
  const Value i = graph.scalar(DType::kI64, 0);
  const auto values = graph.while_(
      {i, x, twice}, [](const Graph&, const std::vector<Value>& v) { return v[0].lt(3); },
      [](const Graph& region, const std::vector<Value>& v) {
        return std::vector<Value>{v[0] + 1, v[1] * 2, region.concat({v[1], v[1]}, 0) + v[2]};  // 2*N is known inside
      });
  const auto chosen = graph.if_(
      values[1].reduce_sum({0}).gt(100), {values[1], values[2]},
      [](const Graph&, const std::vector<Value>& v) {
        return std::vector<Value>{-v[0], v[1]};
      },
      [](const Graph&, const std::vector<Value>& v) { return v; });
  graph.output("y", chosen[0]);
  graph.output("z", chosen[1]);
  Session session = Compile(graph).value().session().value();
  const std::vector<float> small = {1, 2}, large = {10, 20}, zeros(4);
  Outputs outputs = session.run({view(small), view(zeros)}).value();
  EXPECT_EQ(*outputs.copy<float>(0), (std::vector<float>{8, 16}));
  EXPECT_EQ(*outputs.copy<float>(1), (std::vector<float>{7, 14, 7, 14}));
  EXPECT_EQ(*session.run({view(large), view(zeros)})->copy<float>(0), (std::vector<float>{-80, -160}));
}

// The value grows by an element in each iteration: its dim inside is a symbol of the region.
TEST(CppGraph, RegionsThatChangeDimsAreGraphs) {
  Graph graph("test"), condition("condition"), body("body");
  const Value inside = condition.input("v", DType::kF32, {condition.symbol("M")});
  condition.output("go on", inside.reduce_sum({0}).lt(10));
  const Value grows = body.input("v", DType::kF32, {body.symbol("M")});
  body.output("v", body.concat({grows, body.constant("four", {4.0f}, {1})}, 0));
  const Value x = graph.input("x", DType::kF32, {graph.symbol("N")});
  graph.output("y", graph.while_({x}, condition, body, {graph.symbol("M")})[0]);
  const std::vector<float> one = {1};
  EXPECT_EQ(FirstOutput(Compile(graph).value(), {view(one)}), (std::vector<float>{1, 4, 4, 4}));
}

TEST(CppGraph, RegionsWithErrorsNameThem) {
  Graph graph("test");
  const Value x = Input(graph, "x");
  const auto same = [](const Graph&, const std::vector<Value>& v) { return v; };
  const auto always = [](const Graph&, const std::vector<Value>& v) { return v[0].reduce_sum({0, 1}).lt(1); };
  EXPECT_EQ(
      graph.while_({x}, always, [&](const Graph&, const std::vector<Value>&) { return std::vector<Value>{x}; }).size(),
      1u);
  ExpectRefused(graph, "another graph");
  graph.while_({x}, always, [](const Graph&, const std::vector<Value>&) { return std::vector<Value>{}; });
  ExpectRefused(graph, "while");
  graph.while_({x}, always,
               [](const Graph&, const std::vector<Value>& v) { return std::vector<Value>{v[0].softmax(7)}; });
  ExpectRefused(graph, "axis 7");
  graph.while_({Value()}, always, same);
  ExpectRefused(graph, "value");
  graph.while_({x}, Graph::Condition(), same);
  ExpectRefused(graph, "the function of region \"condition\" is empty");
  graph.if_(x, {x}, same, same);
  ExpectRefused(graph, "bool");
  Graph moved("moved"), kept = std::move(moved);
  graph.while_({x}, moved, kept);
  ExpectRefused(graph, "belongs to no graph");
  EXPECT_THROW(graph.while_({x}, always,
                            [](const Graph&, const std::vector<Value>&) -> std::vector<Value> {
                              throw std::runtime_error("in a body");
                            }),
               std::runtime_error);
  EXPECT_TRUE(graph.status());
}

TEST(CppGraph, ConstantsAreCopiedOrKept) {
  Graph graph("test");
  const Value x = Input(graph, "x");
  Value copied;
  {
    std::vector<float> weights = {1, 2, 3, 4};
    copied = graph.constant("copied", weights, {4});
  }
  const Value kept = graph.constant_owned("kept", std::vector<float>{10, 20, 30, 40}, {4});
  graph.output("y", x * copied + kept);
  const Executable executable = Compile(graph).value();
  graph = Graph("other");
  const std::vector<float> ones(4, 1.0f);
  EXPECT_EQ(FirstOutput(executable, {view(ones, {1, 4})}), (std::vector<float>{11, 22, 33, 44}));
  graph.constant_owned("short", std::vector<float>{1}, {4});
  ExpectRefused(graph, "short");
  graph.constant("many", {1.0f}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  ExpectRefused(graph, "rank 9 is more than 8");
  (void)(graph.scalar(DType::kI64, 1) + ((std::int64_t{1} << 53) + 1));
  ExpectRefused(graph, "beyond 2^53");
}

TEST(CppGraph, HalvesAreBits) {
  Graph graph("test");
  const Value x = graph.input("x", DType::kF16, {2});
  graph.output("y", x * graph.constant("c", std::vector<tailor::F16>{{0x4000}}, {1}));
  const std::vector<tailor::F16> in = {{0x3C00}, {0xC200}};
  Session session = Compile(graph)->session().value();
  Outputs outputs = session.run({view(in)}).value();
  EXPECT_EQ((*outputs.get<tailor::F16>(0))[0].bits, 0x4000);
  EXPECT_EQ((*outputs.get<tailor::F16>(0))[1].bits, 0xC600);
}

TEST(CppGraph, BadGraphsAreRefusedByName) {
  Graph graph("test"), other("other");
  const Value x = Input(graph, "x"), foreign = Input(other, "foreign");
  const Value ids = graph.input("ids", DType::kI64, {4});
  const auto refused = [&](const Value& value, const char* words) {
    EXPECT_FALSE(value.valid());
    ExpectRefused(graph, words);
  };
  refused(x + ids, "add: operand \"rhs\"");
  refused(x.add(foreign), "add: rhs is a value of another graph");
  refused(x.max_pool({foreign.dim(0)}), "another graph");
  refused(graph.input("z", DType::kF32, {foreign.dim(0)}), "another graph");
  refused(graph.input("x", DType::kF32, {}), "the name \"x\" is taken");
  refused(graph.input("z", static_cast<DType>(99), {}), "99");
  refused(x.softmax(2), "axis 2");
  refused(x.scatter(ids, x, "divide"), "divide");
  refused(x.dot(graph.constant("w", std::vector<float>(6), {2, 3})), "dot");
  refused(x + Value(), "add");
  refused(graph.concat({}, 0), "concat");
  refused(graph.concat({x, Value()}, 0), "concat");
  (void)(x.dim(0) + foreign.dim(0));
  ExpectRefused(graph, "another graph");
  graph.output("y", foreign);
  ExpectRefused(graph, "another graph");
  graph.output("y", Value().exp());
  ExpectRefused(graph, "value");
  x.dim(2);
  ExpectFailed(graph, Code::kOutOfRange, "there is no axis 2 in a value of rank 2");
  EXPECT_FALSE(Value().dtype());
  EXPECT_TRUE(Value().shape().empty());

  // The first error stays; later calls do nothing.
  const Value failed = (x + ids).exp().softmax(17);
  graph.output("never", failed);
  ExpectRefused(graph, "add: operand \"rhs\"");

  ExpectError(graph.compile(), Code::kFailedPrecondition, "output");
  graph.output("y", x.exp());
  CompileOptions options;
  options.targets = {"x86-64-v9"};
  ExpectInvalid(graph.compile(options), "x86-64-v9");
  options.targets = {std::string("x\0y", 3)};
  ExpectInvalid(graph.compile(options), "target has a NUL inside");
  options = {};
  options.secret_key = {1};
  ExpectInvalid(graph.compile_artifact(options), "secret_key has 1 bytes, not 64");
  options = {};
  options.donated = {"z"};
  ExpectInvalid(graph.compile(options), "\"z\" is no input");
  options = {};
  options.max_versions = 0;
  ExpectInvalid(graph.compile(options), "max_versions");
  options = {};
  options.optimize = 2;
  ExpectInvalid(graph.compile(options), "options.optimize is 2, not 0 or 1");
  options.optimize = 1;
  options.without = {"stitch", "glue"};
  ExpectInvalid(graph.compile(options), "no optional pass \"glue\"");
  options = {};
  options.cost_profile = "line 4\ntile 2x1";
  ExpectInvalid(graph.compile(options), "options.cost_profile: line 2: a tile has three costs");
  other.output("y", other.input("product", DType::kF32, {other.symbol("N") * other.symbol("M")}));
  ExpectInvalid(other.compile(), "cannot be solved");
}

TEST(CppGraph, ObjectsMayEndInAnyOrder) {
  Value x;
  Dim n;
  {
    Graph graph("gone");
    n = graph.symbol("N");
    x = graph.input("x", DType::kF32, {n});
  }
  EXPECT_EQ((n + 1).text().value(), "N + 1");
  EXPECT_EQ(TypeOf(x.exp()), "f32[N]");
  Graph graph("test");
  const Value y = Input(graph, "y");
  Graph moved = std::move(graph);
  EXPECT_FALSE(graph.symbol("M").valid());
  EXPECT_FALSE(graph.input("z", DType::kF32, {1}).valid());
  EXPECT_FALSE(graph.concat({y}, 0).valid());
  EXPECT_FALSE(graph.while_({y}, moved, moved)[0].valid());
  graph.output("y", y);
  ExpectInvalid(graph.status(), "belongs to no graph");
  ExpectInvalid(graph.compile(), "belongs to no graph");
  EXPECT_FALSE(graph.text());
  EXPECT_EQ(graph.output_count(), 0u);
  moved.output("y", y);
  EXPECT_EQ(moved.output_count(), 1u);
}

TEST(CppGraph, ProgressCancelsAndThrowsButCannotUseTheGraph) {
  Graph graph("test");
  const Value x = Input(graph, "x");
  graph.output("y", x.exp());
  CompileOptions options;
  options.progress = [](std::string_view phase, double) { return phase != "pack"; };
  ExpectError(graph.compile(options), Code::kCancelled, "compilation was cancelled during pack");
  int refused = 0;
  options.progress = [&](std::string_view, double) {
    refused += !x.exp().valid();
    (void)graph.take_error();
    return true;
  };
  EXPECT_TRUE(Compile(graph, options));
  EXPECT_GT(refused, 0);
  options.progress = [](std::string_view, double) -> bool { throw std::runtime_error("in progress"); };
  EXPECT_THROW((void)graph.compile(options), std::runtime_error);
  EXPECT_TRUE(x.exp().valid());
  auto ending = std::make_unique<Graph>("ending");
  ending->output("y", Input(*ending, "x"));
  options.progress = [&](std::string_view, double) {
    ending.reset();
    return true;
  };
  const Graph& alias = *ending;
  EXPECT_TRUE(Compile(alias, options));
}

TEST(CppGraph, ArtifactsAreSignedBytes) {
  Graph graph("test");
  graph.output("y", Input(graph, "x").exp());
  const std::string digits =
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"  // test 1 of RFC 8032: seed, then public key
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
  CompileOptions options;
  options.targets = {"x86-64-v2"};
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    options.secret_key.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  const std::vector<std::uint8_t> artifact = graph.compile_artifact(options).value();
  tailor::LoadOptions load;
  load.public_key.assign(options.secret_key.begin() + 32, options.secret_key.end());
  EXPECT_TRUE(Executable::load_bytes(artifact, load));
  load.public_key[0] ^= 1;
  EXPECT_FALSE(Executable::load_bytes(artifact, load));
  options.secret_key.clear();
  EXPECT_FALSE(Executable::load_bytes(graph.compile_artifact(options).value(), load));
}

TEST(CppGraph, DonatedInputsAreWritten) {
  Graph graph("test");
  const Value cache = graph.input("cache", DType::kF32, {graph.symbol("S"), 4});
  const Value at = graph.input("at", DType::kI64, {1, 1}), row = graph.input("row", DType::kF32, {1, 4});
  graph.output("next", cache.scatter(at, row, "set"));
  CompileOptions options;
  options.donated = {"cache"};
  const Executable executable = Compile(graph, options).value();
  EXPECT_TRUE(executable.inputs()->at(0).donated);
  EXPECT_EQ(executable.outputs()->at(0).memory_of, std::size_t{0});
  Session session = executable.session().value();
  std::vector<float> memory(8);
  const std::vector<float> ones(4, 1.0f);
  const std::vector<std::int64_t> second = {1};
  Outputs outputs = session.run({view(memory, {2, 4}), view(second, {1, 1}), view(ones, {1, 4})}).value();
  EXPECT_EQ(memory, (std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1}));
  ExpectInvalid(outputs.get<float>(0), "is in the memory of a donated input");
  const std::vector<float>& constant = memory;
  const std::vector<tailor::ConstTensorView> read_only = {view(constant, {2, 4}), view(second, {1, 1}),
                                                          view(ones, {1, 4})};
  ExpectInvalid(session.run(read_only), "input \"cache\" is donated, but its memory is const");
  ExpectInvalid(executable.run(read_only, {view(memory, {2, 4})}), "input \"cache\" is donated");
}

TEST(CppGraph, TextsLeaveOutBytesThatAFunctionGives) {
  Graph graph("test");
  std::vector<float> weights(1000);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  graph.output("y", graph.input("x", DType::kF32, {1000}) + graph.constant("w", weights, {1000}));
  tailor::ParseOptions options;
  options.constant = [&](std::string_view name, DType dtype, const tailor::Shape& shape, Span<unsigned char> data) {
    EXPECT_EQ(name, "w");
    EXPECT_EQ(dtype, DType::kF32);
    EXPECT_EQ(shape, tailor::Shape{1000});
    std::memcpy(data.data(), weights.data(), data.size());
    return true;
  };
  const Graph parsed = Graph::parse(graph.text().value(), options).value();
  EXPECT_EQ(FirstOutput(Compile(parsed).value(), {view(std::as_const(weights))})[999], 1998.0f);
  options.constant = [](std::string_view, DType, const tailor::Shape&, Span<unsigned char>) { return true; };
  ExpectInvalid(Graph::parse(graph.text().value(), options), "w");  // zeros are other bytes
  options.ignore_hashes = true;
  EXPECT_TRUE(Graph::parse(graph.text().value(), options));
  options.constant = [](std::string_view, DType, const tailor::Shape&, Span<unsigned char>) -> bool { throw 7; };
  EXPECT_THROW((void)Graph::parse(graph.text().value(), options), int);
}

// y = custom operator "f" of x, both f32[N].
Result<Executable> WithOperator(tailor::CustomOperator op, const std::string& attributes = "") {
  tailor::Runtime runtime = tailor::Runtime::create().value();
  if (auto added = runtime.register_operator("f", std::move(op)); !added) return added.error();
  Graph graph("test");
  const Dim n = graph.symbol("N");
  tailor::CustomOptions options;
  options.attributes = attributes;
  tailor::CustomResult result;
  result.dims = {n};
  graph.output("y", graph.custom("f", {graph.input("x", DType::kF32, {n})}, {result}, options)[0].named("node"));
  CompileOptions compile;
  compile.runtime = &runtime;
  return Compile(graph, compile);  // keeps the runtime
}

TEST(CppCustom, FunctionsReadAndWrite) {
  tailor::CustomOperator op;
  op.workspace = [](const CustomCall& call) -> Result<std::size_t> {
    EXPECT_FALSE(call.operand<float>(0));
    return static_cast<std::size_t>(call.operand_shape(0).value()[0]) * 2;
  };
  op.function = [](const CustomCall& call) -> Result<void> {
    EXPECT_EQ(call.name(), "f");
    EXPECT_EQ(call.node(), "node");
    EXPECT_EQ(call.attributes(), "{}");
    EXPECT_EQ(call.operand_count() + call.result_count(), 2u);
    EXPECT_EQ(call.result_dtype(0).value(), DType::kF32);
    EXPECT_GE(call.workspace()->size(), 6u);
    EXPECT_EQ(call.stream(), nullptr);
    EXPECT_FALSE(call.operand<double>(0));
    EXPECT_FALSE(call.operand<float>(1));
    EXPECT_FALSE(call.result_address(7));
    const Span<const float> x = call.operand<float>(0).value();
    const Span<float> y = call.result<float>(0).value();
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * 3;
    return {};
  };
  const Executable executable = WithOperator(op, "{}").value();
  const std::vector<float> x = {1, 2, 3};
  EXPECT_EQ(FirstOutput(executable, {view(x)}), (std::vector<float>{3, 6, 9}));
}

TEST(CppCustom, ErrorsAndExceptionsFailTheRun) {
  const std::vector<float> x = {1, 2, 3};
  const auto run = [&](std::function<Result<void>(const CustomCall&)> function) {
    Session session = WithOperator({std::move(function), nullptr})->session().value();
    return session.run({view(x)});
  };
  ExpectError(run([](const CustomCall&) -> Result<void> { return tailor::Error(Code::kOutOfRange, "no rows"); }),
              Code::kOutOfRange, "no rows");
  ExpectError(run([](const CustomCall&) -> Result<void> { return tailor::Error(Code{}, "code 0"); }), Code::kInternal,
              "code 0");
  ExpectError(run([](const CustomCall&) -> Result<void> { throw std::runtime_error("thrown"); }), Code::kInternal,
              "thrown");
  ExpectError(run([](const CustomCall&) -> Result<void> { throw 7; }), Code::kInternal, "no std::exception");
  ExpectError(run([](const CustomCall& call) -> Result<void> {
                call.operand<double>(0).value();
                return {};
              }),
              Code::kInvalidArgument, "operand 0 is f32, not f64");
  ExpectError(run([](const CustomCall&) -> Result<void> {
                std::string text(5000, 'x');
                for (int i = 0; i < 900; ++i) text.insert(0, "\xC3\xA9");
                return tailor::Error(Code::kInternal, text);
              }),
              Code::kInternal, "\xC3\xA9\xC3\xA9");
}

TEST(CppCustom, RegistrationsAreChecked) {
  const auto nothing = [](const CustomCall&) { return Result<void>(); };
  tailor::Runtime runtime = tailor::Runtime::create().value();
  EXPECT_TRUE(runtime.register_operator("f", nothing));
  EXPECT_FALSE(runtime.register_operator("f", nothing));
  EXPECT_FALSE(runtime.register_operator("", nothing));
  EXPECT_FALSE(runtime.register_operator("tailor.f", nothing));
  EXPECT_FALSE(runtime.register_operator("g", tailor::CustomOperator()));
  tailor::Device strange;
  strange.kind = 9;
  EXPECT_FALSE(runtime.register_operator("g", nothing, strange));
  Graph graph("test");
  tailor::CustomResult wrong;
  wrong.counted_dim = 3;
  graph.custom("f", {}, {wrong});
  ExpectRefused(graph, "counted");
  graph.custom("f", {}, {});
  ExpectRefused(graph, "f");
  graph.output("y", graph.custom("unknown", {}, {tailor::CustomResult()})[0]);
  ExpectError(graph.compile(), Code::kFailedPrecondition, "unknown");
}

TEST(CppCustom, FunctionsLiveAsLongAsTheyAreNeeded) {
  auto alive = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = alive;
  Result<Session> session = [&] {
    tailor::CustomOperator op;
    op.function = [alive = std::move(alive)](const CustomCall& call) -> Result<void> {
      ++*alive;
      for (float& y : *call.result<float>(0)) y = 0;
      return {};
    };
    return WithOperator(std::move(op))->session();
  }();
  const std::vector<float> x = {1};
  EXPECT_TRUE(session->run({view(x)}));
  EXPECT_EQ(*watch.lock(), 1);
  session = tailor::Error(Code::kInternal, "ended");
  EXPECT_TRUE(watch.expired());
}

TEST(CppGraph, SeedsRepeatRandomNumbers) {
  Graph graph("test");
  tailor::CustomResult state = {DType::kU64, {2}, std::nullopt};
  graph.output("state", graph.custom("tailor.run_state", {}, {state})[0]);
  Session session = Compile(graph)->session().value();
  session.set_seed(7).value();
  EXPECT_EQ(*session.run({})->copy<std::uint64_t>(0), (std::vector<std::uint64_t>{7, 0}));
  EXPECT_EQ(*session.run({})->copy<std::uint64_t>(0), (std::vector<std::uint64_t>{7, 1}));
}

TEST(CppGraph, ThreadsThatShareAGraphGetErrors) {
  Graph graph("test");
  const Value x = Input(graph, "x");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        (void)x.exp();
        (void)graph.text();
        if (auto error = graph.take_error()) {
          EXPECT_EQ(error->code(), Code::kFailedPrecondition) << error->what();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
