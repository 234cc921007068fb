#include "exec/thread_team.h"

#include <signal.h>

#include <thread>

#include "exec/arch.h"
#include "exec/fork.h"

namespace tailor {
namespace {

// Spins before a thread blocks: workers for the next region, the caller for the workers that are still inside.
constexpr int kIdleSpins = 1 << 15, kFinishSpins = 1 << 11;

// A pause takes longer than a cache line takes from core to core, so the first looks follow each other without: regions
// come one after the other, and end about when the caller's share does.
constexpr int kHotSpins = 1 << 9;

void Pause(int spins) {
  if (spins >= kHotSpins) arch::Pause();
}

// While it lives, threads that are started get no signals: those are the host's.
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
    worker->team->Serve(worker->number);
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
  OpenRound();
  for (size_t i = 0; i < started_; ++i) pthread_join(workers_[i].thread, nullptr);
}

bool ThreadTeam::TryRun(Task task, void* data, size_t ways, bool sleep) {
  if (generation_ != ForkGeneration() || busy_.exchange(true, std::memory_order_acquire)) return false;
  region_.task = task;
  region_.data = data;
  region_.ways = ways;
  region_.sleep.store(sleep || crowded_, std::memory_order_relaxed);
  OpenRound();
  task(data, 0);
  ShutGate();
  busy_.store(false, std::memory_order_release);
  return true;
}

// Either the caller sees that a worker sleeps, or the worker, before it does, that there is a new round: both write
// first, then read, in the one order of all such accesses.
void ThreadTeam::OpenRound() {
  const uint32_t round = (region_.state.load(std::memory_order_relaxed) & kRound) + kNextRound;
  region_.state.store(round | kOpen, std::memory_order_seq_cst);
  if (sleepers_.count.load(std::memory_order_seq_cst) == 0) return;
  ++sleepers_.bell;
  sleepers_.bell.notify_all();
}

// Lets nobody in any more, and waits for those inside.
void ThreadTeam::ShutGate() {
  uint32_t state = region_.state.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  for (int spins = 0; (state & kInside) != 0; state = region_.state.load(std::memory_order_acquire)) {
    if (spins++ < kFinishSpins) {
      Pause(spins);
    } else {
      region_.state.wait(state);
    }
  }
}

void ThreadTeam::Serve(size_t number) {
  for (uint32_t seen = 0;;) {
    const uint32_t state = AwaitRound(seen);
    seen = state & kRound;
    if (region_.stop) return;
    if (!Enter(state)) continue;
    if (number < region_.ways) region_.task(region_.data, number);
    Leave();
  }
}

// The state once its round is not `seen`, or the team stops.
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

// Blocks until the bell rings, unless the round is not `seen` any more or the team stops.
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

// The last one out of a shut gate wakes the caller.
void ThreadTeam::Leave() {
  const uint32_t before = region_.state.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & (kOpen | kInside)) == 1) region_.state.notify_one();
}

}  // namespace tailor
