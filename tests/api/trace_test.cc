// Events of traced sessions, through the C headers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <numeric>
#include <string>
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

class TraceTest : public testing::Test {
 protected:
  static void Event(void* user, const tailor_trace_event* event) {
    EXPECT_EQ(event->struct_size, sizeof(*event));
    static_cast<TraceTest*>(user)->events_.push_back(*event);
  }

  void SetUp() override {
    tailor_graph* graph = nullptr;
    ASSERT_EQ(Text(tailor_graph_parse(kGraph, SIZE_MAX, &graph)), "OK");
    tailor_compile_options compile;
    tailor_compile_options_init(&compile);
    const char* target = "host";
    compile.targets = &target;
    compile.target_count = 1;
    ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, &compile, &executable_)), "OK");
    tailor_graph_release(graph);
    tailor_session_options options;
    tailor_session_options_init(&options);
    options.trace_events = Event;
    options.trace_events_user = this;
    ASSERT_EQ(Text(tailor_session_create(executable_, &options, &session_)), "OK");
  }
  void TearDown() override {
    tailor_session_release(session_);
    tailor_executable_release(executable_);
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
  tailor_graph_release(graph);
  tailor_executable_release(executable);
  tailor_runtime_release(runtime);
}

}  // namespace
}  // namespace tailor
