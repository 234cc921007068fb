#include "codegen/driver/compile.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/backend/backend.h"
#include "codegen/cpu/backend/cpu_backend.h"
#include "codegen/cuda/backend/cuda_backend.h"
#include "codegen/driver/pipeline.h"
#include "codegen/link/target_machine.h"
#include "fusion/fusion_plan.h"
#include "fusion/rewrites.h"
#include "graph/status_macros.h"

namespace tailor::driver {
namespace {

// Of schedules for CPUs.
constexpr char kInterleaveRows[] = "interleave-rows", kPackShortRows[] = "pack-short-rows",
               kChooseTilings[] = "choose-tilings";

// The backends of the requested targets (none requested: every CPU level); CPUs first.
absl::StatusOr<std::vector<std::unique_ptr<backend::Backend>>> ChooseBackends(const CompileOptions& options) {
  std::vector<std::string> cpus, gpus;
  for (const std::string& name : options.targets) {
    std::vector<std::string>& names = cuda::NamesCudaTarget(name) ? gpus : cpus;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (options.targets.empty()) {
    for (const CpuTarget& level : CpuLevels()) cpus.push_back(level.name);
  }
  if (options.cost_profile != nullptr && cpus.size() != 1) {
    const std::string given = options.targets.empty() ? "all levels"
                              : cpus.empty()          ? "none"
                                                      : absl::StrJoin(cpus, ", ");
    return absl::InvalidArgumentError(
        absl::StrCat("a cost profile is of one machine and needs exactly one CPU target; given: ", given));
  }
  const auto leaves_out = [&](const char* pass) {
    return std::find(options.without.begin(), options.without.end(), pass) != options.without.end();
  };
  std::vector<std::unique_ptr<backend::Backend>> backends;
  if (!cpus.empty()) {
    TAILOR_ASSIGN_OR_RETURN(backends.emplace_back(),
                            cpu::MakeCpuBackend(cpus, {.optimize = options.optimize,
                                                       .interleave_rows = !leaves_out(kInterleaveRows),
                                                       .pack_short_rows = !leaves_out(kPackShortRows),
                                                       .choose_tilings = !leaves_out(kChooseTilings),
                                                       .costs = options.cost_profile}));
  }
  if (!gpus.empty()) {
    TAILOR_ASSIGN_OR_RETURN(backends.emplace_back(), cuda::MakeCudaBackend(gpus, {.allow_tf32 = options.allow_tf32}));
  }
  return backends;
}

}  // namespace

std::vector<std::string> OptionalPasses() {
  std::vector<std::string> names = OptionalRewrites();
  for (std::string& name : OptionalFusions()) names.push_back(std::move(name));
  names.insert(names.end(), {kInterleaveRows, kPackShortRows, kChooseTilings});
  return names;
}

absl::StatusOr<CompiledProgram> Compile(const Graph& graph, const CompileOptions& options) {
  const std::vector<std::string> passes = OptionalPasses();
  for (const std::string& pass : options.without) {
    if (std::find(passes.begin(), passes.end(), pass) != passes.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("no optional pass \"", pass, "\"; these can be left out: ", absl::StrJoin(passes, ", ")));
  }
  TAILOR_ASSIGN_OR_RETURN(auto backends, ChooseBackends(options));
  return Pipeline(graph, options, std::move(backends)).Run();
}

}  // namespace tailor::driver
