// The measuring thread: the CPU that it runs on, and its CPU time.
#ifndef TAILOR_TOOLS_MEASURE_MEASURING_THREAD_H_
#define TAILOR_TOOLS_MEASURE_MEASURING_THREAD_H_

#include <sched.h>

namespace tailor {

// CPU time of the calling thread, in seconds: other load on the machine hardly counts.
double ThreadSeconds();

// Pins the calling thread to its current CPU. Threads that it starts inherit the mask.
void StayOnThisCpu();

// While it lives, the calling thread and threads that it starts may use all CPUs of the process's initial mask.
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
