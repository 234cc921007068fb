// Events of traced sessions, through the C headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tailor/compiler.h"
#include "tests/api/status_text.h"

namespace tailor {
namespace {

// A matmul and a softmax of rows: kernels with several versions.
constexpr char kGraph[] = R"(
graph @g(%x: f32[M, K], %w: f32[K, N]) {
  %a = dot %x, %w
  %e = exp %a
  %sum = reduce_sum %e {axes = [1]}
  %column = reshape %sum {shape = [M, 1]}
  %y = div %e, %column
  return "y" = %y
})";

int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

class TraceTest : public testing::Test {
 protected:
  static void Event(void* user, const tailor_trace_event* event) {
    EXPECT_EQ(event->struct_size, sizeof(*event));
    static_cast<TraceTest*>(user)->events_.push_back(*event);
  }

  void SetUp() override { Make(kGraph, nullptr); }

  void Make(const char* text, const tailor_runtime* runtime) {
    TearDown();
    tailor_graph* graph = nullptr;
    ASSERT_EQ(Text(tailor_graph_parse(text, SIZE_MAX, &graph)), "OK");
    tailor_compile_options compile;
    tailor_compile_options_init(&compile);
    const char* target = "host";
    compile.targets = &target;
    compile.target_count = 1;
    ASSERT_EQ(Text(tailor_graph_compile(graph, runtime, &compile, &executable_)), "OK");
    tailor_graph_release(graph);
    tailor_session_options options;
    tailor_session_options_init(&options);
    options.trace = Event;
    options.trace_user = this;
    ASSERT_EQ(Text(tailor_session_create(executable_, &options, &session_)), "OK");
  }
  void TearDown() override {
    tailor_session_release(std::exchange(session_, nullptr));
    tailor_executable_release(std::exchange(executable_, nullptr));
  }

  static tailor_tensor TensorOf(std::vector<float>& data, int64_t rows, int64_t columns) {
    tailor_tensor tensor;
    tailor_tensor_init(&tensor);
    data.assign(rows * columns, 0.5f);
    tensor.dtype = TAILOR_F32;
    tensor.rank = 2;
    tensor.dims[0] = rows;
    tensor.dims[1] = columns;
    tensor.data = data.data();
    tensor.data_bytes = data.size() * sizeof(float);
    return tensor;
  }

  // The versions that a plan chooses at these dims.
  std::vector<int32_t> Chosen(const tailor_tensor* inputs) {
    tailor_tensor out;
    tailor_tensor_init(&out);
    std::vector<int32_t> chosen(64, INT32_MIN);
    tailor_plan_info info;
    tailor_plan_info_init(&info);
    info.chosen = chosen.data();
    EXPECT_EQ(Text(tailor_executable_plan(executable_, inputs, 2, &out, 1, &info)), "OK");
    while (!chosen.empty() && chosen.back() == INT32_MIN) chosen.pop_back();
    return chosen;
  }

  tailor_executable* executable_ = nullptr;
  tailor_session* session_ = nullptr;
  std::vector<tailor_trace_event> events_;
};

TEST_F(TraceTest, EveryLaunchAndThenTheRun) {
  std::vector<float> x, w;
  for (const int64_t rows : {int64_t{1}, int64_t{64}, int64_t{3}, int64_t{300}}) {
    events_.clear();
    const tailor_tensor inputs[] = {TensorOf(x, rows, 40), TensorOf(w, 40, 48)};
    tailor_tensor out;
    tailor_tensor_init(&out);
    ASSERT_EQ(Text(tailor_session_run(session_, inputs, 2, &out, 1)), "OK");
    EXPECT_EQ(out.dims[0], rows);
    const std::vector<int32_t> chosen = Chosen(inputs);
    ASSERT_EQ(events_.size(), chosen.size() + 1);
    const tailor_trace_event& run = events_.back();
    EXPECT_EQ(run.launch, -1);
    EXPECT_EQ(run.version, -1);
    int64_t time = run.begin_ns;
    for (size_t i = 0; i < chosen.size(); ++i) {
      EXPECT_EQ(events_[i].launch, static_cast<int32_t>(i));
      EXPECT_EQ(events_[i].version, chosen[i]);
      EXPECT_GE(events_[i].begin_ns, time);
      EXPECT_GE(events_[i].end_ns, events_[i].begin_ns);
      time = events_[i].end_ns;
    }
    EXPECT_GE(run.end_ns, time);
  }
}

TEST_F(TraceTest, CustomOperatorsAreInNoLaunch) {
  struct Span {
    int64_t begin, end;
  } span = {};
  tailor_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tailor_runtime_create(nullptr, &runtime)), "OK");
  tailor_custom_operator op;
  tailor_custom_operator_init(&op);
  op.name = "same";
  op.name_size = SIZE_MAX;
  op.user = &span;
  op.function = [](void* user, const tailor_custom_call* call) -> int32_t {
    auto* const span = static_cast<Span*>(user);
    span->begin = MonotonicNs();
    std::memcpy(call->results[0].data, call->operands[0].data, call->operands[0].dims[0] * sizeof(float));
    span->end = MonotonicNs();
    return 0;
  };
  ASSERT_EQ(Text(tailor_runtime_register(runtime, &op)), "OK");
  Make(R"(
graph @g(%x: f32[N]) {
  %e = exp %x
  %c = custom %e {name = "same", attributes = "", pure = 1, dtypes = "f32", ranks = [1], shapes = [N]}
  %y = exp %c
  return "y" = %y
})",
       runtime);
  std::vector<float> x(40, 0.0f);
  tailor_tensor in, out;
  tailor_tensor_init(&in);
  tailor_tensor_init(&out);
  in.dtype = TAILOR_F32;
  in.rank = 1;
  in.dims[0] = 40;
  in.data = x.data();
  in.data_bytes = x.size() * sizeof(float);
  ASSERT_EQ(Text(tailor_session_run(session_, &in, 1, &out, 1)), "OK");
  ASSERT_EQ(events_.size(), 3u);
  EXPECT_LE(events_[0].end_ns, span.begin);
  EXPECT_GE(events_[1].begin_ns, span.end);
  tailor_runtime_release(runtime);
}

TEST_F(TraceTest, ARunThatIsRefusedHasNone) {
  std::vector<float> x, w;
  const tailor_tensor inputs[] = {TensorOf(x, 4, 40), TensorOf(w, 41, 48)};
  tailor_tensor out;
  tailor_tensor_init(&out);
  EXPECT_NE(Text(tailor_session_run(session_, inputs, 2, &out, 1)), "OK");
  EXPECT_TRUE(events_.empty());
}

TEST(PerfMapTest, LoadingNamesTheKernels) {
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.perf_map = 1;
  tailor_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tailor_runtime_create(&options, &runtime)), "OK");
  tailor_executable* executable = nullptr;
  tailor_graph* graph = nullptr;
  ASSERT_EQ(Text(tailor_graph_parse(kGraph, SIZE_MAX, &graph)), "OK");
  ASSERT_EQ(Text(tailor_graph_compile(graph, runtime, nullptr, &executable)), "OK");
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ifstream file(path);
  std::stringstream map;
  map << file.rdbuf();
  std::remove(path.c_str());
  EXPECT_THAT(map.str(), testing::ContainsRegex("[0-9a-f]+ [0-9a-f]+ g: g0_dot v0\n"));
  EXPECT_THAT(map.str(), testing::HasSubstr(" g: host program\n"));
  EXPECT_THAT(map.str(), testing::HasSubstr(" g: micro-kernel\n"));
  tailor_graph_release(graph);
  tailor_executable_release(executable);
  tailor_runtime_release(runtime);
}

}  // namespace
}  // namespace tailor
