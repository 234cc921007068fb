// Concurrent calls on one session or graph, from its callbacks and from other threads; handles that are released during
// a call.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <latch>
#include <thread>

#include "tests/api/compiler_fixture.h"
#include "tests/api/runtime_fixture.h"

struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace tailor {
namespace {

constexpr int64_t kRows = 1000;  // worth a parallel_for

// Statuses of every function that a session has, with arguments that are right.
std::vector<std::pair<std::string, std::string>> CallAll(tailor_session* session) {
  SampleCall call(3);
  int32_t done = 0;
  int event = 0;
  DLManagedTensor* taken = nullptr;
  DLManagedTensorVersioned* versioned = nullptr;
  bool ended = false;
  const auto note = [](void* user) { *static_cast<bool*>(user) = true; };
  std::vector<std::pair<std::string, std::string>> texts = {
      {"tailor_session_run", call.Run(session)},
      {"tailor_session_bind", call.Bind(session)},
      {"tailor_session_run_bound", Text(tailor_session_run_bound(session))},
      {"tailor_session_wait", Text(tailor_session_wait(session))},
      {"tailor_session_poll", Text(tailor_session_poll(session, &done))},
      {"tailor_session_notify", Text(tailor_session_notify(session, note, &ended))},
      {"tailor_session_follow", Text(tailor_session_follow(session, &event))},
      {"tailor_session_record", Text(tailor_session_record(session, &event))},
      {"tailor_session_reserve", Text(tailor_session_reserve(session, call.inputs.data(), 2))},
      {"tailor_session_trim", Text(tailor_session_trim(session))},
      {"tailor_session_take_output", Text(tailor_session_take_output(session, 0, nullptr, &taken))},
      {"tailor_session_take_output_versioned",
       Text(tailor_session_take_output_versioned(session, 0, nullptr, &versioned))}};
  EXPECT_FALSE(ended);
  EXPECT_EQ(call.y, std::vector<float>(12, -99));
  return texts;
}

// A session whose executor does something to it.
struct Reentrant {
  explicit Reentrant(const tailor_executable* executable) {
    tailor_session_options options;
    tailor_session_options_init(&options);
    options.threads = 2;
    options.parallel_for = [](void* user, void (*task)(void*, size_t), void* data, size_t count) {
      static_cast<Reentrant*>(user)->Call();
      for (size_t i = 0; i < count; ++i) task(data, i);
    };
    options.parallel_user = this;
    EXPECT_EQ(Text(tailor_session_create(executable, &options, &session)), "OK");
  }
  void Call() {
    if (calls++ == 0) inside();
  }

  tailor_session* session = nullptr;
  std::function<void()> inside;
  int calls = 0;
};

void ExpectAllRefused(tailor_session* session) {
  for (const auto& [function, text] : CallAll(session)) {
    EXPECT_EQ(text, "9: " + function + ": the session is in use by another call; a session runs one call at a time");
  }
  EXPECT_EQ(tailor_session_stream(session), nullptr);
}

TEST(SessionInUse, AnExecutorIsRefusedEveryFunctionOfItsSession) {
  const ExecutableHandle executable = LoadSample();
  Reentrant reentrant(executable.get());
  const SessionHandle owner(reentrant.session);
  reentrant.inside = [&] { ExpectAllRefused(reentrant.session); };
  SampleCall call(kRows), again(7);
  EXPECT_EQ(call.Run(reentrant.session), "OK");
  EXPECT_GT(reentrant.calls, 0);
  call.ExpectResults();
  EXPECT_EQ(again.Run(reentrant.session), "OK");
  again.ExpectResults();
}

TEST(SessionInUse, SoIsThatOfABoundRun) {
  const ExecutableHandle executable = LoadSample();
  Reentrant reentrant(executable.get());
  const SessionHandle owner(reentrant.session);
  reentrant.inside = [&] {
    EXPECT_EQ(Text(tailor_session_run_bound(reentrant.session)),
              "9: tailor_session_run_bound: the session is in use by another call; a session runs one call at a time");
  };
  SampleCall call(kRows);
  ASSERT_EQ(call.Bind(reentrant.session), "OK");
  EXPECT_EQ(Text(tailor_session_run_bound(reentrant.session)), "OK");
  EXPECT_GT(reentrant.calls, 0);
  call.ExpectResults();
}

TEST(SessionInUse, ARefusedCallLeavesNothingHeld) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  SampleCall wrong(3), right(3);
  wrong.inputs[0].rank = 1;
  EXPECT_EQ(wrong.Run(session.get()), "3: input \"x\": rank is 1, expected 2");
  EXPECT_EQ(Text(tailor_session_run(session.get(), nullptr, 2, nullptr, 2)), "3: tailor_session_run: inputs is null");
  EXPECT_EQ(right.Run(session.get()), "OK");
}

TEST(SessionInUse, NotifyLeavesTheSessionBeforeItCalls) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  std::pair<tailor_session*, std::string> seen(session.get(), "");
  const auto ended = [](void* user) {
    auto* pair = static_cast<std::pair<tailor_session*, std::string>*>(user);
    pair->second = Text(tailor_session_wait(pair->first));
  };
  EXPECT_EQ(Text(tailor_session_notify(session.get(), ended, &seen)), "OK");
  EXPECT_EQ(seen.second, "OK");
}

// Meets for certain: the one thread is inside until the other was refused.
TEST(SessionInUse, AnotherThreadIsRefusedDuringARun) {
  const ExecutableHandle executable = LoadSample();
  Reentrant reentrant(executable.get());
  const SessionHandle owner(reentrant.session);
  reentrant.inside = [&] {
    std::thread([&] {
      for (const auto& [function, text] : CallAll(reentrant.session)) EXPECT_EQ(text.substr(0, 3), "9: ") << function;
    }).join();
  };
  SampleCall call(kRows);
  EXPECT_EQ(call.Run(reentrant.session), "OK");
  EXPECT_GT(reentrant.calls, 0);
  call.ExpectResults();
}

TEST(SessionInUse, TwoThreadsGetRightResultsOrAreRefused) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  std::atomic<int> ran{0}, refused{0}, wrong{0};
  std::latch start(2);
  const auto work = [&](int seed) {
    start.arrive_and_wait();
    for (int i = 0; i < 2000; ++i) {
      SampleCall call(1 + (700 * seed + 37 * i) % 2000, static_cast<float>(seed));
      const std::string text = call.Run(session.get());
      if (text == "OK") {
        ++ran;
        wrong += call.y != call.want_y || call.total != call.want_total;
      } else {
        refused += text.starts_with("9: tailor_session_run: the session is in use");
      }
    }
  };
  std::thread first(work, 1), second(work, 2);
  first.join();
  second.join();
  EXPECT_GT(ran, 0);
  EXPECT_EQ(ran + refused, 4000);
  EXPECT_EQ(wrong, 0);
}

TEST(SessionInUse, OneReleasedDuringACallIsFreedWhenThatLeaves) {
  const AlignedBytes bytes = SampleArtifact();
  for (const bool bound : {false, true}) {
    int freed = 0;
    tailor_executable* executable = nullptr;
    ASSERT_EQ(Text(tailor_executable_load_memory(
                  nullptr, bytes.data(), bytes.size(), nullptr, [](void* user) { ++*static_cast<int*>(user); }, &freed,
                  &executable)),
              "OK");
    Reentrant reentrant(executable);
    tailor_executable_release(executable);
    reentrant.inside = [&] {
      tailor_session_release(reentrant.session);
      EXPECT_EQ(freed, 0);
      SampleCall late(3);
      EXPECT_EQ(late.Run(reentrant.session), "9: tailor_session_run: the session is released");
      tailor_session_release(reentrant.session);
      EXPECT_EQ(freed, 0);
    };
    SampleCall call(kRows);
    if (bound) {
      ASSERT_EQ(call.Bind(reentrant.session), "OK");
      EXPECT_EQ(Text(tailor_session_run_bound(reentrant.session)), "OK");
    } else {
      EXPECT_EQ(call.Run(reentrant.session), "OK");
    }
    EXPECT_EQ(freed, 1);
    call.ExpectResults();
  }
}

class GraphInUse : public CompilerTest {
 protected:
  // Compiles `graph` with `inside` as what its first progress callback does.
  std::string Compile(std::function<void()> inside) {
    if (tailor_graph_output_count(graph) == 0) {
      EXPECT_EQ(Text(tailor_graph_output(graph, "y", 1, x)), "OK");
    }
    std::pair<std::function<void()>, int> state(std::move(inside), 0);
    tailor_compile_options options;
    tailor_compile_options_init(&options);
    const char* host = "host";
    options.targets = &host;
    options.target_count = 1;
    options.progress_user = &state;
    options.progress = [](void* user, const char*, double) -> int32_t {
      auto* given = static_cast<std::pair<std::function<void()>, int>*>(user);
      if (given->second++ == 0) given->first();
      return 1;
    };
    std::string text = Text(tailor_graph_compile_artifact(
        graph, &options, [](void*, const void*, size_t) {}, nullptr));
    EXPECT_GT(state.second, 0);
    return text;
  }
};

TEST_F(GraphInUse, ATraceIsRefusedEveryFunctionOfItsSession) {
  tailor_value negative = 0;
  ASSERT_EQ(Text(tailor_graph_neg(graph, x, &negative)), "OK");
  ASSERT_EQ(Text(tailor_graph_output(graph, "y", 1, negative)), "OK");
  tailor_executable* compiled = nullptr;
  ASSERT_EQ(Text(tailor_graph_compile(graph, nullptr, nullptr, &compiled)), "OK");
  const ExecutableHandle executable(compiled);
  std::pair<tailor_session*, int> state(nullptr, 0);
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.trace = [](void* user, const tailor_trace_event*) {
    auto* given = static_cast<std::pair<tailor_session*, int>*>(user);
    ++given->second;
    ExpectAllRefused(given->first);
  };
  options.trace_user = &state;
  const SessionHandle session = MakeSession(compiled, &options);
  state.first = session.get();
  std::vector<float> from(16, 2), to(16);
  std::vector<int64_t> numbers(2);
  const tailor_tensor inputs[] = {TensorOf(from.data(), 64, TAILOR_F32, {2, 8}),
                                  TensorOf(numbers.data(), 16, TAILOR_I64, {2})};
  tailor_tensor output = TensorOf(to.data(), 64, TAILOR_F32, {2, 8});
  EXPECT_EQ(Text(tailor_session_run(session.get(), inputs, 2, &output, 1)), "OK");
  EXPECT_GT(state.second, 0);
  EXPECT_EQ(to, std::vector<float>(16, -2));
}

TEST_F(GraphInUse, NothingChangesAGraphThatIsBeingCompiled) {
  const char* text = nullptr;
  tailor_dim dim = 0;
  tailor_value value = 0, more[3] = {};
  const float number = 1;
  const std::string before = [&] {
    EXPECT_EQ(Text(tailor_graph_output(graph, "y", 1, x)), "OK");
    return GraphText();
  }();
  EXPECT_EQ(Compile([&] {
              const std::vector<tailor_status*> statuses = {
                  tailor_graph_symbol(graph, "C", 1, nullptr, &dim),
                  tailor_graph_dim(graph, 3, &dim),
                  tailor_dim_add(graph, b, eight, &dim),
                  tailor_dim_max(graph, b, eight, &dim),
                  tailor_graph_assume_equal(graph, b, eight),
                  tailor_graph_assume_at_least(graph, b, eight, "", 0),
                  tailor_graph_input(graph, "z", 1, TAILOR_F32, &b, 1, &value),
                  tailor_graph_output(graph, "z", 1, x),
                  tailor_graph_constant(graph, "", 0, TAILOR_F32, nullptr, 0, &number, 4, nullptr, nullptr, &value),
                  tailor_graph_scalar(graph, TAILOR_F32, 1, &value),
                  tailor_graph_set_name(graph, x, "n", 1),
                  tailor_graph_value_type(graph, x, nullptr, nullptr, nullptr),
                  tailor_graph_text(graph, &text),
                  tailor_dim_text(graph, b, &text),
                  tailor_graph_facts_text(graph, &text),
                  tailor_graph_neg(graph, x, &value),
                  tailor_graph_softmax(graph, x, 0, &value),
                  tailor_graph_sort(graph, x, 0, 0, &more[0], &more[1]),
                  tailor_graph_lstm(graph, x, x, x, nullptr, &more[0], &more[1], &more[2]),
                  tailor_graph_while(graph, &x, 1, other, other, nullptr, 0, &value),
                  tailor_graph_if(graph, x, &x, 1, other, other, nullptr, 0, &value, 1)};
              for (size_t i = 0; i < statuses.size(); ++i) {
                EXPECT_THAT(Text(statuses[i]),
                            testing::AllOf(testing::StartsWith("9: "),
                                           testing::EndsWith(": the graph is in use by another call; one call at a "
                                                             "time changes a graph")))
                    << i;
              }
            }),
            "OK");
  EXPECT_EQ(value, 0u);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(GraphText(), before);
  EXPECT_EQ(Text(tailor_graph_neg(graph, x, &value)), "OK");
}

TEST_F(GraphInUse, OthersMayReadAGraphThatIsBeingCompiled) {
  EXPECT_EQ(Compile([&] {
              EXPECT_EQ(tailor_graph_output_count(graph), 1u);
              std::thread([&] {
                tailor_value value = 0;
                EXPECT_THAT(Text(tailor_graph_while(other, &foreign, 1, graph, graph, nullptr, 0, &value)),
                            testing::StartsWith("3: "));
              }).join();
            }),
            "OK");
}

TEST_F(GraphInUse, OneReleasedDuringACallIsFreedWhenThatLeaves) {
  int freed = 0;
  const float data[1] = {1};
  tailor_value constant = 0;
  ASSERT_EQ(Text(tailor_graph_constant(
                graph, "c", 1, TAILOR_F32, nullptr, 0, data, 4, [](void* user) { ++*static_cast<int*>(user); }, &freed,
                &constant)),
            "OK");
  EXPECT_EQ(Compile([&] {
              tailor_graph_release(graph);
              EXPECT_EQ(freed, 0);
              tailor_value value = 0;
              EXPECT_EQ(Text(tailor_graph_neg(graph, x, &value)), "9: neg: the graph is released");
            }),
            "OK");
  EXPECT_EQ(freed, 1);
  graph = nullptr;
}

TEST_F(GraphInUse, TwoThreadsBuildOneGraphOrAreRefused) {
  std::atomic<int> added{0}, refused{0}, others{0};
  std::latch start(2);
  const auto build = [&] {
    start.arrive_and_wait();
    for (int i = 0; i < 2000; ++i) {
      tailor_value value = 0;
      tailor_dim dim = 0;
      const std::string text = Text(tailor_graph_neg(graph, x, &value));
      const std::string dims = Text(tailor_dim_add(graph, b, eight, &dim));
      added += text == "OK" && value != 0;
      refused += text.starts_with("9: neg: the graph is in use");
      others += dims != "OK" && !dims.starts_with("9: ");
    }
  };
  std::thread first(build), second(build);
  first.join();
  second.join();
  EXPECT_GT(added, 0);
  EXPECT_EQ(added + refused, 4000);
  EXPECT_EQ(others, 0);
  const std::string text = GraphText();
  int negs = 0;
  for (size_t at = text.find("= neg"); at != std::string::npos; at = text.find("= neg", at + 1)) ++negs;
  EXPECT_EQ(negs, added);
  tailor_graph* parsed = nullptr;
  EXPECT_EQ(Text(tailor_graph_parse(text.data(), text.size(), &parsed)), "OK");
  tailor_graph_release(parsed);
}

}  // namespace
}  // namespace tailor
