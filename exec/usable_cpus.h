// The number of CPUs that this process may use. std::thread::hardware_concurrency counts those of the machine.
#ifndef TAILOR_EXEC_USABLE_CPUS_H_
#define TAILOR_EXEC_USABLE_CPUS_H_

#include <cstddef>
#include <optional>
#include <string>

namespace tailor {

// The CPUs of the calling thread's affinity mask, which lies within the process's cpuset; at most the CPU quota of its
// control groups, rounded up. At least 1. Not cached: both may change.
size_t UsableCpus() noexcept;

// The lowest CPU quota, in CPUs, of the process's control group and those above it, from the files below `root`, where
// "/" is the system's: version 2 (cpu.max) or version 1 (cpu.cfs_quota_us). No value: no quota, or none that can be
// read.
std::optional<double> CpuQuota(const std::string& root);

}  // namespace tailor

#endif  // TAILOR_EXEC_USABLE_CPUS_H_
