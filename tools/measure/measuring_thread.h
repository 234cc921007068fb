// Where the measuring thread runs, and for how long it has.
#ifndef TAILOR_TOOLS_MEASURE_MEASURING_THREAD_H_
#define TAILOR_TOOLS_MEASURE_MEASURING_THREAD_H_

#include <sched.h>

namespace tailor {

// CPU time of the calling thread: what else the machine does counts little.
double ThreadSeconds();

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

#endif  // TAILOR_TOOLS_MEASURE_MEASURING_THREAD_H_
