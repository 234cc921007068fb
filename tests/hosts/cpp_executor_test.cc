// Executors of the host in C++: of sessions and of runtimes.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tailor/tailor.hpp"

namespace {

using tailor::Executable;
using tailor::ParallelTask;
using tailor::Session;
using tailor::SessionOptions;
using tailor::view;

constexpr std::int64_t kRows = 4096, kColumns = 64;  // enough to be divided

std::vector<float> Elements() {
  std::vector<float> out(kRows * kColumns);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i % 97);
  return out;
}
const std::vector<float> kElements = Elements();

// y = softmax of the rows of x.
Executable Softmax(const tailor::Runtime* runtime = nullptr) {
  tailor::Graph graph("softmax");
  graph.output("y", graph.input("x", tailor::DType::kF32, {graph.symbol("rows"), kColumns}).softmax(-1));
  tailor::CompileOptions options;
  options.runtime = runtime;
  options.targets = {"host"};
  return graph.compile(options).value();
}

std::vector<float> SoftmaxOf(Session& session) {
  return session.run({view(kElements, {kRows, kColumns})}).value().copy<float>(0).value();
}

std::vector<float> Expected() {
  Session serial = Softmax().session().value();
  return SoftmaxOf(serial);
}

TEST(CppExecutor, SessionsHaveOne) {
  std::atomic<std::size_t> most{0};
  SessionOptions options;
  options.threads = 3;
  options.parallel_for = [&most](const ParallelTask& task, std::size_t count) {
    if (count > most) most = count;
    std::vector<std::thread> threads;
    for (std::size_t i = count; i-- > 0;) threads.emplace_back([task, i] { task(i); });
    for (std::thread& thread : threads) thread.join();
  };
  Session session = Softmax().session(options).value();
  EXPECT_EQ(SoftmaxOf(session), Expected());
  EXPECT_EQ(most, 3u);
}

TEST(CppExecutor, ExceptionsAreThrownAfterTheRun) {
  bool angry = true;
  SessionOptions options;
  options.threads = 2;
  options.parallel_for = [&angry](const ParallelTask& task, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) task(i);
    if (angry) throw std::runtime_error("no more threads");
  };
  Session session = Softmax().session(options).value();
  EXPECT_THROW(SoftmaxOf(session), std::runtime_error);
  angry = false;
  EXPECT_EQ(SoftmaxOf(session), Expected());
}

TEST(CppExecutor, RuntimesHaveOne) {
  std::atomic<int> calls{0};
  tailor::RuntimeOptions options;
  options.parallel_threads = 4;
  options.parallel_for = [&calls](const ParallelTask& task, std::size_t count) {
    ++calls;
    for (std::size_t i = 0; i + 1 < count; ++i) task(i);  // the last part is left
  };
  tailor::Runtime runtime = tailor::Runtime::create(std::move(options)).value();
  Executable executable = Softmax(&runtime);
  std::vector<float> y(kElements.size());
  executable.run({view(kElements, {kRows, kColumns})}, {view(y, {kRows, kColumns})}).value();
  EXPECT_EQ(y, Expected());
  EXPECT_GT(calls, 0);

  calls = 0;
  Session session = executable.session().value();
  EXPECT_EQ(SoftmaxOf(session), Expected());
  EXPECT_GT(calls, 0);

  calls = 0;
  SessionOptions serial;
  serial.threads = 1;
  Session alone = executable.session(serial).value();
  EXPECT_EQ(SoftmaxOf(alone), Expected());
  EXPECT_EQ(calls, 0);
}

std::string WhatOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(CppExecutor, ExceptionsOfARuntimesAreThrownByTheCallThatRan) {
  int calls = 0;
  tailor::RuntimeOptions options;
  options.parallel_threads = 4;
  options.parallel_for = [&calls](const ParallelTask& task, std::size_t) {
    task(0);
    throw std::runtime_error("call " + std::to_string(++calls));
  };
  tailor::Runtime runtime = tailor::Runtime::create(std::move(options)).value();
  Executable executable = Softmax(&runtime);
  std::vector<float> y(kElements.size());
  EXPECT_EQ(WhatOf([&] {
              (void)executable.run({view(kElements, {kRows, kColumns})}, {view(y, {kRows, kColumns})});
            }),
            "call 1");
  EXPECT_EQ(y, Expected());
  calls = 0;
  y.assign(y.size(), 0);
  Session session = executable.session().value();
  EXPECT_EQ(WhatOf([&] {
              (void)session.run_into({view(kElements, {kRows, kColumns})}, {view(y, {kRows, kColumns})});
            }),
            "call 1");
  EXPECT_EQ(y, Expected());
  y.assign(y.size(), 0);
  calls = 0;
  ASSERT_TRUE(session.bind({view(kElements, {kRows, kColumns})}, {view(y, {kRows, kColumns})}));
  EXPECT_EQ(WhatOf([&] { (void)session.run_bound(); }), "call 1");
  EXPECT_EQ(y, Expected());
}

TEST(CppExecutor, ARunWithinAnExecutorHasExceptionsOfItsOwn) {
  Session* inner = nullptr;
  bool within = false;
  std::string inner_threw = "no run";
  tailor::RuntimeOptions options;
  options.parallel_threads = 2;
  options.parallel_for = [&](const ParallelTask& task, std::size_t count) {
    if (within) throw std::runtime_error("inner");
    within = true;
    inner_threw = WhatOf([&] { SoftmaxOf(*inner); });
    within = false;
    for (std::size_t i = 0; i < count; ++i) task(i);
    throw std::runtime_error("outer");
  };
  tailor::Runtime runtime = tailor::Runtime::create(std::move(options)).value();
  Executable executable = Softmax(&runtime);
  Session first = executable.session().value(), second = executable.session().value();
  inner = &second;
  EXPECT_EQ(WhatOf([&] { SoftmaxOf(first); }), "outer");
  EXPECT_EQ(inner_threw, "inner");
}

}  // namespace
