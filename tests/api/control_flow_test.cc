// Loops, branches and data-dependent dims, run through the C headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "tailor/compiler.h"
#include "tests/api/status_text.h"

extern "C" uint64_t tailor_allocations_during(void* (*call)(void*), void* argument, uint64_t times);

namespace tailor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

tailor_tensor TensorOf(int32_t dtype, void* data, uint64_t bytes, const std::vector<int64_t>& dims) {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  tensor.dtype = dtype;
  tensor.data = data;
  tensor.data_bytes = bytes;
  tensor.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

tailor_tensor Floats(std::vector<float>& data, const std::vector<int64_t>& dims) {
  return TensorOf(TAILOR_F32, data.data(), data.size() * sizeof(float), dims);
}

tailor_tensor Number(int64_t* value) { return TensorOf(TAILOR_I64, value, sizeof(int64_t), {}); }

tailor_tensor Provided() {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  return tensor;
}

std::vector<float> FloatsOf(const tailor_tensor& tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor.rank; ++d) count *= tensor.dims[d];
  const auto* data = static_cast<const float*>(tensor.data);
  return {data, data + count};
}

class ControlFlow : public testing::Test {
 protected:
  void Compile(const char* text) {
    tailor_graph* graph = nullptr;
    ASSERT_EQ(Text(tailor_graph_parse(text, SIZE_MAX, &graph)), "OK");
    tailor_compile_options options;
    tailor_compile_options_init(&options);
    const char* targets[] = {"host"};
    options.targets = targets;
    options.target_count = 1;
    ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &options, &executable)), "OK");
    tailor_graph_release(graph);
    OpenSession();
  }
  void OpenSession() {
    tailor_session_release(session);
    ASSERT_EQ(Text(tailor_session_create(executable, nullptr, &session)), "OK");
  }
  void TearDown() override {
    tailor_session_release(session);
    tailor_executable_release(executable);
  }
  std::string Run(std::vector<tailor_tensor> in, std::vector<tailor_tensor>* out) {
    return Text(tailor_session_run(session, in.data(), in.size(), out->data(), out->size()));
  }

  tailor_executable* executable = nullptr;
  tailor_session* session = nullptr;
};

// Running sums of the rows of x, written row by row; and the last of them.
constexpr char kSums[] = R"(
graph @sums(%x: f32[T, C]) where T in [0, 4096] {
  %zero = constant 0 : f32[]
  %none = broadcast %zero {shape = [T, C]}
  %first = broadcast %zero {shape = [C]}
  %start = constant 0 : i64[]
  %numbers = iota {shape = [T + 1], axis = 0, dtype = i64}
  %end = slice %numbers {starts = [T], sizes = [1]}
  %steps = reshape %end {shape = []}
  %sums, %t, %last, %n, %same = while(%none, %start, %first, %steps, %x) {
    region(%sums: f32[R, D], %t: i64[], %h: f32[D], %n: i64[], %x: f32[R, D]) {
      %more = lt %t, %n
      return %more
    }
    region(%sums: f32[R, D], %t: i64[], %h: f32[D], %n: i64[], %x: f32[R, D]) {
      %row = gather %x, %t {axis = 0}
      %next = add %h, %row
      %at = reshape %t {shape = [1, 1]}
      %update = reshape %next {shape = [1, D]}
      %new_sums = scatter %sums, %at, %update {combiner = "set"}
      %one = constant 1 : i64[]
      %new_t = add %t, %one
      return %new_sums, %new_t, %next, %n, %x
    }
  }
  return "sums" = %sums, "last" = %last
}
)";

TEST_F(ControlFlow, ALoopRunsAsOftenAsItsDimSizeSays) {
  Compile(kSums);
  for (int64_t steps : {3, 0, 1, 2, 700, 3}) {
    std::vector<float> x(steps * 2), sums(steps * 2), last(2);
    std::iota(x.begin(), x.end(), 1.0f);
    std::vector<tailor_tensor> out = {Floats(sums, {steps, 2}), Floats(last, {2})};
    ASSERT_EQ(Run({Floats(x, {steps, 2})}, &out), "OK");
    std::vector<float> expected(2, 0.0f);
    for (int64_t t = 0; t < steps; ++t) {
      for (int c = 0; c < 2; ++c) {
        expected[c] += x[t * 2 + c];
        ASSERT_EQ(sums[t * 2 + c], expected[c]) << steps << " steps, row " << t;
      }
    }
    EXPECT_EQ(last, expected) << steps;
  }
}

// What the first loop returns as it came has the memory of %a, which is read after the second loop updates its own.
TEST_F(ControlFlow, ALoopUpdatesNoMemoryThatOthersRead) {
  Compile(R"(
graph @twice(%x: f32[N], %n: i64[]) {
  %one = constant 1 : f32[]
  %a = add %x, %one
  %same, %done = while(%a, %n) {
    region(%r: f32[M], %n: i64[]) { %z = constant 0 : i64[] %p = gt %n, %z return %p }
    region(%r: f32[M], %n: i64[]) { %o = constant 1 : i64[] %m = sub %n, %o return %r, %m }
  }
  %updated, %k = while(%same, %n) {
    region(%r: f32[M], %n: i64[]) { %z = constant 0 : i64[] %p = gt %n, %z return %p }
    region(%r: f32[M], %n: i64[]) {
      %o = constant 1 : i64[]
      %m = sub %n, %o
      %at = reshape %m {shape = [1, 1]}
      %hundred = constant 100 : f32[]
      %update = reshape %hundred {shape = [1]}
      %s = scatter %r, %at, %update {combiner = "add"}
      return %s, %m
    }
  }
  %total = reduce_sum %a {axes = [0]}
  %y = add %updated, %total
  return "y" = %y
}
)");
  std::vector<float> x = {0, 1, 2, 3, 4};
  int64_t turns = 2;
  std::vector<tailor_tensor> out = {Provided()};
  ASSERT_EQ(Run({Floats(x, {5}), Number(&turns)}, &out), "OK");
  EXPECT_THAT(FloatsOf(out[0]), ElementsAre(116, 117, 18, 19, 20));
}

struct Repeated {
  tailor_session* session;
  std::vector<tailor_tensor> in, out;
};

void* RunOnce(void* argument) {
  auto* run = static_cast<Repeated*>(argument);
  return tailor_session_run(run->session, run->in.data(), run->in.size(), run->out.data(), run->out.size());
}

TEST_F(ControlFlow, ALoopAllocatesNothingWithinTheWorkspaceOfThePlan) {
  Compile(kSums);
  std::vector<float> x(400, 1.0f), sums(400), last(2);
  Repeated run{session, {Floats(x, {200, 2})}, {Floats(sums, {200, 2}), Floats(last, {2})}};
  std::vector<tailor_tensor> planned = {Provided(), Provided()};
  tailor_plan_info info;
  tailor_plan_info_init(&info);
  ASSERT_EQ(Text(tailor_executable_plan(executable, run.in.data(), 1, planned.data(), 2, &info)), "OK");
  EXPECT_GE(info.workspace_bytes, 400 * sizeof(float));
  EXPECT_EQ(info.data_dependent, 0u);
  ASSERT_EQ(Text(tailor_session_reserve(session, run.in.data(), 1)), "OK");
  tailor_counters before, after;
  tailor_counters_init(&before);
  tailor_counters_init(&after);
  tailor_counters_read(&before);
  EXPECT_EQ(tailor_allocations_during(RunOnce, &run, 1), 0u);
  tailor_counters_read(&after);
  EXPECT_EQ(after.workspace_growths, before.workspace_growths);
  EXPECT_EQ(sums.back(), 200.0f);
}

// As many of the leading rows of x as `n` says, twice as large; `n` must be 1 to 64.
constexpr char kHead[] = R"(
graph @head(%x: f32[B, 2], %n: i64[]) where B, N in [1, 64] {
  %count = bind %n {extent = [N]}
  %rows = slice %x {starts = [0, 0], sizes = [N, 2]}
  %twice = add %rows, %rows
  return "twice" = %twice
}
)";

TEST_F(ControlFlow, DataDependentDims) {
  Compile(kHead);
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  for (int64_t n : {2, 3, 1}) {
    std::vector<tailor_tensor> out = {Provided()};
    ASSERT_EQ(Run({Floats(x, {3, 2}), Number(&n)}, &out), "OK");
    ASSERT_THAT(std::vector<int64_t>(out[0].dims, out[0].dims + 2), ElementsAre(n, 2));
    std::vector<float> expected(x.begin(), x.begin() + 2 * n);
    for (float& value : expected) value *= 2;
    EXPECT_EQ(FloatsOf(out[0]), expected);
  }
}

TEST_F(ControlFlow, WhatDataTellsIsChecked) {
  Compile(kHead);
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const auto run = [&](int64_t n) {
    std::vector<tailor_tensor> out = {Provided()};
    return Run({Floats(x, {3, 2}), Number(&n)}, &out);
  };
  EXPECT_THAT(run(4), AllOf(StartsWith("3: "), HasSubstr("end in dim 0 (N) is 4"), HasSubstr("(B) is 3")));
  EXPECT_THAT(run(0), AllOf(StartsWith("3: "), HasSubstr("N is 0"), HasSubstr("must be at least 1")));
  EXPECT_THAT(run(65), AllOf(StartsWith("3: "), HasSubstr("N is 65 from %n, but must be at most 64")));
  EXPECT_THAT(run(-7), AllOf(StartsWith("3: "), HasSubstr("dim size N is -7"), HasSubstr("must be at least 0")));
  EXPECT_EQ(run(3), "OK");
}

TEST_F(ControlFlow, TheCallersMemoryMayBeLargerThanWhatDataTells) {
  Compile(kHead);
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6, -1.0f);
  int64_t n = 2;
  std::vector<tailor_tensor> out = {Floats(y, {-1, 2})};
  ASSERT_EQ(Run({Floats(x, {3, 2}), Number(&n)}, &out), "OK");
  EXPECT_EQ(out[0].dims[0], 2);
  EXPECT_THAT(y, ElementsAre(2, 4, 6, 8, -1, -1));
  out[0].dims[0] = -1;
  out[0].data_bytes = 8;
  EXPECT_THAT(Run({Floats(x, {3, 2}), Number(&n)}, &out), AllOf(StartsWith("3: "), HasSubstr("twice")));
  out = {Floats(y, {3, 2})};
  EXPECT_THAT(Run({Floats(x, {3, 2}), Number(&n)}, &out), AllOf(StartsWith("3: "), HasSubstr("dim 0")));
  out = {Floats(y, {-1, 2})};
  tailor_tensor in[] = {Floats(x, {3, 2}), Number(&n)};
  EXPECT_THAT(Text(tailor_session_bind(session, in, 2, out.data(), 1)),
              AllOf(StartsWith("3: "), HasSubstr("\"twice\""), HasSubstr("left open")));
}

TEST_F(ControlFlow, ThePlanSaysWhatDataWillTell) {
  Compile(kHead);
  std::vector<float> x(6);
  int64_t n = 2;
  tailor_tensor in[] = {Floats(x, {3, 2}), Number(&n)}, out = Provided();
  tailor_plan_info info;
  tailor_plan_info_init(&info);
  ASSERT_EQ(Text(tailor_executable_plan(executable, in, 2, &out, 1, &info)), "OK");
  EXPECT_THAT(std::vector<int64_t>(out.dims, out.dims + 2), ElementsAre(-1, -1));
  EXPECT_EQ(info.data_dependent, 1u);
}

TEST_F(ControlFlow, TheSameDimSizesGrowNothingTwice) {
  Compile(kHead);
  std::vector<float> x(128, 1.0f), y(128);
  int64_t n = 50;
  Repeated run{session, {Floats(x, {64, 2}), Number(&n)}, {Floats(y, {-1, 2})}};
  ASSERT_EQ(RunOnce(&run), nullptr);
  for (int64_t smaller : {50, 7, 49}) {
    n = smaller;
    run.out[0].dims[0] = -1;
    EXPECT_EQ(tailor_allocations_during(RunOnce, &run, 1), 0u) << n;
  }
}

// Doubles a vector until it has at least `n` elements.
TEST_F(ControlFlow, ALoopMayChangeDimSizes) {
  Compile(R"(
graph @grow(%x: f32[B], %n: i64[]) where B, R {
  %one = constant 1 : i64[]
  %y, %left = while(%x, %n) {shapes = [R]} {
    region(%a: f32[N], %c: i64[]) {
      %zero = constant 0 : i64[]
      %go = gt %c, %zero
      return %go
    }
    region(%a: f32[N], %c: i64[]) {
      %twice = concat %a, %a {axis = 0}
      %one = constant 1 : i64[]
      %less = sub %c, %one
      return %twice, %less
    }
  }
  %sum = reduce_sum %y {axes = [0]}
  return "y" = %y, "sum" = %sum
}
)");
  std::vector<float> x = {1, 2, 3};
  for (int64_t turns : {0, 5, 1, 9}) {
    std::vector<tailor_tensor> out = {Provided(), Provided()};
    ASSERT_EQ(Run({Floats(x, {3}), Number(&turns)}, &out), "OK");
    EXPECT_EQ(out[0].dims[0], 3 << turns);
    EXPECT_EQ(FloatsOf(out[0]).back(), 3.0f);
    EXPECT_EQ(FloatsOf(out[1])[0], 6.0f * (1 << turns));
  }
}

TEST_F(ControlFlow, BranchesOfOneShapeAndOfTwo) {
  Compile(R"(
graph @either(%c: bool[], %x: f32[B, S]) where B, S, P, Q {
  %turned = if(%c, %x) {shapes = [P, Q]} {
    region(%a: f32[M, N]) { %t = transpose %a {permutation = [1, 0]} return %t }
    region(%a: f32[M, N]) { return %a }
  }
  %signed = if(%c, %x) {
    region(%a: f32[M, N]) { %n = neg %a return %n }
    region(%a: f32[M, N]) { return %a }
  }
  return "turned" = %turned, "signed" = %signed
}
)");
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  for (bool condition : {true, false, true}) {
    std::vector<tailor_tensor> out = {Provided(), Provided()};
    ASSERT_EQ(Run({TensorOf(TAILOR_BOOL, &condition, 1, {}), Floats(x, {2, 3})}, &out), "OK");
    EXPECT_EQ(out[0].dims[0], condition ? 3 : 2);
    EXPECT_THAT(FloatsOf(out[0]), condition ? ElementsAre(1, 4, 2, 5, 3, 6) : ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_EQ(FloatsOf(out[1])[5], condition ? -6 : 6);
  }
}

// A gather out of range in a loop ends it at that turn: the condition alone would never.
TEST_F(ControlFlow, AFaultEndsALoop) {
  Compile(R"(
graph @lost(%x: f32[B], %i: i64[]) {
  %a, %b, %c = while(%x, %i, %i) {
    region(%x: f32[N], %i: i64[], %j: i64[]) { %t = constant true : bool[] return %t }
    region(%x: f32[N], %i: i64[], %j: i64[]) {
      %v = gather %x, %i {axis = 0}
      %k = cast %v {dtype = i64}
      %m = add %i, %k
      return %x, %m, %j
    }
  }
  return %b
}
)");
  std::vector<float> x = {1, 1, 1, 1};
  int64_t start = 0;
  std::vector<tailor_tensor> out = {Provided()};
  EXPECT_THAT(Run({Floats(x, {4}), Number(&start)}, &out),
              AllOf(StartsWith("3: "), HasSubstr("gather %v: index 4 is out of range")));
}

TEST_F(ControlFlow, ARegionsChecksSayWhoseTheyAre) {
  Compile(R"(
graph @g(%c: bool[], %x: f32[B]) {
  %picked = if(%c, %x) {
    region(%a: f32[N]) where N in [0, 4] { %n = neg %a return %n }
    region(%a: f32[N]) { return %a }
  }
  return "y" = %picked
}
)");
  std::vector<float> x(5, 1.0f);
  bool condition = true;
  const auto run = [&] {
    std::vector<tailor_tensor> out = {Provided()};
    return Run({TensorOf(TAILOR_BOOL, &condition, 1, {}), Floats(x, {5})}, &out);
  };
  EXPECT_THAT(run(), HasSubstr("N is 5 from input \"a\" dim 0, but must be at most 4 (in if %picked)"));
  condition = false;
  EXPECT_EQ(run(), "OK");
}

// The library's memory of an earlier output may not be the caller's for another.
TEST_F(ControlFlow, OutputsOfTheLibraryAndTheCallerDoNotOverlap) {
  Compile("graph @g(%x: f32[N]) { %a = neg %x %b = exp %x return %a, %b }");
  std::vector<float> x(4, 1.0f), b(4);
  std::vector<tailor_tensor> out = {Provided(), Floats(b, {4})};
  ASSERT_EQ(Run({Floats(x, {4})}, &out), "OK");
  out = {Provided(), TensorOf(TAILOR_F32, out[0].data, 16, {4})};
  EXPECT_THAT(Run({Floats(x, {4})}, &out), AllOf(StartsWith("3: "), HasSubstr("overlaps output \"a\"")));
}

TEST_F(ControlFlow, SavedAndLoadedItRunsAlike) {
  Compile(kHead);
  const std::string path = testing::TempDir() + "/head.tlr";
  ASSERT_EQ(Text(tailor_executable_save(executable, path.data(), path.size())), "OK");
  tailor_executable_release(executable);
  ASSERT_EQ(Text(tailor_executable_load(nullptr, path.data(), path.size(), nullptr, &executable)), "OK");
  OpenSession();
  std::vector<float> x = {1, 2, 3, 4, 5, 6};
  int64_t n = 2;
  std::vector<tailor_tensor> out = {Provided()};
  ASSERT_EQ(Run({Floats(x, {3, 2}), Number(&n)}, &out), "OK");
  EXPECT_THAT(FloatsOf(out[0]), ElementsAre(2, 4, 6, 8));
}

}  // namespace
}  // namespace tailor
