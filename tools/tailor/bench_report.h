// What a benchmark prints.
#ifndef TAILOR_TOOLS_TAILOR_BENCH_REPORT_H_
#define TAILOR_TOOLS_TAILOR_BENCH_REPORT_H_

#include <string>
#include <vector>

#include "tools/tailor/bench_runs.h"
#include "tools/tailor/commands.h"
#include "tools/tailor/traced_runs.h"

namespace tailor {

struct BenchReport {
  const BenchArguments& arguments;
  std::string items;  // symbol that counts the items of a run; empty: each run is one
  std::vector<SymbolValues> shapes;
  std::vector<BenchModel> models;
  std::vector<ModelTimes> times;   // by model
  std::vector<ModelTrace> traces;  // by model; empty without --trace
};

void PrintTables(const BenchReport& report);
void PrintJson(const BenchReport& report);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_BENCH_REPORT_H_
