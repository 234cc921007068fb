#include "exec/session_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/exec/sample_tensors.h"
#include "tests/support/sample_program.h"

namespace tailor {
namespace {

TEST(SessionPool, LendsARestingSessionAgain) {
  const Program program = SampleProgram();
  const auto executable = MakeReady(program);
  SessionPool pool(*executable, {});
  std::unique_ptr<Session> session;
  ASSERT_TRUE(pool.Borrow(&session).ok());
  Session* const first = session.get();
  pool.GiveBack(std::move(session));
  ASSERT_TRUE(pool.Borrow(&session).ok());
  EXPECT_EQ(session.get(), first);
  pool.GiveBack(std::move(session));
}

TEST(SessionPool, LendsEachToOneAndMakesMoreThanItKeeps) {
  const Program program = SampleProgram();
  const auto executable = MakeReady(program);
  SessionPool pool(*executable, {});
  std::vector<std::unique_ptr<Session>> lent(PoolLimits{}.sessions + 3);
  std::set<Session*> distinct;
  for (auto& session : lent) {
    ASSERT_TRUE(pool.Borrow(&session).ok());
    distinct.insert(session.get());
  }
  EXPECT_EQ(distinct.size(), lent.size());
  for (auto& session : lent) pool.GiveBack(std::move(session));
}

TEST(SessionPool, ServesManyThreads) {
  const Program program = SampleProgram();
  const auto executable = MakeReady(program);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 24; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        SampleBuffers buffers(1 + (t * 7 + i) % 50);
        const Failure f = executable->Run(Inputs(buffers.inputs), Outputs(buffers.outputs));
        if (!f.ok() || buffers.total != buffers.Totals()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tailor
