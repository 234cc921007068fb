// Runs with the time of each launch, and the trace file that viewers of Chrome's format read (Perfetto,
// chrome://tracing).
#ifndef TAILOR_TOOLS_TAILOR_TRACED_RUNS_H_
#define TAILOR_TOOLS_TAILOR_TRACED_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tailor/inputs.h"
#include "tools/tailor/loaded_model.h"

namespace tailor {

struct TracedLaunch {
  int32_t launch;
  int32_t version;     // -1: it depends on data
  int64_t begin, end;  // nanoseconds of the monotonic clock
};

struct TracedRun {
  SymbolValues dims;
  int64_t begin, end;
  std::vector<TracedLaunch> launches;
};

struct ModelTrace {
  std::string name;
  ModelSignature signature;
  std::vector<TracedRun> runs;
};

// One session: an untimed run of each shape, then one that is recorded.
ModelTrace TraceRuns(const LoadedModel& model, uint64_t threads, const std::vector<SymbolValues>& shapes,
                     InputBuffers* inputs);

// Each model is a process of the trace, whose runs and launches are events on one thread; each begins at time 0.
void WriteTrace(const std::string& path, const std::vector<ModelTrace>& models);

struct KernelTime {
  std::string kernel, version;  // the guard of the version; "?" if unknown
  int64_t launches = 0, nanoseconds = 0;
};

// Per kernel and version over all runs, the longest first.
std::vector<KernelTime> KernelTimes(const ModelTrace& trace);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_TRACED_RUNS_H_
