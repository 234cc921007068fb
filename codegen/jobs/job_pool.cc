#include "codegen/jobs/job_pool.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

#include "graph/visits.h"

namespace tailor {
namespace {

class Jobs {
 public:
  Jobs(int count, const std::function<absl::Status(int)>& job) : job_(job), results_(count), thrown_(count) {}
  ~Jobs() {
    Stop();
    Join();
  }

  // Runs only on the caller's thread if the system gives no other.
  absl::Status Run(int threads, const std::function<absl::Status(double)>& report) {
    Start(std::min(threads, count()));
    absl::Status reported;
    for (int done = 1; reported.ok() && AwaitDone(done); ++done) {
      reported = report(static_cast<double>(done) / count());
    }
    Stop();
    Join();
    for (int i = 0; i < count(); ++i) {
      if (thrown_[i] != nullptr) std::rethrow_exception(thrown_[i]);
      if (!results_[i].ok()) return results_[i];
    }
    return reported;
  }

 private:
  int count() const { return static_cast<int>(results_.size()); }

  void Start(int threads) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    pthread_attr_setstacksize(&attributes, kJobStackBytes);
    void* (*const serve)(void*) = [](void* jobs) -> void* {
      while (static_cast<Jobs*>(jobs)->RunNext()) {
      }
      return nullptr;
    };
    threads_.reserve(threads);
    for (int i = 0; i < threads; ++i) {
      pthread_t thread;
      if (pthread_create(&thread, &attributes, serve, this) == 0) threads_.push_back(thread);
    }
    pthread_attr_destroy(&attributes);
  }

  bool RunNext() {
    int index;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopped_ || next_ == count()) return false;
      index = next_++;
    }
    try {
      results_[index] = job_(index);
    } catch (...) {  // usually out of memory: an exception must not end the process in a pool thread
      thrown_[index] = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (thrown_[index] != nullptr || !results_[index].ok()) stopped_ = true;
    ++done_;
    changed_.notify_one();
    return true;
  }

  // Waits until `done` jobs have ended; false if no more jobs will end.
  bool AwaitDone(int done) {
    if (threads_.empty()) return RunNext();
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= done || done_ == (stopped_ ? next_ : count()); });
    return done_ >= done;
  }

  void Stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }

  void Join() {
    for (pthread_t thread : threads_) pthread_join(thread, nullptr);
    threads_.clear();
  }

  const std::function<absl::Status(int)>& job_;
  std::vector<absl::Status> results_;
  std::vector<std::exception_ptr> thrown_;
  std::vector<pthread_t> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int next_ = 0, done_ = 0;
  bool stopped_ = false;
};

}  // namespace

absl::Status RunJobs(int threads, int count, const std::function<absl::Status(int)>& job,
                     const std::function<absl::Status(double)>& report) {
  return Jobs(count, job).Run(threads, report);
}

absl::Status RunJob(const std::function<absl::Status()>& job) {
  const uint64_t before = Visits();
  uint64_t visits = 0;
  const auto counted = [&](int) {
    const uint64_t start = Visits();
    absl::Status status = job();
    visits = Visits() - start;
    return status;
  };
  absl::Status status = RunJobs(1, 1, counted, [](double) { return absl::OkStatus(); });
  if (Visits() == before) CountVisits(visits);  // unless it ran on the caller's thread
  return status;
}

}  // namespace tailor
