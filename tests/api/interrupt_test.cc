// Runs that are cancelled or exceed their timeout, through the C headers. Loops that count to 2^63 - 1 end in no other
// way.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tailor/compiler.h"
#include "tests/api/status_text.h"

namespace tailor {
namespace {

constexpr int64_t kForever = INT64_MAX;

// Counts to %n, then passes the number through two custom operators.
constexpr char kCount[] = R"(
graph @count(%n: i64[]) {
  %zero = constant 0 : i64[]
  %i, %end = while(%zero, %n) {
    region(%i: i64[], %end: i64[]) { %more = lt %i, %end return %more }
    region(%i: i64[], %end: i64[]) { %one = constant 1 : i64[] %next = add %i, %one return %next, %end }
  }
  %a = custom %i {name = "first", attributes = "", pure = 0, dtypes = "i64", ranks = [0], shapes = []}
  %b = custom %a {name = "second", attributes = "", pure = 0, dtypes = "i64", ranks = [0], shapes = []}
  return "y" = %b
})";

tailor_tensor NumberOf(int64_t* value) {
  tailor_tensor tensor;
  tailor_tensor_init(&tensor);
  tensor.dtype = TAILOR_I64;
  tensor.data = value;
  tensor.data_bytes = sizeof(int64_t);
  return tensor;
}

class InterruptTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(Text(tailor_runtime_create(nullptr, &runtime_)), "OK");
    Register("first", First);
    Register("second", Second);
    tailor_graph* graph = nullptr;
    ASSERT_EQ(Text(tailor_graph_parse(kCount, SIZE_MAX, &graph)), "OK");
    tailor_compile_options options;
    tailor_compile_options_init(&options);
    const char* target = "host";
    options.targets = &target;
    options.target_count = 1;
    ASSERT_EQ(Text(tailor_graph_compile(graph, runtime_, &options, &executable_)), "OK");
    tailor_graph_release(graph);
    ASSERT_EQ(Open(0), "OK");
  }
  void TearDown() override {
    tailor_session_release(session_);
    tailor_executable_release(executable_);
    tailor_runtime_release(runtime_);
  }

  std::string Open(int64_t timeout_ns) {
    tailor_session_release(session_);
    session_ = nullptr;
    tailor_session_options options;
    tailor_session_options_init(&options);
    options.timeout_ns = timeout_ns;
    return Text(tailor_session_create(executable_, &options, &session_));
  }

  // "OK: <result>", or the status.
  std::string Run(int64_t n) {
    int64_t y = -1;
    const tailor_tensor in = NumberOf(&n);
    tailor_tensor out = NumberOf(&y);
    const std::string status = Text(tailor_session_run(session_, &in, 1, &out, 1));
    return status == "OK" ? "OK: " + std::to_string(y) : status;
  }

  std::atomic<bool> cancels_{false};  // the first operator cancels its run
  std::atomic<int> seconds_{0};       // calls of the second
  tailor_session* session_ = nullptr;
  tailor_executable* executable_ = nullptr;

 private:
  static int32_t Copy(const tailor_custom_call* call) {
    *static_cast<int64_t*>(call->results[0].data) = *static_cast<const int64_t*>(call->operands[0].data);
    return 0;
  }
  static int32_t First(void* user, const tailor_custom_call* call) {
    const auto& test = *static_cast<InterruptTest*>(user);
    if (test.cancels_) {
      EXPECT_EQ(Text(tailor_session_cancel(test.session_)), "OK");
    }
    return Copy(call);
  }
  static int32_t Second(void* user, const tailor_custom_call* call) {
    ++static_cast<InterruptTest*>(user)->seconds_;
    return Copy(call);
  }
  void Register(const char* name, int32_t (*function)(void*, const tailor_custom_call*)) {
    tailor_custom_operator op;
    tailor_custom_operator_init(&op);
    op.name = name;
    op.name_size = SIZE_MAX;
    op.function = function;
    op.user = this;
    ASSERT_EQ(Text(tailor_runtime_register(runtime_, &op)), "OK");
  }

  tailor_runtime* runtime_ = nullptr;
};

constexpr char kCancelled[] = "1: the run was cancelled";

TEST_F(InterruptTest, AnotherThreadEndsARun) {
  std::thread other([&] { EXPECT_EQ(Text(tailor_session_cancel(session_)), "OK"); });
  EXPECT_EQ(Run(kForever), kCancelled);
  other.join();
  EXPECT_EQ(seconds_, 0);
  EXPECT_EQ(Run(1000), "OK: 1000");
  tailor_executable_counts counts;
  tailor_executable_counts_init(&counts);
  ASSERT_EQ(Text(tailor_executable_counters(executable_, &counts)), "OK");
  EXPECT_EQ(counts.runs, 2u);
  EXPECT_EQ(counts.failed_runs, 1u);
  EXPECT_EQ(counts.cancelled_runs, 1u);
}

TEST_F(InterruptTest, NothingRunsAfterTheStepThatCancels) {
  cancels_ = true;
  EXPECT_EQ(Run(3), kCancelled);
  EXPECT_EQ(seconds_, 0);
  cancels_ = false;
  EXPECT_EQ(Run(3), "OK: 3");
  EXPECT_EQ(seconds_, 1);
}

TEST_F(InterruptTest, ARequestBetweenRunsIsForTheNextAlone) {
  EXPECT_EQ(Text(tailor_session_cancel(session_)), "OK");
  EXPECT_EQ(Run(5), kCancelled);
  EXPECT_EQ(Run(5), "OK: 5");
  EXPECT_EQ(Text(tailor_session_cancel(session_)), "OK");
  EXPECT_EQ(Text(tailor_session_uncancel(session_)), "OK");
  EXPECT_EQ(Run(5), "OK: 5");
}

TEST_F(InterruptTest, BoundRunsEndToo) {
  int64_t n = kForever, y = -1;
  const tailor_tensor in = NumberOf(&n), out = NumberOf(&y);
  ASSERT_EQ(Text(tailor_session_bind(session_, &in, 1, &out, 1)), "OK");
  std::thread other([&] { EXPECT_EQ(Text(tailor_session_cancel(session_)), "OK"); });
  EXPECT_EQ(Text(tailor_session_run_bound(session_)), kCancelled);
  other.join();
  n = 7;
  EXPECT_EQ(Text(tailor_session_run_bound(session_)), "OK");
  EXPECT_EQ(y, 7);
}

TEST_F(InterruptTest, ATimeoutEndsEachRunThatExceedsIt) {
  constexpr char kLate[] = "4: the run did not end within its timeout of 1000000 ns";
  ASSERT_EQ(Open(1000000), "OK");
  EXPECT_EQ(Run(kForever), kLate);
  EXPECT_EQ(Run(kForever), kLate);
  EXPECT_EQ(Text(tailor_session_set_timeout(session_, kForever)), "OK");
  EXPECT_EQ(Run(100), "OK: 100");
  EXPECT_EQ(Text(tailor_session_set_timeout(session_, 1000000)), "OK");
  EXPECT_EQ(Run(kForever), kLate);
  EXPECT_EQ(Text(tailor_session_set_timeout(session_, 0)), "OK");
  EXPECT_EQ(Run(100), "OK: 100");
}

TEST_F(InterruptTest, RequestsAtAnyTimeLeaveResultsRightOrRunsCancelled) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      EXPECT_EQ(Text(tailor_session_cancel(session_)), "OK");
      std::this_thread::yield();
      EXPECT_EQ(Text(tailor_session_uncancel(session_)), "OK");
      std::this_thread::yield();
    }
  });
  for (int64_t n = 0; n < 2000; ++n) {
    const std::string result = Run(n);
    if (result != kCancelled) {
      EXPECT_EQ(result, "OK: " + std::to_string(n));
    }
  }
  done = true;
  other.join();
}

TEST_F(InterruptTest, Misuse) {
  EXPECT_EQ(Open(-1), "3: tailor_session_create: options.timeout_ns is negative");
  ASSERT_EQ(Open(0), "OK");
  EXPECT_EQ(Text(tailor_session_set_timeout(session_, -1)), "3: tailor_session_set_timeout: timeout_ns is negative");
  EXPECT_NE(Text(tailor_session_cancel(nullptr)), "OK");
  EXPECT_NE(Text(tailor_session_uncancel(nullptr)), "OK");
}

}  // namespace
}  // namespace tailor
