#include "codegen/driver/compile.h"

#include <memory>
#include <utility>

#include "codegen/backend/backend.h"
#include "codegen/cpu/backend/cpu_backend.h"
#include "codegen/cuda/backend/cuda_backend.h"
#include "codegen/driver/pipeline.h"
#include "codegen/link/target_machine.h"
#include "graph/status_macros.h"

namespace tailor::driver {
namespace {

// The backends of the requested targets (none requested: every CPU level); CPUs first.
absl::StatusOr<std::vector<std::unique_ptr<backend::Backend>>> ChooseBackends(const CompileOptions& options) {
  std::vector<std::string> cpus, gpus;
  for (const std::string& name : options.targets) (cuda::NamesCudaTarget(name) ? gpus : cpus).push_back(name);
  if (options.targets.empty()) {
    for (const CpuTarget& level : CpuLevels()) cpus.push_back(level.name);
  }
  std::vector<std::unique_ptr<backend::Backend>> backends;
  if (!cpus.empty()) {
    TAILOR_ASSIGN_OR_RETURN(backends.emplace_back(), cpu::MakeCpuBackend(cpus, options.optimize));
  }
  if (!gpus.empty()) {
    TAILOR_ASSIGN_OR_RETURN(backends.emplace_back(), cuda::MakeCudaBackend(gpus, {.allow_tf32 = options.allow_tf32}));
  }
  return backends;
}

}  // namespace

absl::StatusOr<CompiledProgram> Compile(const Graph& graph, const CompileOptions& options) {
  TAILOR_ASSIGN_OR_RETURN(auto backends, ChooseBackends(options));
  return Pipeline(graph, options, std::move(backends)).Run();
}

}  // namespace tailor::driver
