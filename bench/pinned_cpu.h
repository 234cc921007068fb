// Where the measuring thread runs.
#ifndef TAILOR_BENCH_PINNED_CPU_H_
#define TAILOR_BENCH_PINNED_CPU_H_

#include <sched.h>

namespace tailor {

// Keeps the calling thread on the CPU that it is on; threads that it starts begin with the same mask.
void StayOnThisCpu();

// While it lives, the calling thread and those that it starts may use every CPU that the process began with.
class OnAllCpus {
 public:
  OnAllCpus();
  OnAllCpus(const OnAllCpus&) = delete;
  ~OnAllCpus();

 private:
  cpu_set_t before_;
};

}  // namespace tailor

#endif  // TAILOR_BENCH_PINNED_CPU_H_
