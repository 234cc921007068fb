#include "exec/thread_team.h"

#include <signal.h>

#include <algorithm>
#include <bit>

#include "exec/arch.h"
#include "exec/fork.h"
#include "exec/usable_cpus.h"

namespace tailor {
namespace {

// Number of spins before a thread blocks: workers for the next region, the caller for workers still inside.
constexpr int kIdleSpins = 1 << 15, kFinishSpins = 1 << 11;

// The first spins have no pause, because a pause takes longer than moving a cache line between cores: regions follow
// each other closely, and workers end about when the caller's share ends.
constexpr int kHotSpins = 1 << 9;

void Pause(int spins) {
  if (spins >= kHotSpins) arch::Pause();
}

// Blocks all signals in a scope, so that threads started in it receive none: signals are the host's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

ThreadTeam::ThreadTeam(size_t threads)
    : workers_(threads - 1), generation_(ForkGeneration()), crowded_(threads > UsableCpus()) {
  Start();
}

void ThreadTeam::Start() {
  const SignalsBlocked blocked;
  const auto serve = [](void* data) -> void* {
    const auto* worker = static_cast<Worker*>(data);
    worker->team->WorkerLoop(worker->number);
    return nullptr;
  };
  for (Worker& worker : workers_) {
    worker = {this, started_ + 1, {}};
    if (pthread_create(&worker.thread, nullptr, serve, &worker) != 0) return;
    ++started_;
  }
}

ThreadTeam::~ThreadTeam() {
  if (generation_ != ForkGeneration()) return;  // a forked child has no workers to join
  notices_.bits.fetch_or(kStop, std::memory_order_seq_cst);
  ++notices_.bell;
  notices_.bell.notify_all();
  for (size_t i = 0; i < started_; ++i) pthread_join(workers_[i].thread, nullptr);
}

bool ThreadTeam::TryRun(Task task, void* data, size_t ways, bool sleep) {
  if (generation_ != ForkGeneration()) return false;
  Region* const region = Claim();
  if (region == nullptr) return false;
  region->task = task;
  region->data = data;
  region->sleep = sleep || crowded_;
  Open(region, ways - 1);
  task(data, 0, 0);
  Close(region);
  Release(region);
  return true;
}

// A caller without competition always gets the first region, on which idle workers spin.
ThreadTeam::Region* ThreadTeam::Claim() {
  const bool in_use = first_in_use_.exchange(true, std::memory_order_acquire);
  return in_use ? ClaimFurther() : &regions_[0];
}

ThreadTeam::Region* ThreadTeam::ClaimFurther() {
  uint64_t bits = notices_.bits.load(std::memory_order_relaxed);
  while (~(bits | kStop) != 0) {
    const int number = std::countr_one(bits | kStop);
    if (notices_.bits.compare_exchange_weak(bits, bits | uint64_t{1} << number, std::memory_order_seq_cst)) {
      return &regions_[number];
    }
  }
  return nullptr;
}

void ThreadTeam::Release(Region* region) {
  const auto number = region - regions_.data();
  if (number == 0) {
    first_in_use_.store(false, std::memory_order_release);
  } else {
    notices_.bits.fetch_and(~(uint64_t{1} << number), std::memory_order_release);
  }
}

// No lost wakeup: either the caller sees a sleeping worker, or the worker sees room in the region before it sleeps.
// Both write first and then read, in sequentially consistent order.
void ThreadTeam::Open(Region* region, size_t room) {
  region->state.store(static_cast<uint32_t>(room) * kOneSlot | kOpen, std::memory_order_seq_cst);
  const uint32_t sleepers = notices_.sleepers.load(std::memory_order_seq_cst);
  if (sleepers == 0) return;
  const bool alone = region == &regions_[0] && notices_.bits.load(std::memory_order_relaxed) == 0;
  Wake(room, sleepers, alone);
}

// Wakes up to `room` workers, less those that are awake and idle. Without other regions (`alone`) all that do not sleep
// are idle.
void ThreadTeam::Wake(size_t room, uint32_t sleepers, bool alone) {
  const size_t idle = alone ? workers_.size() - std::min<size_t>(sleepers, workers_.size()) : 0;
  if (idle >= room) return;
  ++notices_.bell;
  if (room - idle >= sleepers) return notices_.bell.notify_all();
  for (size_t i = idle; i < room; ++i) notices_.bell.notify_one();
}

// Shuts the gate and waits for the workers inside.
void ThreadTeam::Close(Region* region) {
  uint32_t state = region->state.fetch_sub(kOpen, std::memory_order_acq_rel) - kOpen;
  for (int spins = 0; (state & kInside) != 0; state = region->state.load(std::memory_order_acquire)) {
    if (spins++ < kFinishSpins) {
      Pause(spins);
    } else {
      region->state.wait(state);
    }
  }
}

void ThreadTeam::WorkerLoop(size_t number) {
  bool sleep = crowded_;
  size_t slot = 0, last = number;
  while (Region* region = AwaitSlot(last, sleep, &slot)) {
    sleep = region->sleep;
    region->task(region->data, slot, number);
    Leave(region, slot);
    last = static_cast<size_t>(region - regions_.data());
  }
}

// Joins a region; null if the team stops. `last` is the number of the region that the worker left.
ThreadTeam::Region* ThreadTeam::AwaitSlot(size_t last, bool sleep, size_t* slot) {
  for (int spins = 0;; ++spins) {
    const uint64_t bits = notices_.bits.load(std::memory_order_acquire);
    if (bits == 0) [[likely]] {
      if ((*slot = Enter(&regions_[0])) != 0) return &regions_[0];
    } else {
      if ((bits & kStop) != 0) return nullptr;
      Region* const region = Choose(bits, last);
      if ((*slot = Enter(region)) != 0) return region;
    }
    if (spins >= kIdleSpins || sleep) {
      SleepUntilRung();
    } else {
      Pause(spins);
    }
  }
}

// Of the first region and those in `bits`: one with room and the fewest workers inside, the next one after `last` among
// equals.
ThreadTeam::Region* ThreadTeam::Choose(uint64_t bits, size_t last) {
  size_t best = 0, least = SIZE_MAX;
  for (uint64_t left = bits | 1; left != 0; left &= left - 1) {
    const auto number = static_cast<size_t>(std::countr_zero(left));
    const uint32_t state = regions_[number].state.load(std::memory_order_relaxed);
    if (!HasRoom(state)) continue;
    const size_t rank = (state & kInside) * kMaxRegions + (number - last - 1) % kMaxRegions;
    if (rank < least) best = number;
    least = std::min(least, rank);
  }
  return &regions_[best];
}

// Blocks until the bell rings, unless a region has room or the team stops.
void ThreadTeam::SleepUntilRung() {
  notices_.sleepers.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t bell = notices_.bell.load(std::memory_order_seq_cst);
  if (!AnyHasRoom()) notices_.bell.wait(bell);
  notices_.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

// Whether some region has room, or the team stops.
bool ThreadTeam::AnyHasRoom() const {
  const uint64_t bits = notices_.bits.load(std::memory_order_seq_cst);
  bool room = (bits & kStop) != 0;
  for (uint64_t left = bits | 1; left != 0 && !room; left &= left - 1) {
    room = HasRoom(regions_[std::countr_zero(left)].state.load(std::memory_order_seq_cst));
  }
  return room;
}

// Takes a slot and returns it; 0 if there is none.
size_t ThreadTeam::Enter(Region* region) {
  uint32_t state = region->state.load(std::memory_order_relaxed);
  while (HasRoom(state)) {
    if (region->state.compare_exchange_weak(state, state - kOneSlot + 1, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
      return state / kOneSlot;
    }
  }
  return 0;
}

// All work is taken: no other worker may join. The last worker to leave after the caller wakes it.
void ThreadTeam::Leave(Region* region, size_t slot) {
  if (slot > 1) region->state.fetch_and(~kRoom, std::memory_order_relaxed);  // slot 1 is the last
  const uint32_t before = region->state.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & (kOpen | kInside)) == 1) region->state.notify_one();
}

}  // namespace tailor
