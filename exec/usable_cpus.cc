#include "exec/usable_cpus.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <memory>
#include <new>
#include <thread>

namespace tailor {
namespace {

// The number of CPUs in the mask; 0 if the system does not tell.
size_t CpusOfMask() {
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  constexpr int kMostCpus = 1 << 20;
  for (int cpus = CPU_SETSIZE; cpus <= kMostCpus; cpus *= 2) {  // EINVAL: the system has more CPUs
    const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(cpus));
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    if (set == nullptr) return 0;
    if (sched_getaffinity(0, bytes, set.get()) == 0) return static_cast<size_t>(CPU_COUNT_S(bytes, set.get()));
    if (errno != EINVAL) return 0;
  }
  return 0;
}

// "200000 100000" is two CPUs, "max 100000" no quota.
std::optional<double> QuotaOfVersion2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return std::nullopt;
  return quota / period;
}

// A quota of -1 is none.
std::optional<double> QuotaOfVersion1(const std::string& group) {
  double quota = 0, period = 0;
  if (!(std::ifstream(group + "/cpu.cfs_quota_us") >> quota) || quota <= 0) return std::nullopt;
  if (!(std::ifstream(group + "/cpu.cfs_period_us") >> period) || period <= 0) return std::nullopt;
  return quota / period;
}

// The lowest quota of the group at `path` below `mount` and of those above it. In a container `path` may be the host's,
// which is not there; the container's own group is then `mount`.
template <class QuotaOf>
std::optional<double> LowestQuota(const std::string& mount, std::string path, const QuotaOf& quota_of) {
  std::optional<double> lowest;
  while (true) {
    const std::optional<double> quota = quota_of(mount + path);
    if (quota && (!lowest || *quota < *lowest)) lowest = quota;
    if (path.empty()) return lowest;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

bool Lists(const std::string& controllers, const std::string& one) {
  return ("," + controllers + ",").find("," + one + ",") != std::string::npos;
}

}  // namespace

std::optional<double> CpuQuota(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  std::optional<double> lowest;
  for (std::string line; std::getline(groups, line);) {  // "4:cpu,cpuacct:/path"; version 2: "0::/path"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    std::optional<double> quota;
    if (controllers.empty()) {
      quota = LowestQuota(mount, path, QuotaOfVersion2);
    } else if (Lists(controllers, "cpu")) {
      // The folder's name may list the controllers in another order; "cpu" is then a link to it.
      quota = LowestQuota(mount + "/" + controllers, path, QuotaOfVersion1);
      if (!quota) quota = LowestQuota(mount + "/cpu", path, QuotaOfVersion1);
    }
    if (quota && (!lowest || *quota < *lowest)) lowest = quota;
  }
  return lowest;
}

size_t UsableCpus() noexcept {
  size_t cpus = CpusOfMask();
  if (cpus == 0) cpus = std::max(1u, std::thread::hardware_concurrency());
  try {
    if (const std::optional<double> quota = CpuQuota("")) {
      cpus = std::min(cpus, static_cast<size_t>(std::ceil(std::max(*quota, 1.0))));
    }
  } catch (const std::bad_alloc&) {  // without memory for reading it: as without a quota
  }
  return cpus;
}

}  // namespace tailor
