// The measuring thread: the CPU that it runs on, and its CPU time.
#ifndef TAILOR_TOOLS_MEASURE_MEASURING_THREAD_H_
#define TAILOR_TOOLS_MEASURE_MEASURING_THREAD_H_

#include <sched.h>

namespace tailor {

// CPU time of the calling thread, in seconds. Time in which other processes have the CPU does not count.
double ThreadSeconds();

// Pins the calling thread to its current CPU. Threads that it starts later inherit the pinning. No effect if the system
// refuses.
void PinToCurrentCpu();

// Scope guard: within the scope, the calling thread and threads that it starts may use all CPUs that the process could
// use before main. The destructor restores the calling thread's mask.
class OnAllCpus {
 public:
  OnAllCpus();
  OnAllCpus(const OnAllCpus&) = delete;
  ~OnAllCpus();

 private:
  cpu_set_t before_;
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_MEASURE_MEASURING_THREAD_H_
