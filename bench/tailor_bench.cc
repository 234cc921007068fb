// tailor-bench: the costs of Tailor's parts on this machine. It uses the C API, except for fork_join, which has a
// thread team of its own, and choice/*, which times internals of sessions. The flags are Google Benchmark's:
// --benchmark_filter=REGEX, --benchmark_out=FILE --benchmark_out_format=json, --benchmark_repetitions=N. By default it
// reports medians of five repetitions. The measuring thread is pinned to one CPU.
#include <benchmark/benchmark.h>

#include <vector>

#include "tools/measure/measuring_thread.h"

int main(int argc, char** argv) {
  char repetitions[] = "--benchmark_repetitions=5", aggregates[] = "--benchmark_report_aggregates_only=true";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, {repetitions, aggregates});  // later arguments win
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
  tailor::PinToCurrentCpu();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
