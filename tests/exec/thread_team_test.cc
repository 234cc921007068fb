#include "exec/thread_team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "exec/runtime.h"

namespace tailor {
namespace {

struct Calls {
  std::array<std::atomic<int>, 8> count = {};
  static void Task(void* data, size_t index) { ++static_cast<Calls*>(data)->count[index]; }
};

TEST(ThreadTeam, CallsEachIndexOnce) {
  ThreadTeam team(3);
  ASSERT_TRUE(team.ok());
  for (const bool sleep : {false, true}) {
    Calls calls;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(team.TryRun(Calls::Task, &calls, 8, sleep));
    for (const std::atomic<int>& count : calls.count) EXPECT_EQ(count, 100);
  }
}

TEST(ThreadTeam, SaysWhenItIsBusy) {
  struct Nested {
    ThreadTeam team{2};
    std::atomic<int> refused{0};
  } nested;
  ASSERT_TRUE(nested.team.TryRun(
      [](void* data, size_t) {
        auto* n = static_cast<Nested*>(data);
        Calls calls;
        if (!n->team.TryRun(Calls::Task, &calls, 2, false)) ++n->refused;
      },
      &nested, 2, false));
  EXPECT_EQ(nested.refused, 2);
  Calls calls;
  EXPECT_TRUE(nested.team.TryRun(Calls::Task, &calls, 2, false));
}

TEST(ThreadTeam, DoesNothingInAForkedChild) {
  auto team = std::make_unique<ThreadTeam>(2);
  Calls calls;
  ASSERT_TRUE(team->TryRun(Calls::Task, &calls, 2, false));
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = !team->TryRun(Calls::Task, &calls, 2, false);
    team.reset();  // joins nobody
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadTeam, ARuntimeSharesTeamsOfEqualSize) {
  const Runtime runtime({});
  const auto two = runtime.Team(2);
  EXPECT_EQ(runtime.Team(2), two);
  EXPECT_NE(runtime.Team(3), two);
  EXPECT_EQ(two->threads(), 2u);
}

TEST(ThreadTeam, AForkedChildGetsATeamOfItsOwn) {
  const Runtime runtime({});
  const auto team = runtime.Team(2);
  const pid_t child = fork();
  if (child == 0) {
    Calls calls;
    const auto own = runtime.Team(2);
    _exit(own != team && own->TryRun(Calls::Task, &calls, 2, false) && calls.count[1] == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tailor
