// Kernels on a thread pool of the program, which all runs of a runtime share.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tailor/tailor.hpp"

namespace {

// The calls of one task: task(i) for all i below `count`.
class Job {
 public:
  Job(const tailor::ParallelTask& task, std::size_t count) : task_(task), count_(count) {}

  // Makes calls until none is left.
  void help() {
    for (std::size_t index = next_++; index < count_; index = next_++) {
      task_(index);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (++ended_ == count_) all_ended_.notify_all();
    }
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    all_ended_.wait(lock, [this] { return ended_ == count_; });
  }

 private:
  const tailor::ParallelTask task_;
  const std::size_t count_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  // of what follows
  std::size_t ended_ = 0;
  std::condition_variable all_ended_;
};

class Pool {
 public:
  explicit Pool(std::size_t threads) {
    while (threads-- > 0) threads_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Calls `task` with every index below `count`, on the pool's threads and on this one.
  void for_each(const tailor::ParallelTask& task, std::size_t count) {
    const auto job = std::make_shared<Job>(task, count);  // threads may look at it after its last call
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(job);
    }
    changed_.notify_all();
    job->help();
    remove(job);
    job->wait();
  }

 private:
  // What a thread of the pool does.
  void work() {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return ends_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = jobs_.front();
      }
      job->help();
      remove(job);
    }
  }
  // Nobody needs to help with a job whose calls have all begun.
  void remove(const std::shared_ptr<Job>& job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = jobs_.begin(); it != jobs_.end(); ++it) {
      if (*it != job) continue;
      jobs_.erase(it);
      return;
    }
  }

  std::mutex mutex_;  // of what follows
  std::deque<std::shared_ptr<Job>> jobs_;
  bool ends_ = false;
  std::condition_variable changed_;
  std::vector<std::thread> threads_;
};

constexpr std::int64_t kColumns = 256;

// total[i] = sum over j of exp(x[i, j])
tailor::Executable compile(const tailor::Runtime& runtime) {
  tailor::Graph graph("rows");
  const tailor::Dim rows = graph.symbol("rows");
  graph.output("total", graph.input("x", tailor::DType::kF32, {rows, kColumns}).exp().reduce_sum({1}));
  tailor::CompileOptions options;
  options.runtime = &runtime;
  return graph.compile(options).value();
}

float run(const tailor::Executable& executable, std::int64_t rows) {
  const std::vector<float> x(static_cast<std::size_t>(rows * kColumns));
  std::vector<float> total(static_cast<std::size_t>(rows));
  executable.run({tailor::view(x, {rows, kColumns})}, {tailor::view(total)}).value();
  float sum = 0;
  for (const float row : total) sum += row;
  return sum;
}

}  // namespace

int main() {
  try {
    Pool pool(3);
    tailor::RuntimeOptions options;
    options.parallel_for = [&pool](const tailor::ParallelTask& task, std::size_t count) { pool.for_each(task, count); };
    options.parallel_threads = 4;
    const tailor::Runtime runtime = tailor::Runtime::create(options).value();
    const tailor::Executable executable = compile(runtime);

    float sums[3];
    std::vector<std::thread> callers;
    for (const int i : {0, 1, 2}) {
      callers.emplace_back([&, i] { sums[i] = run(executable, std::vector<std::int64_t>{1, 1000, 5000}[i]); });
    }
    for (std::thread& caller : callers) caller.join();
    std::printf("%g %g %g\n", sums[0], sums[1], sums[2]);
    return 0;
  } catch (const tailor::Error& error) {
    std::fprintf(stderr, "thread_pool: %s\n", error.what());
    return 1;
  }
}
