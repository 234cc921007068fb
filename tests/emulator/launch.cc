#include "tests/emulator/launch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <numeric>
#include <random>
#include <utility>

namespace tailor::simt {
namespace {

using State = Thread::State;

constexpr size_t kSharedAlignment = 1024;
// The bit of a grid barrier's counter that flips at every barrier.
constexpr uint32_t kGridGeneration = 1U << 31;
// Rounds in which all threads only spin, after which they count as deadlocked.
constexpr int kMostIdleSteps = 10000;

std::string BlockName(const Block& block) { return "block " + std::to_string(block.id); }

// "0-3, 7"
std::string RangesOf(const std::vector<int>& sorted) {
  std::string text;
  for (size_t i = 0; i < sorted.size();) {
    size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(sorted[i]);
    if (last > i) text += "-" + std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

std::string DoingOf(const Thread& thread) {
  switch (thread.state) {
    case State::kAtWarpOp:
      return std::string("wait at ") + thread.op->name;
    case State::kAtBarrier:
      return "wait at a barrier";
    case State::kAtGridBarrier:
      return "wait at a barrier of the grid";
    case State::kDone:
      return "have returned";
    case State::kReady:
      break;
  }
  return thread.waits_at == nullptr ? "spin" : std::string("wait at ") + thread.waits_at;
}

// States of groups of threads, for a block whose threads differ: "threads 0-39 wait at a barrier, threads 40-63 have
// returned". Two groups at the same kind of call are at different calls.
std::string DescribeThreads(const Block& block) {
  std::vector<std::vector<int>> groups;
  auto same = [&](int a, int b) {
    const Thread &x = block.threads[a], &y = block.threads[b];
    return x.state == y.state && x.op == y.op && x.place == y.place && x.waits_at == y.waits_at;
  };
  for (const Thread& thread : block.threads) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](auto& g) { return same(g[0], thread.id); });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(thread.id);
  }
  std::string text;
  for (const std::vector<int>& group : groups) {
    text += (text.empty() ? "threads " : ", threads ") + RangesOf(group) + " " + DoingOf(block.threads[group[0]]);
    const bool repeated = std::any_of(groups.begin(), groups.end(), [&](const std::vector<int>& other) {
      return other[0] < group[0] && DoingOf(block.threads[other[0]]) == DoingOf(block.threads[group[0]]);
    });
    if (repeated) text += " elsewhere";
  }
  return text;
}

class Launch {
 public:
  Launch(KernelEntry entry, const SimtGrid& grid, const int64_t* slots, uint32_t seed, AccessChecker* checker)
      : entry(entry), grid(grid), slots(slots), checker(checker), random_(seed) {}

  std::string Run();

  const KernelEntry entry;
  const SimtGrid grid;
  const int64_t* const slots;
  AccessChecker* const checker;
  Thread* thread = nullptr;  // the running thread
  std::string diagnosis;
  uint32_t* grid_counter = nullptr;
  bool progresses = false;  // some thread did more than spin

 private:
  std::unique_ptr<Block> MakeBlock();
  void Open(int64_t id);
  void CloseDone();
  bool Step();
  bool StepWarp(Block& block, int warp);
  bool RunReady(Thread* lanes);
  bool FinishWarpOp(Thread* lanes);
  bool OpenBarrier(Block& block);
  bool OpenGridBarrier();
  std::string DescribeStuck() const;

  std::mt19937 random_;
  std::vector<std::unique_ptr<Block>> live_, spare_;
  size_t stacks_ = 0;   // in use
  int64_t closed_ = 0;  // blocks that have run to their end
};

Launch* launch = nullptr;

StackPool& Stacks() {
  static StackPool pool;
  return pool;
}

void WaitIn(State state, const void* place) {
  if (launch->checker != nullptr) launch->checker->SettleDoubt();
  launch->progresses = true;
  launch->thread->state = state;
  launch->thread->place = place;
  Fiber::Yield();
}

void RunThread() {
  launch->entry(launch->slots);
  WaitIn(State::kDone, nullptr);
}

bool AllAt(const Block& block, State state) {
  return std::all_of(block.threads.begin(), block.threads.end(),
                     [&](const Thread& t) { return t.state == state && t.place == block.threads[0].place; });
}

bool IsDone(const Block& block) {
  return std::all_of(block.threads.begin(), block.threads.end(), [](auto& t) { return t.state == State::kDone; });
}

void Ready(Block& block) {
  for (Thread& thread : block.threads) thread.state = State::kReady;
}

std::unique_ptr<Block> Launch::MakeBlock() {
  auto block = std::make_unique<Block>();
  block->threads = std::vector<Thread>(grid.threads);
  block->memory.reset(new std::byte[grid.shared_bytes + kSharedAlignment]);
  const auto address = reinterpret_cast<uintptr_t>(block->memory.get());
  block->shared = block->memory.get() + (kSharedAlignment - address % kSharedAlignment) % kSharedAlignment;
  if (checker != nullptr) block->order.cells.resize(grid.shared_bytes);
  for (int i = 0; i < grid.threads; ++i) {
    block->threads[i].id = i;
    block->threads[i].block = block.get();
    block->threads[i].stack = Stacks().Top(stacks_++);
  }
  return block;
}

void Launch::Open(int64_t id) {
  if (spare_.empty()) spare_.push_back(MakeBlock());
  live_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  Block& block = *live_.back();
  block.id = id;
  block.transaction_barriers.clear();
  block.named_barriers.clear();
  block.warpgroups.clear();
  std::memset(block.shared, kUnwritten, grid.shared_bytes);
  for (Thread& thread : block.threads) {
    thread.state = State::kReady;
    thread.op = nullptr;
    thread.waits_at = nullptr;
    thread.copies.clear();
    thread.copy_groups = 0;
    thread.wgmma_fenced = false;
    thread.fiber.Start(thread.stack, RunThread);
  }
  if (checker != nullptr) checker->OpenBlock(block);
}

void Launch::CloseDone() {
  auto first = std::partition(live_.begin(), live_.end(), [](auto& block) { return !IsDone(*block); });
  closed_ += live_.end() - first;
  std::move(first, live_.end(), std::back_inserter(spare_));
  live_.erase(first, live_.end());
}

// Runs the ready threads among the 32 at `lanes` in random order until each waits; false if none was ready.
bool Launch::RunReady(Thread* lanes) {
  const uint32_t bits = random_();
  const uint32_t first = bits % kWarp, stride = bits / kWarp % kWarp | 1, flip = bits / (kWarp * kWarp) % kWarp;
  bool ran = false;
  for (uint32_t i = 0; i < kWarp && diagnosis.empty(); ++i) {
    Thread& next = lanes[((first + i * stride) % kWarp) ^ flip];
    if (next.state != State::kReady) continue;
    ran = true;
    thread = &next;
    next.fiber.Resume();
  }
  return ran;
}

bool Launch::FinishWarpOp(Thread* lanes) {
  if (lanes[0].state != State::kAtWarpOp) return false;
  const WarpOp& op = *lanes[0].op;
  Thread* first = lanes - lanes[0].id % op.lanes;
  if (first->id + op.lanes > grid.threads) return false;
  uint64_t* slots[kMostLanes];
  for (int i = 0; i < op.lanes; ++i) {
    if (first[i].state != State::kAtWarpOp || first[i].place != lanes[0].place) return false;
    slots[i] = first[i].slots;
  }
  thread = first;
  op.run(slots);
  if (op.orders_memory && checker != nullptr) checker->WarpBarrier(*first->block, first->id / kWarp);
  for (int i = 0; i < op.lanes; ++i) first[i].state = State::kReady;
  return true;
}

// A warp runs through a random number of its warp-level operations at a stretch, so that some warps are far ahead of
// others.
bool Launch::StepWarp(Block& block, int warp) {
  Thread* lanes = &block.threads[warp * kWarp];
  bool moved = false;
  for (int steps = 1 << random_() % 6; steps > 0; --steps) {
    const bool ran = RunReady(lanes);
    if (!diagnosis.empty()) return true;
    const bool met = FinishWarpOp(lanes);
    moved |= ran || met;
    if (!met) break;
  }
  return moved;
}

bool Launch::OpenBarrier(Block& block) {
  if (!AllAt(block, State::kAtBarrier)) return false;
  if (checker != nullptr) checker->BlockBarrier(block);
  Ready(block);
  return true;
}

bool Launch::OpenGridBarrier() {
  if (closed_ > 0 || live_.empty()) return false;
  const void* place = live_[0]->threads[0].place;
  for (const auto& block : live_) {
    if (!AllAt(*block, State::kAtGridBarrier) || block->threads[0].place != place) return false;
  }
  *grid_counter ^= kGridGeneration;
  if (checker != nullptr) checker->GridBarrier();
  for (const auto& block : live_) Ready(*block);
  return true;
}

// Runs every live warp once, in random order; false if no thread can go on.
bool Launch::Step() {
  const int warps = grid.threads / kWarp;
  std::vector<size_t> turns(live_.size() * warps);
  std::iota(turns.begin(), turns.end(), 0);
  std::shuffle(turns.begin(), turns.end(), random_);
  bool moved = false;
  for (size_t turn : turns) {
    moved |= StepWarp(*live_[turn / warps], static_cast<int>(turn % warps));
    if (!diagnosis.empty()) return true;
  }
  for (const auto& block : live_) moved |= OpenBarrier(*block);
  return moved || OpenGridBarrier();
}

std::string Launch::DescribeStuck() const {
  for (const auto& block : live_) {
    if (!AllAt(*block, State::kAtGridBarrier)) return BlockName(*block) + ": " + DescribeThreads(*block);
  }
  return BlockName(*live_[0]) + " waits at a barrier of the grid, where " +
         (closed_ > 0 ? std::to_string(closed_) + " blocks that have returned" : "other blocks that wait elsewhere") +
         " are missed";
}

std::string Launch::Run() {
  std::vector<int64_t> order(grid.blocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  size_t most_live = grid.cooperative ? grid.blocks : 1;
  size_t opened = 0;
  int idle_steps = 0;
  while (closed_ < grid.blocks) {
    while (live_.size() < most_live && opened < order.size()) Open(order[opened++]);
    progresses = false;
    const bool moved = Step();
    if (!diagnosis.empty()) return diagnosis;
    CloseDone();
    idle_steps = progresses ? 0 : idle_steps + 1;
    const bool waits_for_others = !moved || idle_steps > kMostIdleSteps;
    if (!waits_for_others) continue;
    if (grid.cooperative || opened == order.size() || !moved) return DescribeStuck();
    ++most_live;  // the live blocks may wait for one that has not started
    idle_steps = 0;
  }
  return "";
}

std::string Refusal(const SimtGrid& grid) {
  constexpr int kMostThreads = 1024;
  constexpr int64_t kMostShared = 227 << 10;  // of sm_90, the most of all targets
  if (grid.blocks <= 0) return "a grid of " + std::to_string(grid.blocks) + " blocks";
  if (grid.threads <= 0 || grid.threads > kMostThreads || grid.threads % kWarp != 0) {
    return "blocks of " + std::to_string(grid.threads) + " threads";
  }
  if (grid.shared_bytes < 0 || grid.shared_bytes > kMostShared)
    return std::to_string(grid.shared_bytes) + " bytes of shared memory";
  return "";
}

}  // namespace

std::string RunLaunch(const std::string& kernel, KernelEntry entry, const SimtGrid& grid, const int64_t* slots,
                      uint32_t seed, const SimtOptions& options) {
  static std::mutex turn;
  static AccessChecker checker;
  const std::lock_guard<std::mutex> lock(turn);
  std::string diagnosis = Refusal(grid);
  if (diagnosis.empty()) {
    Launch own(entry, grid, slots, seed, options.checks_accesses ? &checker : nullptr);
    launch = &own;
    checker.OpenLaunch(&options.find_memory);
    diagnosis = own.Run();
    launch = nullptr;
    if (options.traffic != nullptr) {
      options.traffic->read += checker.traffic().read;
      options.traffic->written += checker.traffic().written;
    }
  }
  return diagnosis.empty() ? "" : "kernel " + kernel + ": " + diagnosis;
}

Thread& RunningThread() { return *launch->thread; }
const SimtGrid& RunningGrid() { return launch->grid; }
AccessChecker* RunningChecker() { return launch->checker; }

void Fail(std::string what) {
  launch->diagnosis = std::move(what);
  Fiber::Yield();
  std::abort();  // never resumed
}

std::string NameOf(const Thread& thread) { return BlockName(*thread.block) + ", thread " + std::to_string(thread.id); }

void SyncWarp(const WarpOp& op, uint64_t* slots, const void* place) {
  launch->thread->op = &op;
  launch->thread->slots = slots;
  WaitIn(State::kAtWarpOp, place);
}

void SyncBlock(const void* place) { WaitIn(State::kAtBarrier, place); }

void SyncGrid(uint32_t* counter, const void* place) {
  if (!launch->grid.cooperative) Fail(NameOf(*launch->thread) + ": a barrier of the grid, whose blocks run one by one");
  if ((*counter & ~kGridGeneration) != 0) {
    Fail(NameOf(*launch->thread) + ": the counter of the grid's barriers is " + std::to_string(*counter) +
         ", where all but its highest bit are to be 0");
  }
  launch->grid_counter = counter;
  WaitIn(State::kAtGridBarrier, place);
}

void Spin() { Fiber::Yield(); }

}  // namespace tailor::simt
