// Tracing: what a session reports of its kernel launches, for profiling.
#ifndef TAILOR_EXEC_TRACING_H_
#define TAILOR_EXEC_TRACING_H_

#include <cstdint>
#include <vector>

namespace tailor {

// A launch that has ended, or the run itself. Layout of tailor_trace_event.
struct TraceEvent {
  static constexpr int32_t kRun = -1;
  uint64_t struct_size;
  int32_t launch;   // kRun, or index among Variant::launches
  int32_t version;  // -1: data-dependent
  int64_t begin_ns, end_ns;
};

class Tracing {
 public:
  using Phases = void (*)(void* user, int32_t launch, int32_t phase);
  using Events = void (*)(void* user, const TraceEvent* event);
  struct Options {
    Phases phases = nullptr;
    void* phases_user = nullptr;
    Events events = nullptr;
    void* events_user = nullptr;
    bool any() const { return phases != nullptr || events != nullptr; }
  };

  Tracing() = default;
  // `launches`: number of Variant::launches.
  Tracing(const Options& options, size_t launches)
      : options_(options), versions_(options.events != nullptr ? launches : 0) {}

  bool has_events() const { return options_.events != nullptr; }
  // To be filled by the plan function before the run.
  int32_t* versions() { return versions_.data(); }

  void BeginRun() { run_begin_ = Now(); }
  void EndRun() { Report(TraceEvent::kRun, -1, run_begin_); }
  // The begin (phase 0) and the end (phase 1) of a launch. Launches do not nest.
  void Mark(int32_t launch, int32_t phase);

 private:
  static int64_t Now();
  void Report(int32_t launch, int32_t version, int64_t begin) const;

  Options options_;
  std::vector<int32_t> versions_;  // by launch
  int64_t run_begin_ = 0, launch_begin_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_TRACING_H_
