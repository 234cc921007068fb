// Custom operators through the C headers: results, calls that are merged and dropped, counted results, failures,
// threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tailor/compiler.h"
#include "tests/api/status_text.h"

namespace tailor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

int64_t CountOf(const tailor_custom_tensor& tensor) {
  return std::accumulate(tensor.dims, tensor.dims + tensor.rank, int64_t{1}, std::multiplies<>());
}

float* FloatsOf(const tailor_custom_tensor& tensor) { return static_cast<float*>(tensor.data); }

// results[0] = operands[0] * number in the attributes, by way of the workspace.
int32_t Scale(void* user, const tailor_custom_call* call) {
  if (user != nullptr) static_cast<std::atomic<int>*>(user)->fetch_add(1);
  const int64_t count = CountOf(call->operands[0]);
  auto* copy = static_cast<float*>(call->workspace);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(copy) % 64, 0u);
  EXPECT_GE(call->workspace_bytes, static_cast<uint64_t>(count) * sizeof(float));
  EXPECT_EQ(call->stream, nullptr);
  if (count > 0) std::memcpy(copy, call->operands[0].data, count * sizeof(float));
  const auto factor = static_cast<float>(std::atof(call->attributes));
  for (int64_t i = 0; i < count; ++i) FloatsOf(call->results[0])[i] = copy[i] * factor;
  return 0;
}

int32_t WorkspaceOfScale(void*, const tailor_custom_call* call, uint64_t* bytes) {
  *bytes = CountOf(call->operands[0]) * sizeof(float);
  return 0;
}

// results[0] begins with the positive rows of a vector; results[1] is their number.
int32_t KeepPositive(void*, const tailor_custom_call* call) {
  int64_t& kept = *static_cast<int64_t*>(call->results[1].data);
  kept = 0;
  for (int64_t i = 0; i < call->operands[0].dims[0]; ++i) {
    const float x = FloatsOf(call->operands[0])[i];
    if (x > 0) FloatsOf(call->results[0])[kept++] = x;
  }
  return 0;
}

tailor_tensor TensorOf(std::vector<float>& data, const std::vector<int64_t>& dims) {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  tensor.dtype = TAILOR_F32;
  tensor.data = data.data();
  tensor.data_bytes = data.size() * sizeof(float);
  tensor.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

struct Taken {
  std::vector<char> bytes;
  static void Take(void* user, const void* data, size_t size) {
    const auto* begin = static_cast<const char*>(data);
    static_cast<Taken*>(user)->bytes.assign(begin, begin + size);
  }
};

class CustomOperatorTest : public testing::Test {
 protected:
  CustomOperatorTest() { EXPECT_EQ(Text(tailor_runtime_create(nullptr, &runtime_)), "OK"); }
  ~CustomOperatorTest() override {
    Close();
    tailor_runtime_release(runtime_);
  }

  void Close() {
    tailor_session_release(session_);
    tailor_executable_release(executable_);
    session_ = nullptr;
    executable_ = nullptr;
  }

  using Function = decltype(tailor_custom_operator::function);
  using Workspace = decltype(tailor_custom_operator::workspace);

  std::string Register(const char* name, Function function, Workspace workspace = nullptr, void* user = nullptr) {
    tailor_custom_operator op;
    tailor_custom_operator_init(&op);
    op.name = name;
    op.name_size = SIZE_MAX;
    op.function = function;
    op.workspace = workspace;
    op.user = user;
    return Text(tailor_runtime_register(runtime_, &op));
  }

  std::string Compile(const std::string& text) {
    Close();
    tailor_graph* graph = nullptr;
    const std::string parsed = Text(tailor_graph_parse(text.data(), text.size(), &graph));
    if (parsed != "OK") return parsed;
    tailor_compile_options options;
    tailor_compile_options_init(&options);
    const char* target = "host";
    options.targets = &target;
    options.target_count = 1;
    const std::string compiled = Text(tailor_graph_compile(graph, runtime_, &options, &executable_));
    tailor_graph_release(graph);
    if (compiled != "OK") return compiled;
    return Text(tailor_session_create(executable_, nullptr, &session_));
  }

  // The status of a run; `results_` has the floats of all outputs.
  std::string Run(std::vector<float> x, const std::vector<int64_t>& dims) {
    return RunIn(session_, x, dims, &results_);
  }

  static std::string RunIn(tailor_session* session, std::vector<float>& x, const std::vector<int64_t>& dims,
                           std::vector<float>* results) {
    const tailor_tensor input = TensorOf(x, dims);
    std::vector<tailor_tensor> outputs(1);
    tailor_tensor_init(&outputs[0]);
    const std::string status = Text(tailor_session_run(session, &input, 1, outputs.data(), 1));
    if (status != "OK") return status;
    const auto* data = static_cast<const float*>(outputs[0].data);
    results->assign(data, data + outputs[0].data_bytes / sizeof(float));
    return status;
  }

  tailor_runtime* runtime_ = nullptr;
  tailor_executable* executable_ = nullptr;
  tailor_session* session_ = nullptr;
  std::vector<float> results_;
};

std::string ScaleNode(const char* result, const char* operand, const char* factor, int pure = 1) {
  return std::string("  %") + result + " = custom %" + operand + " {name = \"scale\", attributes = \"" + factor +
         "\", pure = " + std::to_string(pure) + ", dtypes = \"f32\", ranks = [2], shapes = [B, 8]}\n";
}

std::string GraphOf(const std::string& body) {
  return "graph @g(%x: f32[B, 8]) {\n" + body + "  return \"y\" = %y\n}\n";
}

TEST_F(CustomOperatorTest, RunsBetweenKernelsAtEveryShape) {
  ASSERT_EQ(Register("scale", Scale, WorkspaceOfScale), "OK");
  ASSERT_EQ(Compile(GraphOf("  %a = add %x, %x\n" + ScaleNode("c", "a", "3") + "  %y = neg %c\n")), "OK");
  for (const int64_t rows : {1, 7, 0, 64, 3}) {
    std::vector<float> x(rows * 8), expected;
    std::iota(x.begin(), x.end(), 1.0f);
    for (float number : x) expected.push_back(-6 * number);
    ASSERT_EQ(Run(x, {rows, 8}), "OK");
    EXPECT_EQ(results_, expected);
  }
}

TEST_F(CustomOperatorTest, WritesOutputsAndReadsInputsAndConstants) {
  ASSERT_EQ(Register("scale", Scale, WorkspaceOfScale), "OK");
  ASSERT_EQ(Compile(GraphOf(ScaleNode("y", "x", "2"))), "OK");
  ASSERT_EQ(Run(std::vector<float>(8, 4), {1, 8}), "OK");
  EXPECT_EQ(results_, std::vector<float>(8, 8));
  ASSERT_EQ(
      Compile("graph @g(%x: f32[N]) {\n  %f = constant [1, 2, 3, 4] : f32[4]\n  %c = reshape %f {shape = [2, 2]}\n"
              "  %t = transpose %c {permutation = [1, 0]}\n"
              "  %y = custom %t {name = \"scale\", attributes = \"10\", pure = 1, dtypes = \"f32\", ranks = [2], "
              "shapes = [2, 2]}\n  return %y\n}\n"),
      "OK");
  ASSERT_EQ(Run({1}, {1}), "OK");
  EXPECT_THAT(results_, ElementsAre(10, 30, 20, 40));
}

TEST_F(CustomOperatorTest, TheTextParsesAgain) {
  tailor_graph *graph = nullptr, *again = nullptr;
  const std::string text = GraphOf(ScaleNode("y", "x", "2"));
  ASSERT_EQ(Text(tailor_graph_parse(text.data(), text.size(), &graph)), "OK");
  const char *first = nullptr, *second = nullptr;
  ASSERT_EQ(Text(tailor_graph_text(graph, &first)), "OK");
  ASSERT_EQ(Text(tailor_graph_parse(first, SIZE_MAX, &again)), "OK") << first;
  ASSERT_EQ(Text(tailor_graph_text(again, &second)), "OK");
  EXPECT_STREQ(first, second);
  tailor_graph_release(graph);
  tailor_graph_release(again);
}

TEST_F(CustomOperatorTest, PureCallsAreMergedAndDropped) {
  std::atomic<int> calls = 0;
  ASSERT_EQ(Register("scale", Scale, WorkspaceOfScale, &calls), "OK");
  const auto calls_of = [&](const std::string& body) {
    EXPECT_EQ(Compile(GraphOf(body)), "OK");
    calls = 0;
    EXPECT_EQ(Run(std::vector<float>(8, 1), {1, 8}), "OK");
    return calls.load();
  };
  for (const int pure : {1, 0}) {
    const std::string twice = ScaleNode("a", "x", "2", pure) + ScaleNode("b", "x", "2", pure) + "  %y = add %a, %b\n";
    EXPECT_EQ(calls_of(twice), pure == 1 ? 1 : 2);
    EXPECT_THAT(results_, testing::Each(4));
    EXPECT_EQ(calls_of(ScaleNode("a", "x", "2", pure) + ScaleNode("b", "x", "3", pure) + "  %y = add %a, %b\n"), 2);
    EXPECT_EQ(calls_of(ScaleNode("unused", "x", "2", pure) + "  %y = neg %x\n"), pure == 1 ? 0 : 1);
  }
}

TEST_F(CustomOperatorTest, RunsInLoopsAndBranches) {
  std::atomic<int> calls = 0;
  ASSERT_EQ(Register("scale", Scale, WorkspaceOfScale, &calls), "OK");
  ASSERT_EQ(Compile(R"(
graph @g(%x: f32[B, 8]) {
  %zero = constant 0 : i64[]
  %n, %y = while(%zero, %x) {
    region(%n: i64[], %v: f32[B, 8]) {
      %three = constant 3 : i64[]
      %more = lt %n, %three
      return %more
    }
    region(%n: i64[], %v: f32[B, 8]) {
      %one = constant 1 : i64[]
      %next = add %n, %one
      %w = custom %v {name = "scale", attributes = "2", pure = 1, dtypes = "f32", ranks = [2], shapes = [B, 8]}
      return %next, %w
    }
  }
  return "y" = %y
})"),
            "OK");
  for (const int64_t rows : {2, 5}) {
    calls = 0;
    ASSERT_EQ(Run(std::vector<float>(rows * 8, 1), {rows, 8}), "OK");
    EXPECT_EQ(results_, std::vector<float>(rows * 8, 8));
    EXPECT_EQ(calls, 3);
  }
  ASSERT_EQ(Compile(R"(
graph @g(%x: f32[B, 8]) {
  %limit = constant 10 : f32[]
  %most = reduce_max %x {axes = [0, 1]}
  %large = gt %most, %limit
  %y = if(%large, %x) {
    region(%v: f32[B, 8]) {
      %w = custom %v {name = "scale", attributes = "2", pure = 0, dtypes = "f32", ranks = [2], shapes = [B, 8]}
      return %v
    }
    region(%v: f32[B, 8]) {
      return %v
    }
  }
  return "y" = %x
})"),
            "OK");
  calls = 0;
  ASSERT_EQ(Run(std::vector<float>(8, 1), {1, 8}), "OK");
  EXPECT_EQ(calls, 0);
  ASSERT_EQ(Run(std::vector<float>(8, 11), {1, 8}), "OK");
  EXPECT_EQ(calls, 1);
}

class CountedTest : public CustomOperatorTest {
 protected:
  // graph(%x: f32[N]) { doubled = 2 * keep(x) }, built through the C functions.
  std::string CompileKeep(Function function) {
    Close();
    if (std::string status = Register("keep.positive", function); status != "OK") return status;
    tailor_graph* graph = nullptr;
    tailor_dim n = 0;
    tailor_value x = 0, kept = 0, doubled = 0;
    EXPECT_EQ(Text(tailor_graph_create("g", 1, &graph)), "OK");
    EXPECT_EQ(Text(tailor_graph_symbol(graph, "N", 1, nullptr, &n)), "OK");
    EXPECT_EQ(Text(tailor_graph_input(graph, "x", 1, TAILOR_F32, &n, 1, &x)), "OK");
    const tailor_custom_result result = {&n, 1, TAILOR_F32, 0};
    EXPECT_EQ(Text(tailor_graph_custom(graph, "keep.positive", SIZE_MAX, &x, 1, &result, 1, nullptr, &kept)), "OK");
    int32_t dtype = 0, rank = 0;
    tailor_dim dims[TAILOR_MAX_RANK];
    EXPECT_EQ(Text(tailor_graph_value_type(graph, kept, &dtype, &rank, dims)), "OK");
    const char* text = nullptr;
    EXPECT_EQ(Text(tailor_dim_text(graph, dims[0], &text)), "OK");
    EXPECT_STREQ(text, "keep_positive0");
    EXPECT_EQ(Text(tailor_graph_add(graph, kept, kept, &doubled)), "OK");
    EXPECT_EQ(Text(tailor_graph_output(graph, "y", 1, doubled)), "OK");
    const std::string compiled = Text(tailor_graph_compile(graph, runtime_, nullptr, &executable_));
    tailor_graph_release(graph);
    if (compiled != "OK") return compiled;
    return Text(tailor_session_create(executable_, nullptr, &session_));
  }
};

TEST_F(CountedTest, TheResultHasTheCountedSize) {
  ASSERT_EQ(CompileKeep(KeepPositive), "OK");
  ASSERT_EQ(Run({1, -2, 3, 0, 5}, {5}), "OK");
  EXPECT_THAT(results_, ElementsAre(2, 6, 10));
  ASSERT_EQ(Run({-1, -2}, {2}), "OK");
  EXPECT_THAT(results_, IsEmpty());
  ASSERT_EQ(Run({4, 4, 4}, {3}), "OK");
  EXPECT_THAT(results_, ElementsAre(8, 8, 8));
}

TEST_F(CountedTest, ACountBeyondTheBoundIsAnError) {
  ASSERT_EQ(CompileKeep([](void*, const tailor_custom_call* call) -> int32_t {
              *static_cast<int64_t*>(call->results[1].data) = call->operands[0].dims[0] + 1;
              return 0;
            }),
            "OK");
  EXPECT_THAT(Run({1, 2}, {2}), AllOf(StartsWith("3: "), HasSubstr("keep.positive"), HasSubstr("3"), HasSubstr("2")));
}

TEST_F(CountedTest, ANegativeCountIsAnError) {
  ASSERT_EQ(CompileKeep([](void*, const tailor_custom_call* call) -> int32_t {
              *static_cast<int64_t*>(call->results[1].data) = -3;
              return 0;
            }),
            "OK");
  EXPECT_THAT(Run({1, 2}, {2}), AllOf(StartsWith("3: "), HasSubstr("keep_positive0"), HasSubstr("-3")));
}

TEST_F(CustomOperatorTest, FailuresNameTheOperator) {
  const struct {
    Function function;
    const char* expected;
  } failures[] = {
      {[](void*, const tailor_custom_call*) -> int32_t { throw std::runtime_error("no rows"); },
       "13: custom operator \"scale\" failed: it threw an exception: no rows"},
      {[](void*, const tailor_custom_call*) -> int32_t { throw 3; },
       "13: custom operator \"scale\" failed: it threw an exception"},
      {[](void*, const tailor_custom_call*) -> int32_t { return -7; },
       "13: custom operator \"scale\" failed with code -7"},
      {[](void*, const tailor_custom_call* call) -> int32_t {
         std::strncpy(call->message, "the table is full", call->message_capacity);
         return TAILOR_RESOURCE_EXHAUSTED;
       },
       "8: custom operator \"scale\" failed: the table is full"},
  };
  for (const auto& [function, expected] : failures) {
    tailor_runtime_release(runtime_);
    ASSERT_EQ(Text(tailor_runtime_create(nullptr, &runtime_)), "OK");
    ASSERT_EQ(Register("scale", function, WorkspaceOfScale), "OK");
    ASSERT_EQ(Compile(GraphOf(ScaleNode("c", "x", "1") + "  %y = neg %c\n")), "OK");
    EXPECT_THAT(Run(std::vector<float>(8, 1), {1, 8}), StartsWith(expected));
  }
}

TEST_F(CustomOperatorTest, FailuresOfTheWorkspaceFunctionNameTheOperator) {
  const struct {
    Workspace workspace;
    const char* expected;
  } failures[] = {
      {[](void*, const tailor_custom_call*, uint64_t* bytes) -> int32_t {
         *bytes = UINT64_MAX;
         return 0;
       },
       "8: custom operator \"scale\" failed: it asks for a workspace of 18446744073709551615 bytes"},
      {[](void*, const tailor_custom_call*, uint64_t*) -> int32_t { throw std::runtime_error("odd rows"); },
       "13: custom operator \"scale\" failed: it threw an exception: odd rows"},
      {[](void*, const tailor_custom_call*, uint64_t*) -> int32_t { return 1; },
       "1: custom operator \"scale\" failed with code 1"},
  };
  for (const auto& [workspace, expected] : failures) {
    tailor_runtime_release(runtime_);
    ASSERT_EQ(Text(tailor_runtime_create(nullptr, &runtime_)), "OK");
    ASSERT_EQ(Register("scale", Scale, workspace), "OK");
    ASSERT_EQ(Compile(GraphOf(ScaleNode("c", "x", "1") + "  %y = neg %c\n")), "OK");
    EXPECT_THAT(Run(std::vector<float>(8, 1), {1, 8}), StartsWith(expected));
    std::vector<float> x(8);
    const tailor_tensor input = TensorOf(x, {1, 8});
    tailor_tensor output;
    tailor_tensor_init(&output);
    EXPECT_THAT(Text(tailor_executable_plan(executable_, &input, 1, &output, 1, nullptr)), StartsWith(expected));
    EXPECT_THAT(Text(tailor_session_reserve(session_, &input, 1)), StartsWith(expected));
  }
}

TEST_F(CustomOperatorTest, PlansIncludeTheWorkspace) {
  ASSERT_EQ(Register("scale", Scale, WorkspaceOfScale), "OK");
  ASSERT_EQ(Compile(GraphOf(ScaleNode("c", "x", "1") + "  %y = neg %c\n")), "OK");
  std::vector<float> x(100 * 8);
  const tailor_tensor input = TensorOf(x, {100, 8});
  tailor_tensor output;
  tailor_tensor_init(&output);
  tailor_plan_info info;
  tailor_plan_info_init(&info);
  ASSERT_EQ(Text(tailor_executable_plan(executable_, &input, 1, &output, 1, &info)), "OK");
  EXPECT_EQ(info.workspace_bytes, 2 * 100 * 8 * sizeof(float));  // the custom result, and the operator's own
}

TEST_F(CustomOperatorTest, ACallIntoItsOwnSessionIsRefused) {
  struct Reentry {
    tailor_session* session = nullptr;
    std::string status;
  } reentry;
  const auto reenter = [](void* user, const tailor_custom_call* call) -> int32_t {
    auto& entry = *static_cast<Reentry*>(user);
    std::vector<float> x(8), results;
    entry.status = RunIn(entry.session, x, {1, 8}, &results);
    std::snprintf(call->message, call->message_capacity, "%s", entry.status.c_str());
    return TAILOR_FAILED_PRECONDITION;
  };
  ASSERT_EQ(Register("scale", reenter, nullptr, &reentry), "OK");
  ASSERT_EQ(Compile(GraphOf(ScaleNode("c", "x", "1") + "  %y = neg %c\n")), "OK");
  reentry.session = session_;
  EXPECT_THAT(Run(std::vector<float>(8, 1), {1, 8}), AllOf(StartsWith("9: custom operator \"scale\" failed: "),
                                                           HasSubstr("the session is in use by another")));
}

TEST_F(CustomOperatorTest, AFaultBeforeItEndsTheRun) {
  std::atomic<int> calls = 0;
  ASSERT_EQ(Register("scale", Scale, WorkspaceOfScale, &calls), "OK");
  ASSERT_EQ(Compile("graph @g(%x: f32[B, 8]) {\n"
                    "  %c = cast %x {dtype = i64}\n  %i = slice %c {starts = [0, 0], sizes = [B, 1]}\n"
                    "  %j = reshape %i {shape = [B]}\n  %g = gather %x, %j\n" +
                    ScaleNode("y", "g", "1") + "  return \"y\" = %y\n}\n"),
            "OK");
  ASSERT_EQ(Run(std::vector<float>(8, 0), {1, 8}), "OK");
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(Run(std::vector<float>(8, 5), {1, 8}), StartsWith("3: "));
  EXPECT_EQ(calls, 1);
}

TEST_F(CustomOperatorTest, ThreadsCallItAtOnce) {
  // Each of 16 calls waits until all are in progress.
  constexpr int kThreads = 16;
  const auto meet = [](void* user, const tailor_custom_call* call) -> int32_t {
    auto& arrived = *static_cast<std::atomic<int>*>(user);
    ++arrived;
    while (arrived < kThreads) std::this_thread::yield();
    FloatsOf(call->results[0])[0] = 2 * FloatsOf(call->operands[0])[0];
    return 0;
  };
  std::atomic<int> arrived = 0;
  ASSERT_EQ(Register("meet", meet, nullptr, &arrived), "OK");
  ASSERT_EQ(Compile("graph @g(%x: f32[1]) {\n  %c = custom %x {name = \"meet\", attributes = \"\", pure = 1, dtypes = "
                    "\"f32\", ranks = [1], shapes = [1]}\n  %y = neg %c\n  return %y\n}\n"),
            "OK");
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> results(kThreads);
  std::vector<std::string> statuses(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      tailor_session* session = nullptr;
      std::vector<float> x = {static_cast<float>(i)};
      statuses[i] = Text(tailor_session_create(executable_, nullptr, &session));
      if (session != nullptr) statuses[i] = RunIn(session, x, {1}, &results[i]);
      tailor_session_release(session);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(statuses[i], "OK");
    EXPECT_THAT(results[i], ElementsAre(-2.0f * static_cast<float>(i)));
  }
}

TEST_F(CustomOperatorTest, LoadingNamesAllThatAreMissing) {
  const std::string other =
      "  %d = custom %c {name = \"other.op\", attributes = \"\", pure = 1, dtypes = \"f32\", "
      "ranks = [2], shapes = [B, 8]}\n";
  const std::string text = GraphOf(ScaleNode("a", "x", "1") + ScaleNode("c", "a", "2") + other + "  %y = neg %d\n");
  const std::string expected =
      "9: the program needs custom operators that are not registered for the CPU: \"scale\", \"other.op\" "
      "(tailor_runtime_register)";
  EXPECT_EQ(Compile(text), expected);
  tailor_graph* graph = nullptr;
  ASSERT_EQ(Text(tailor_graph_parse(text.data(), text.size(), &graph)), "OK");
  Taken taken;
  ASSERT_EQ(Text(tailor_graph_compile_artifact(graph, nullptr, Taken::Take, &taken)), "OK");
  tailor_graph_release(graph);
  const auto load = [&] {
    Close();
    return Text(tailor_executable_load_memory(runtime_, taken.bytes.data(), taken.bytes.size(), nullptr, nullptr,
                                              nullptr, &executable_));
  };
  EXPECT_EQ(load(), expected);
  ASSERT_EQ(Register("scale", Scale, WorkspaceOfScale), "OK");
  EXPECT_THAT(load(), HasSubstr("for the CPU: \"other.op\" ("));
  ASSERT_EQ(Register("other.op", Scale, WorkspaceOfScale), "OK");
  ASSERT_EQ(load(), "OK");
  const char* json = nullptr;
  ASSERT_EQ(Text(tailor_executable_describe(executable_, &json)), "OK");
  std::string dense = json;
  dense.erase(std::remove_if(dense.begin(), dense.end(), [](char c) { return c == ' ' || c == '\n'; }), dense.end());
  EXPECT_THAT(dense,
              HasSubstr(R"("custom_operators":["other.op","scale"])"));  // each once, though scale is called twice
}

TEST_F(CustomOperatorTest, TheUserIsReleasedAfterTheLastExecutable) {
  int released = 0;
  tailor_custom_operator op;
  tailor_custom_operator_init(&op);
  op.name = "scale";
  op.name_size = SIZE_MAX;
  op.function = [](void*, const tailor_custom_call*) -> int32_t { return 0; };
  op.user = &released;
  op.released = [](void* user) { ++*static_cast<int*>(user); };
  ASSERT_EQ(Text(tailor_runtime_register(runtime_, &op)), "OK");
  EXPECT_EQ(Text(tailor_runtime_register(runtime_, &op)),
            "3: custom operator \"scale\" is registered already for the CPU");
  EXPECT_EQ(released, 1);  // by the call that failed
  ASSERT_EQ(Compile(GraphOf(ScaleNode("y", "x", "1"))), "OK");
  tailor_runtime_release(runtime_);
  runtime_ = nullptr;
  EXPECT_EQ(released, 1);
  Close();
  EXPECT_EQ(released, 2);
}

// The low 32 bits of seed and run number, as floats.
constexpr char kRunState[] = R"(
graph @g(%x: f32[1]) {
  %s = custom {name = "tailor.run_state", attributes = "", pure = 1, dtypes = "u64", ranks = [1], shapes = [2]}
  %t = custom {name = "tailor.run_state", attributes = "", pure = 1, dtypes = "u64", ranks = [1], shapes = [2]}
  %d = sub %s, %t
  %e = cast %d {dtype = f32}
  %u = cast %s {dtype = u32}
  %v = cast %u {dtype = f32}
  %y = concat %v, %e {axis = 0}
  return "y" = %y
})";

TEST_F(CustomOperatorTest, RunStateIsSeedAndRun) {
  ASSERT_EQ(Compile(kRunState), "OK");
  ASSERT_EQ(Run({1}, {1}), "OK");
  const float drawn = results_[0];
  for (int run = 1; run < 3; ++run) {
    ASSERT_EQ(Run({1}, {1}), "OK");
    EXPECT_THAT(results_, ElementsAre(drawn, run, 0, 0));
  }
  tailor_session* other = nullptr;
  std::vector<float> x = {1};
  ASSERT_EQ(Text(tailor_session_create(executable_, nullptr, &other)), "OK");
  ASSERT_EQ(RunIn(other, x, {1}, &results_), "OK");
  EXPECT_THAT(results_, ElementsAre(drawn, 3, 0, 0));
  for (int time = 0; time < 2; ++time) {
    ASSERT_EQ(Text(tailor_session_set_seed(other, 77)), "OK");
    for (int run = 0; run < 2; ++run) {
      ASSERT_EQ(RunIn(other, x, {1}, &results_), "OK");
      EXPECT_THAT(results_, ElementsAre(77, run, 0, 0));
    }
  }
  tailor_session_release(other);
  ASSERT_EQ(Run({1}, {1}), "OK");
  EXPECT_THAT(results_, ElementsAre(drawn, 4, 0, 0));
  EXPECT_EQ(Text(tailor_session_set_seed(nullptr, 1)), "3: tailor_session_set_seed: session is null");
}

TEST_F(CustomOperatorTest, NamesOfTheRuntimeAreItsOwn) {
  EXPECT_EQ(Register("tailor.run_state", Scale),
            "3: custom operator \"tailor.run_state\": names that begin with tailor. are taken");
  for (const char* attributes :
       {"name = \"tailor.other\", attributes = \"\", pure = 1, dtypes = \"u64\", ranks = [1], shapes = [2]",
        "name = \"tailor.run_state\", attributes = \"\", pure = 1, dtypes = \"u64\", ranks = [1], shapes = [3]"}) {
    EXPECT_THAT(Compile(std::string("graph @g(%x: f32[1]) {\n  %y = custom {") + attributes + "}\n  return %y\n}\n"),
                HasSubstr("only tailor.run_state is known"));
  }
}

TEST_F(CustomOperatorTest, RegistrationsAreChecked) {
  tailor_custom_operator op;
  tailor_custom_operator_init(&op);
  EXPECT_EQ(Text(tailor_runtime_register(runtime_, nullptr)), "3: tailor_runtime_register: op is null");
  EXPECT_EQ(Text(tailor_runtime_register(nullptr, &op)), "3: tailor_runtime_register: runtime is null");
  EXPECT_EQ(Text(tailor_runtime_register(runtime_, &op)), "3: tailor_runtime_register: op.name is null");
  op.name = "";
  EXPECT_EQ(Text(tailor_runtime_register(runtime_, &op)),
            "3: tailor_runtime_register: op.name is empty or not UTF-8 text");
  op.name = "op";
  op.name_size = 2;
  EXPECT_EQ(Text(tailor_runtime_register(runtime_, &op)), "3: tailor_runtime_register: op.function is null");
  op.function = Scale;
  op.device = 7;
  EXPECT_EQ(Text(tailor_runtime_register(runtime_, &op)),
            "3: tailor_runtime_register: op.device is no TAILOR_DEVICE_*");
}

TEST_F(CustomOperatorTest, NodesAreChecked) {
  tailor_graph* graph = nullptr;
  tailor_dim n = 0;
  tailor_value x = 0, out = 0;
  ASSERT_EQ(Text(tailor_graph_create("g", 1, &graph)), "OK");
  ASSERT_EQ(Text(tailor_graph_symbol(graph, "N", 1, nullptr, &n)), "OK");
  ASSERT_EQ(Text(tailor_graph_input(graph, "x", 1, TAILOR_F32, &n, 1, &x)), "OK");
  tailor_custom_result result = {&n, 1, TAILOR_F32, -1};
  const auto add = [&](const char* name, tailor_value operand, size_t results) {
    return Text(tailor_graph_custom(graph, name, SIZE_MAX, &operand, 1, &result, results, nullptr, &out));
  };
  EXPECT_EQ(add("op", x, 1), "OK");
  EXPECT_EQ(add("", x, 1), "3: tailor_graph_custom: name is empty");
  EXPECT_THAT(add("op", 99, 1), StartsWith("3: tailor_graph_custom: operands[0]"));
  EXPECT_EQ(add("op", x, 0), "3: custom: \"op\" has no result, needs at least one");
  result.counted_dim = 1;
  EXPECT_EQ(add("op", x, 1), "3: custom operator \"op\": the counted dim of result 0 is 1, but its rank is 1");
  result.counted_dim = -1;
  result.dtype = 77;
  EXPECT_EQ(add("op", x, 1), "3: tailor_graph_custom: results[0].dtype is 77, no element type");
  const std::string texts[] = {
      "name = \"\", attributes = \"\", pure = 1, dtypes = \"f32\", ranks = [1], shapes = [N]",
      "name = \"op\", attributes = \"\", pure = 2, dtypes = \"f32\", ranks = [1], shapes = [N]",
      "name = \"op\", attributes = \"\", pure = 1, dtypes = \"f31\", ranks = [1], shapes = [N]",
      "name = \"op\", attributes = \"\", pure = 1, dtypes = \"f32\", ranks = [2], shapes = [N]",
      "name = \"op\", attributes = \"\", pure = 1, dtypes = \"f32\", ranks = [], shapes = [N]",
      "name = \"op\", attributes = \"\", pure = 1, dtypes = \"f32\", ranks = [0], shapes = [N]",
  };
  const char* expected[] = {"\"name\" is empty",      "\"pure\" is 2",   "has \"f31\", which is no element type",
                            "not the results' ranks", "1 and 0 entries", "not the results' ranks"};
  for (size_t i = 0; i < std::size(texts); ++i) {
    const std::string text = "graph @g(%x: f32[N]) {\n  %y = custom %x {" + texts[i] + "}\n  return %y\n}\n";
    tailor_graph* parsed = nullptr;
    EXPECT_THAT(Text(tailor_graph_parse(text.data(), text.size(), &parsed)), HasSubstr(expected[i]));
  }
  tailor_graph_release(graph);
}

}  // namespace
}  // namespace tailor
