// Tracing: what a session reports of its kernel launches, for profiling.
#ifndef TAILOR_EXEC_TRACING_H_
#define TAILOR_EXEC_TRACING_H_

#include <cstddef>
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
  using Function = void (*)(void* user, const TraceEvent* event);
  struct Options {
    Function trace = nullptr;
    void* user = nullptr;
  };

  Tracing() = default;
  // `launches`: number of Variant::launches.
  Tracing(const Options& options, size_t launches)
      : options_(options), versions_(options.trace != nullptr ? launches : 0) {}

  bool on() const { return options_.trace != nullptr; }
  // To be filled by the plan function before the run.
  int32_t* versions() { return versions_.data(); }

  void BeginRun() { run_begin_ = last_ = Now(); }
  void EndRun() { Report(TraceEvent::kRun, -1, run_begin_); }
  // A place of the program, as in RtApi::poll. Reports a launch that has ended; other numbers are not reported.
  void Mark(int32_t launch);

 private:
  static int64_t Now();
  void Report(int32_t launch, int32_t version, int64_t begin) const;

  Options options_;
  std::vector<int32_t> versions_;  // by launch
  int64_t run_begin_ = 0;
  int64_t last_ = 0;  // the last mark outside of launches: the begin of the next one
};

}  // namespace tailor

#endif  // TAILOR_EXEC_TRACING_H_
