#include "tools/tailor/bench_runs.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "tools/handles.h"
#include "tools/tailor/figures.h"
#include "tools/tailor/interrupt.h"
#include "tools/tailor/progress_bar.h"

namespace tailor {
namespace {

constexpr int kSlices = 8;  // per model, where several callers compare models

// The sessions of all callers, whose runs Ctrl-C cancels.
class CancellableSessions {
 public:
  void Add(const tailor_session* session) {
    const std::lock_guard lock(mutex_);
    sessions_.push_back(session);
  }
  void Cancel() {
    const std::lock_guard lock(mutex_);
    for (const tailor_session* session : sessions_) Check(tailor_session_cancel(session));
  }

 private:
  std::mutex mutex_;
  std::vector<const tailor_session*> sessions_;
};

// One model in the hands of one caller.
class CallerSession {
 public:
  CallerSession(const BenchModel& model, const std::vector<SymbolValues>& shapes, const BenchLimits& limits,
                CancellableSessions* cancellable)
      : model_(model), inputs_(*model.inputs), outputs_(model.model->signature.outputs.size()) {
    for (const SymbolValues& shape : shapes) tensors_.push_back(inputs_.At(shape));
    times_.resize(shapes.size());
    tailor_session_options options;
    tailor_session_options_init(&options);
    options.threads = limits.threads;
    options.host_outputs = 1;
    tailor_session* created = nullptr;
    Check(tailor_session_create(model.model->executable.get(), &options, &created));
    session_.reset(created);
    cancellable->Add(created);
  }

  // Nanoseconds of one run.
  int64_t Run(size_t shape) {
    for (tailor_tensor& output : outputs_) tailor_tensor_init(&output);
    const std::vector<tailor_tensor>& inputs = tensors_[shape];
    const Stopwatch watch;
    InterruptGuard::Check(
        tailor_session_run(session_.get(), inputs.data(), inputs.size(), outputs_.data(), outputs_.size()));
    return watch.Nanoseconds();
  }

  void RunTimed(size_t shape) {
    const int64_t nanoseconds = Run(shape);
    times_[shape].push_back(nanoseconds);
    ++runs_, items_ += model_.items[shape], busy_ += nanoseconds;
  }

  // Every shape once and then again, until the clock is at `end`.
  void RunUntil(int64_t end, size_t first_shape) {
    const size_t count = times_.size();
    for (size_t i = 0; (i < count || NowNanoseconds() < end) && !InterruptGuard::Interrupted(); ++i) {
      RunTimed((first_shape + i) % count);
    }
  }

  void AddTo(ModelTimes* out) const {
    for (size_t i = 0; i < times_.size(); ++i) {
      out->by_shape[i].insert(out->by_shape[i].end(), times_[i].begin(), times_[i].end());
    }
    const double seconds = static_cast<double>(std::max<int64_t>(busy_, 1)) * 1e-9;
    out->runs_per_second += static_cast<double>(runs_) / seconds;
    out->items_per_second += static_cast<double>(items_) / seconds;
  }

 private:
  const BenchModel& model_;
  InputBuffers inputs_;
  std::vector<std::vector<tailor_tensor>> tensors_;  // by shape
  std::vector<tailor_tensor> outputs_;
  std::vector<std::vector<int64_t>> times_;  // by shape
  int64_t runs_ = 0, items_ = 0, busy_ = 0;
  SessionHandle session_;
};

using CallerSessions = std::vector<std::unique_ptr<CallerSession>>;  // by model

// Runs each model by turns, AB then BA, shape by shape.
void RunByTurns(const CallerSessions& sessions, size_t shapes, double seconds, ProgressBar* bar) {
  const Stopwatch watch;
  const double budget = seconds * static_cast<double>(sessions.size());
  for (size_t turn = 0; turn < shapes || watch.Seconds() < budget; ++turn) {
    InterruptGuard::ThrowIfInterrupted();
    for (size_t i = 0; i < sessions.size(); ++i) {
      const size_t model = turn / shapes % 2 == 0 ? i : sessions.size() - 1 - i;
      sessions[model]->RunTimed(turn % shapes);
    }
    bar->Show("measuring", watch.Seconds() / budget);
  }
}

// The threads of several callers, which start each phase together.
class Callers {
 public:
  Callers(std::vector<CallerSessions>* sessions, size_t shapes, const BenchLimits& limits)
      : sessions_(*sessions), shapes_(shapes), limits_(limits), start_(static_cast<ptrdiff_t>(sessions->size())) {}

  void Run() {
    std::vector<std::thread> threads;
    for (size_t caller = 0; caller < sessions_.size(); ++caller) threads.emplace_back([this, caller] { Call(caller); });
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // The order of models: A, or A B B A A B B A ...
  std::vector<size_t> Phases() const {
    const size_t models = sessions_[0].size();
    std::vector<size_t> phases;
    for (int slice = 0; slice < (models == 1 ? 1 : kSlices); ++slice) {
      for (size_t i = 0; i < models; ++i) phases.push_back(slice % 2 == 0 ? i : models - 1 - i);
    }
    return phases;
  }

  void Call(size_t caller) {
    const std::vector<size_t> phases = Phases();
    const double slice =
        limits_.seconds * static_cast<double>(sessions_[0].size()) / static_cast<double>(phases.size());
    ProgressBar bar(/*forced=*/false);
    for (size_t i = 0; i < phases.size(); ++i) {
      if (caller == 0) bar.Show("measuring", static_cast<double>(i) / static_cast<double>(phases.size()));
      start_.arrive_and_wait();
      const int64_t end = NowNanoseconds() + static_cast<int64_t>(slice * 1e9);
      try {
        if (!failed_) sessions_[caller][phases[i]]->RunUntil(end, caller * shapes_ / sessions_.size());
      } catch (...) {
        const std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        failed_ = true;
      }
    }
  }

  std::vector<CallerSessions>& sessions_;
  const size_t shapes_;
  const BenchLimits limits_;
  std::barrier<> start_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;  // guarded by mutex_ until the threads have ended
};

// Runs each shape once, and limits.warmup times in all; stores the times of the first runs.
void WarmUp(CallerSession* session, size_t shapes, const BenchLimits& limits, std::vector<int64_t>* first) {
  for (uint64_t round = 0; round < std::max<uint64_t>(limits.warmup, 1); ++round) {
    for (size_t shape = 0; shape < shapes; ++shape) {
      InterruptGuard::ThrowIfInterrupted();
      const int64_t nanoseconds = session->Run(shape);
      if (round == 0 && first != nullptr) first->push_back(nanoseconds);
    }
  }
}

}  // namespace

std::vector<ModelTimes> MeasureModels(const std::vector<BenchModel>& models, const std::vector<SymbolValues>& shapes,
                                      const BenchLimits& limits) {
  const InterruptGuard guard;
  ProgressBar bar(/*forced=*/false);
  std::vector<ModelTimes> times(models.size());
  std::vector<CallerSessions> sessions(limits.callers);
  CancellableSessions cancellable;
  const OnInterrupt cancel([&] { cancellable.Cancel(); });
  for (uint64_t caller = 0; caller < limits.callers; ++caller) {
    bar.Show("warming up", static_cast<double>(caller) / static_cast<double>(limits.callers));
    for (size_t i = 0; i < models.size(); ++i) {
      sessions[caller].push_back(std::make_unique<CallerSession>(models[i], shapes, limits, &cancellable));
      WarmUp(sessions[caller][i].get(), shapes.size(), limits, caller == 0 ? &times[i].first : nullptr);
    }
  }
  if (limits.callers == 1) {
    RunByTurns(sessions[0], shapes.size(), limits.seconds, &bar);
  } else {
    Callers(&sessions, shapes.size(), limits).Run();
  }
  InterruptGuard::ThrowIfInterrupted();
  for (size_t i = 0; i < models.size(); ++i) {
    times[i].by_shape.resize(shapes.size());
    for (const CallerSessions& of_caller : sessions) of_caller[i]->AddTo(&times[i]);
  }
  return times;
}

int64_t Percentile(std::vector<int64_t> values, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace tailor
