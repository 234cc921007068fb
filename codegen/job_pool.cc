#include "codegen/job_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace tailor {
namespace {

// Joined, after they were told to stop, where their owner leaves early.
class Team {
 public:
  explicit Team(std::atomic<bool>& stop) : stop_(stop) {}
  ~Team() {
    stop_.store(true);
    Join();
  }
  // Up to `count`: where the system gives no more, those there are do the work.
  template <typename Body>
  void Start(int count, const Body& body) {
    try {
      for (int i = 0; i < count; ++i) threads_.emplace_back(body);
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  void Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::atomic<bool>& stop_;
  std::vector<std::thread> threads_;
};

}  // namespace

absl::Status RunJobs(int threads, int count, const std::function<absl::Status(int)>& job,
                     const std::function<absl::Status(double)>& report) {
  std::vector<absl::Status> results(count);
  std::vector<std::exception_ptr> thrown(count);
  std::atomic<int> next{0}, done{0};
  std::atomic<bool> stop{false};
  const auto run_one = [&]() -> bool {
    if (stop.load()) return false;
    const int index = next.fetch_add(1);
    if (index >= count) return false;
    try {
      results[index] = job(index);
    } catch (...) {  // memory that is out, mostly: no thread of ours may end the process with it
      thrown[index] = std::current_exception();
    }
    if (thrown[index] != nullptr || !results[index].ok()) stop.store(true);
    done.fetch_add(1);
    return true;
  };
  Team others(stop);
  others.Start(std::min(threads, count) - 1, [&] {
    while (run_one()) {
    }
  });
  absl::Status reported;
  while (run_one()) {
    reported.Update(report(static_cast<double>(done.load()) / count));
    if (!reported.ok()) stop.store(true);
  }
  others.Join();
  for (int i = 0; i < count; ++i) {
    if (thrown[i] != nullptr) std::rethrow_exception(thrown[i]);
    if (!results[i].ok()) return results[i];
  }
  return reported;
}

}  // namespace tailor
