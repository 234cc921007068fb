#include "exec/thread_team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "exec/runtime.h"

namespace tailor {
namespace {

// Items that whoever comes takes one by one; and who came.
struct Items {
  explicit Items(size_t ways) : ways(ways) {}

  static void Take(void* data, size_t slot, size_t) {
    auto& items = *static_cast<Items*>(data);
    if (slot >= items.ways || items.inside[slot].exchange(1) != 0) ++items.intruders;
    for (size_t i; (i = items.next++) < items.taken.size();) ++items.taken[i];
    items.inside[slot] = 0;
  }

  size_t ways;
  std::atomic<size_t> next{0};
  std::array<std::atomic<int>, 100> taken = {};
  std::array<std::atomic<int>, 64> inside = {};  // by slot
  std::atomic<int> intruders{0};                 // beyond the ways, or two in one slot at once
};

TEST(ThreadTeam, EveryItemIsTakenOnce) {
  for (const size_t threads : {3, 16, 64}) {  // the last two are more than most machines' CPUs
    ThreadTeam team(threads);
    ASSERT_TRUE(team.ok());
    for (int round = 0; round < 2000; ++round) {
      Items items(1 + round % threads);
      ASSERT_TRUE(team.TryRun(Items::Take, &items, items.ways, /*sleep=*/round % 500 < 100));
      for (const std::atomic<int>& taken : items.taken) ASSERT_EQ(taken, 1) << "round " << round;
      ASSERT_EQ(items.intruders, 0);
    }
  }
}

// A region that ends when all its workers are there.
struct Barrier {
  explicit Barrier(size_t ways) : ways(ways) {}

  static void Attend(void* data, size_t slot, size_t) {
    auto& barrier = *static_cast<Barrier*>(data);
    barrier.came |= uint64_t{1} << slot;
    while (barrier.came != ~uint64_t{0} >> (64 - barrier.ways)) std::this_thread::yield();
  }

  size_t ways;
  std::atomic<uint64_t> came{0};
};

TEST(ThreadTeam, AllWorkersCome) {
  for (const size_t threads : {4, 16, 64}) {
    ThreadTeam team(threads);
    for (const bool sleep : {false, true, false}) {
      for (const size_t ways : {size_t{1}, size_t{2}, threads}) {
        Barrier barrier(ways);
        EXPECT_TRUE(team.TryRun(Barrier::Attend, &barrier, ways, sleep));
      }
    }
  }
}

// Regions in progress at once, each begun on a thread of its own. A thread in a region stays until it is let go.
class Regions {
 public:
  Regions(ThreadTeam& team, size_t count, size_t ways) : regions_(count) {
    for (Held& region : regions_) {
      region.regions = this;
      callers_.emplace_back([&team, &region, ways] { region.ran = team.TryRun(Held::Hold, &region, ways, false); });
    }
  }
  ~Regions() {
    LetGo();
    for (std::thread& caller : callers_) caller.join();
  }

  void LetGo() { held_ = false; }
  // Without callers.
  size_t helpers(size_t region) const { return regions_[region].helpers; }
  size_t helpers() const {
    size_t sum = 0;
    for (const Held& region : regions_) sum += region.helpers;
    return sum;
  }
  size_t begun() const {
    size_t sum = 0;
    for (const Held& region : regions_) sum += region.begun;
    return sum;
  }
  bool ran() const {
    return std::all_of(regions_.begin(), regions_.end(), [](const Held& region) { return region.ran.load(); });
  }

 private:
  struct Held {
    Regions* regions = nullptr;
    std::atomic<size_t> helpers{0}, begun{0};
    std::atomic<bool> ran{true};

    static void Hold(void* data, size_t slot, size_t) {
      auto& region = *static_cast<Held*>(data);
      ++(slot == 0 ? region.begun : region.helpers);
      while (region.regions->held_) std::this_thread::yield();
    }
  };

  std::atomic<bool> held_{true};
  std::vector<Held> regions_;
  std::vector<std::thread> callers_;
};

// Waits until `done()`; fails after many tries.
template <typename Done>
void Await(const Done& done) {
  for (int i = 0; i < 20000 && !done(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ASSERT_TRUE(done());
}

TEST(ThreadTeam, WorkersSpreadOverTheRegionsInProgress) {
  ThreadTeam team(5);
  for (int round = 0; round < 3; ++round) {
    // Every worker is busy when the regions begin, and leaves alone.
    std::array<std::atomic<bool>, 5> busy;
    for (std::atomic<bool>& one : busy) one = true;
    std::atomic<size_t> came{0};
    struct Busy {
      std::array<std::atomic<bool>, 5>& busy;
      std::atomic<size_t>& came;
    } data{busy, came};
    std::thread first([&] {
      team.TryRun(
          [](void* data, size_t slot, size_t) {
            auto& all = *static_cast<Busy*>(data);
            ++all.came;
            while (all.busy[slot]) std::this_thread::yield();
          },
          &data, 5, false);
    });
    Await([&] { return came == 5; });
    Regions regions(team, 2, 5);
    Await([&] { return regions.begun() == 2; });
    EXPECT_EQ(regions.helpers(), 0u);
    for (size_t worker = 1; worker < 5; ++worker) {
      busy[worker] = false;
      Await([&] { return regions.helpers() == worker; });
    }
    EXPECT_EQ(regions.helpers(0), 2u);
    EXPECT_EQ(regions.helpers(1), 2u);
    busy[0] = false;
    first.join();
  }
}

TEST(ThreadTeam, AWorkerGoesFromRegionToRegion) {
  ThreadTeam team(2);
  // Only workers take items; callers wait until all are taken.
  struct ForWorkers {
    std::atomic<int> left{100};
    static void Take(void* data, size_t slot, size_t) {
      auto& work = *static_cast<ForWorkers*>(data);
      while (slot != 0 && --work.left > 0) {
      }
      while (work.left > 0) std::this_thread::yield();
    }
  };
  std::atomic<int> ran{0};
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < 15; ++j) {
        ForWorkers work;
        ran += team.TryRun(ForWorkers::Take, &work, 2, j % 2 == 0);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ran, 90);
}

TEST(ThreadTeam, ARegionHasNoMoreHelpersThanItsWays) {
  ThreadTeam team(6);
  Regions regions(team, 2, 3);
  Await([&] { return regions.helpers() == 4; });
  EXPECT_EQ(regions.helpers(0), 2u);
  EXPECT_EQ(regions.helpers(1), 2u);
  Barrier third(2);  // the fifth worker is free
  EXPECT_TRUE(team.TryRun(Barrier::Attend, &third, 2, false));
}

TEST(ThreadTeam, SaysWhenItHasNoRegionLeft) {
  ThreadTeam team(2);
  Items items(2);
  {
    Regions regions(team, ThreadTeam::kMaxRegions, 2);
    Await([&] { return regions.begun() == ThreadTeam::kMaxRegions; });
    EXPECT_FALSE(team.TryRun(Items::Take, &items, 2, false));
    EXPECT_TRUE(regions.ran());
  }
  EXPECT_TRUE(team.TryRun(Items::Take, &items, 2, false));
}

TEST(ThreadTeam, ATaskMayBeginARegion) {
  struct Nested {
    ThreadTeam team{2};
    std::atomic<int> calls{0}, ran{0};
  } nested;
  ASSERT_TRUE(nested.team.TryRun(
      [](void* data, size_t, size_t) {
        auto* n = static_cast<Nested*>(data);
        Items items(2);
        ++n->calls;
        n->ran += n->team.TryRun(Items::Take, &items, 2, false);
      },
      &nested, 2, false));
  EXPECT_GE(nested.calls, 1);
  EXPECT_EQ(nested.ran, nested.calls);
}

TEST(ThreadTeam, SixteenCallersTakeEveryItemOnce) {
  ThreadTeam team(4);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 16; ++t) {
    callers.emplace_back([&, t] {
      for (int round = 0; round < 100; ++round) {
        Items items(2 + (t + round) % 3);
        wrong += !team.TryRun(Items::Take, &items, items.ways, (t + round) % 5 == 0);
        for (const std::atomic<int>& taken : items.taken) wrong += taken != 1;
        wrong += items.intruders;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
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
    Barrier barrier(2);
    const auto own = runtime.Team(2);
    _exit(own != team && own->TryRun(Barrier::Attend, &barrier, 2, false) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tailor
