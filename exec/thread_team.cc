#include "exec/thread_team.h"

#include <signal.h>

#include <thread>

#include "exec/arch.h"
#include "exec/fork.h"

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
    : workers_(threads - 1), generation_(ForkGeneration()), crowded_(threads > std::thread::hardware_concurrency()) {
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
  region_.stop = true;
  OpenRegion();
  for (size_t i = 0; i < started_; ++i) pthread_join(workers_[i].thread, nullptr);
}

bool ThreadTeam::TryRun(Task task, void* data, size_t ways, bool sleep) {
  if (generation_ != ForkGeneration() || busy_.exchange(true, std::memory_order_acquire)) return false;
  region_.task = task;
  region_.data = data;
  region_.ways = ways;
  region_.sleep.store(sleep || crowded_, std::memory_order_relaxed);
  OpenRegion();
  task(data, 0);
  CloseRegion();
  busy_.store(false, std::memory_order_release);
  return true;
}

// No lost wakeup: either the caller sees a sleeping worker, or the worker sees the new round before it sleeps. Both
// write first and then read, in sequentially consistent order.
void ThreadTeam::OpenRegion() {
  const uint32_t round = (region_.state.load(std::memory_order_relaxed) & kRound) + kNextRound;
  region_.state.store(round | kOpen, std::memory_order_seq_cst);
  if (sleepers_.count.load(std::memory_order_seq_cst) == 0) return;
  ++sleepers_.bell;
  sleepers_.bell.notify_all();
}

// Closes the gate and waits for the workers inside.
void ThreadTeam::CloseRegion() {
  uint32_t state = region_.state.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  for (int spins = 0; (state & kInside) != 0; state = region_.state.load(std::memory_order_acquire)) {
    if (spins++ < kFinishSpins) {
      Pause(spins);
    } else {
      region_.state.wait(state);
    }
  }
}

void ThreadTeam::WorkerLoop(size_t number) {
  for (uint32_t seen = 0;;) {
    const uint32_t state = AwaitRound(seen);
    seen = state & kRound;
    if (region_.stop) return;
    if (!Enter(state)) continue;
    if (number < region_.ways) region_.task(region_.data, number);
    Leave();
  }
}

// Returns the state once its round differs from `seen`, or the team stops.
uint32_t ThreadTeam::AwaitRound(uint32_t seen) {
  for (int spins = 0;; ++spins) {
    const uint32_t state = region_.state.load(std::memory_order_acquire);
    if ((state & kRound) != seen || region_.stop.load(std::memory_order_relaxed)) return state;
    if (spins >= kIdleSpins || region_.sleep.load(std::memory_order_relaxed)) {
      SleepUntilAfter(seen);
    } else {
      Pause(spins);
    }
  }
}

// Blocks until the bell rings, unless the round differs from `seen` or the team stops.
void ThreadTeam::SleepUntilAfter(uint32_t seen) {
  sleepers_.count.fetch_add(1, std::memory_order_seq_cst);
  const uint32_t bell = sleepers_.bell.load(std::memory_order_seq_cst);
  const bool same = (region_.state.load(std::memory_order_seq_cst) & kRound) == seen;
  if (same && !region_.stop.load(std::memory_order_seq_cst)) sleepers_.bell.wait(bell);
  sleepers_.count.fetch_sub(1, std::memory_order_relaxed);
}

bool ThreadTeam::Enter(uint32_t state) {
  const uint32_t round = state & kRound;
  while ((state & kOpen) != 0 && (state & kRound) == round) {
    if (region_.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

// The last worker to leave through a shut gate wakes the caller.
void ThreadTeam::Leave() {
  const uint32_t before = region_.state.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & (kOpen | kInside)) == 1) region_.state.notify_one();
}

}  // namespace tailor
