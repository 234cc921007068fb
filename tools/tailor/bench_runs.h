// Timed runs of one or two models at many shapes.
#ifndef TAILOR_TOOLS_TAILOR_BENCH_RUNS_H_
#define TAILOR_TOOLS_TAILOR_BENCH_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tailor/inputs.h"
#include "tools/tailor/loaded_model.h"

namespace tailor {

struct BenchLimits {
  double seconds;  // of timed runs per model; at least one run of each shape
  uint64_t warmup;
  uint64_t callers;
  uint64_t threads;
};

struct ModelTimes {
  std::vector<int64_t> first;                        // by shape: nanoseconds of the first run, of one caller
  std::vector<std::vector<int64_t>> by_shape;        // nanoseconds of each run
  double runs_per_second = 0, items_per_second = 0;  // sums over the callers
};

// A model, its inputs, and the number of items that a run of each shape computes.
struct BenchModel {
  const LoadedModel* model;
  const InputBuffers* inputs;
  std::vector<int64_t> items;
};

// Each caller is a thread with sessions of its own. One caller runs the models by turns at each shape; several run one
// model at a time, for slices of the time. Throws the failure of a run, or InterruptedError.
std::vector<ModelTimes> MeasureModels(const std::vector<BenchModel>& models, const std::vector<SymbolValues>& shapes,
                                      const BenchLimits& limits);

// The value that `share` of the values are at most (nearest rank): 0.5 is the median. Requires values.
int64_t Percentile(std::vector<int64_t> values, double share);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_BENCH_RUNS_H_
