#include "codegen/job_pool.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace tailor {

absl::Status RunJobs(int threads, int count, const std::function<absl::Status(int)>& job,
                     const std::function<absl::Status(double)>& report) {
  std::vector<absl::Status> results(count);
  std::atomic<int> next{0}, done{0};
  std::atomic<bool> stop{false};
  const auto run_one = [&]() -> bool {
    if (stop.load()) return false;
    const int index = next.fetch_add(1);
    if (index >= count) return false;
    results[index] = job(index);
    if (!results[index].ok()) stop.store(true);
    done.fetch_add(1);
    return true;
  };
  const auto run_all = [&] {
    while (run_one()) {
    }
  };
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < std::min(threads, count); ++i) others.emplace_back(run_all);
  } catch (const std::system_error&) {  // the system gives no more threads: those there are do the work
  }
  absl::Status reported;
  while (run_one()) {
    reported.Update(report(static_cast<double>(done.load()) / count));
    if (!reported.ok()) stop.store(true);
  }
  for (std::thread& other : others) other.join();
  for (const absl::Status& result : results) {
    if (!result.ok()) return result;
  }
  return reported;
}

}  // namespace tailor
