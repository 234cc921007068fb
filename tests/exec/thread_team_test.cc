#include "exec/thread_team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "exec/runtime.h"

namespace tailor {
namespace {

// Items that whoever comes takes one by one; and who came.
struct Items {
  explicit Items(size_t ways) : ways(ways) {}

  static void Take(void* data, size_t worker) {
    auto& items = *static_cast<Items*>(data);
    if (worker >= items.ways || items.inside[worker].exchange(1) != 0) ++items.intruders;
    for (size_t i; (i = items.next++) < items.taken.size();) ++items.taken[i];
    items.inside[worker] = 0;
  }

  size_t ways;
  std::atomic<size_t> next{0};
  std::array<std::atomic<int>, 100> taken = {};
  std::array<std::atomic<int>, 8> inside = {};  // by worker
  std::atomic<int> intruders{0};                // beyond the ways, or two of one number at once
};

TEST(ThreadTeam, EveryItemIsTakenOnce) {
  ThreadTeam team(3);
  ASSERT_TRUE(team.ok());
  for (int round = 0; round < 2000; ++round) {
    Items items(1 + round % 3);
    ASSERT_TRUE(team.TryRun(Items::Take, &items, items.ways, /*sleep=*/round % 500 < 100));
    for (const std::atomic<int>& taken : items.taken) ASSERT_EQ(taken, 1) << "round " << round;
    ASSERT_EQ(items.intruders, 0);
  }
}

// A region that ends when all its workers are there.
struct Barrier {
  explicit Barrier(size_t ways) : ways(ways) {}

  static void Attend(void* data, size_t worker) {
    auto& grid_sync = *static_cast<Barrier*>(data);
    grid_sync.came |= 1u << worker;
    while (grid_sync.came != (1u << grid_sync.ways) - 1) std::this_thread::yield();
  }

  size_t ways;
  std::atomic<uint32_t> came{0};
};

TEST(ThreadTeam, AllWorkersCome) {
  ThreadTeam team(4);
  for (const bool sleep : {false, true, false}) {
    for (const size_t ways : {1, 2, 4}) {
      Barrier grid_sync(ways);
      EXPECT_TRUE(team.TryRun(Barrier::Attend, &grid_sync, ways, sleep));
    }
  }
}

TEST(ThreadTeam, SaysWhenItIsBusy) {
  struct Nested {
    ThreadTeam team{2};
    std::atomic<int> calls{0}, refused{0};
  } nested;
  ASSERT_TRUE(nested.team.TryRun(
      [](void* data, size_t) {
        auto* n = static_cast<Nested*>(data);
        Items items(2);
        ++n->calls;
        if (!n->team.TryRun(Items::Take, &items, 2, false)) ++n->refused;
      },
      &nested, 2, false));
  EXPECT_GE(nested.calls, 1);
  EXPECT_EQ(nested.refused, nested.calls);
  Items items(2);
  EXPECT_TRUE(nested.team.TryRun(Items::Take, &items, 2, false));
}

TEST(ThreadTeam, DoesNothingInAForkedChild) {
  auto team = std::make_unique<ThreadTeam>(2);
  Items items(2);
  ASSERT_TRUE(team->TryRun(Items::Take, &items, 2, false));
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = !team->TryRun(Items::Take, &items, 2, false);
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
    Barrier grid_sync(2);
    const auto own = runtime.Team(2);
    _exit(own != team && own->TryRun(Barrier::Attend, &grid_sync, 2, false) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tailor
