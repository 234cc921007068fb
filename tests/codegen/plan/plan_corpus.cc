#include "tests/codegen/plan/plan_corpus.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "codegen/cuda/ptx/target.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lower_graph.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/support/every_op.h"
#include "tests/support/random_graph.h"

namespace tailor {

int ForEachPlanOfCorpus(const std::function<void(const KernelPlan& plan)>& check) {
  const TargetTraits targets[] = {FindCpuTarget("x86-64-v3")->traits, cuda::FindCudaTarget("sm_90a")->traits};
  std::set<std::string> seen;
  const auto add = [&](const Graph& graph) {
    for (const TargetTraits& traits : targets) {
      const auto lowered = lower::LowerGraph(graph, traits);
      EXPECT_NE(lowered.status().code(), absl::StatusCode::kInternal) << lowered.status();  // the verifier's
      if (!lowered.ok()) continue;  // a random graph may contradict itself
      for (const KernelPlan& plan : lowered->kernels) {
        if (seen.insert(plan.Text()).second) check(plan);
      }
    }
  };
  const auto add_folder = [&](const std::string& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream file(entry.path());
      const auto graph = ParseGraph(std::string(std::istreambuf_iterator<char>(file), {}), SeededConstant);
      if (graph.ok()) add(*graph);
    }
  };
  add_folder(TAILOR_REGRESSIONS);
  if (const char* folder = std::getenv("TAILOR_GRAPH_TEXTS")) add_folder(folder);
  for (DType dtype : kEveryDType) add(EveryOp(dtype));
  const uint64_t random = std::getenv("TAILOR_TEST_ALL") != nullptr ? 2000 : 150;
  for (uint64_t seed = 0; seed < random; ++seed) add(RandomGraph(seed, {.control = true}));
  return static_cast<int>(seen.size());
}

}  // namespace tailor
