#include "tools/measure/measuring_thread.h"

#include <time.h>

namespace tailor {
namespace {

cpu_set_t CurrentMask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  return mask;
}

const cpu_set_t all_cpus = CurrentMask();  // read before main

}  // namespace

double ThreadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void PinToCurrentCpu() {
  const int cpu = sched_getcpu();
  if (cpu < 0) return;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

OnAllCpus::OnAllCpus() : before_(CurrentMask()) { sched_setaffinity(0, sizeof all_cpus, &all_cpus); }
OnAllCpus::~OnAllCpus() { sched_setaffinity(0, sizeof before_, &before_); }

}  // namespace tailor
