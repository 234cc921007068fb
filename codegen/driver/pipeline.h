// The pipeline from a graph to a program; pipeline.cc lists its steps.
#ifndef TAILOR_CODEGEN_DRIVER_PIPELINE_H_
#define TAILOR_CODEGEN_DRIVER_PIPELINE_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/backend/backend.h"
#include "codegen/backend/compiled_variant.h"
#include "codegen/driver/compile.h"
#include "codegen/lower/lowered_program.h"
#include "graph/graph.h"

namespace tailor::driver {

// One compilation. For one call of Run.
class Pipeline {
 public:
  // `options` must outlive it. `backends` is not empty, CPUs before GPUs.
  Pipeline(const Graph& graph, const CompileOptions& options, std::vector<std::unique_ptr<backend::Backend>> backends);
  // Runs all steps. CANCELLED if the progress callback returns false.
  absl::StatusOr<CompiledProgram> Run();

 private:
  using Step = absl::Status (Pipeline::*)();
  static const std::vector<Step>& Steps();

  absl::Status FoldConstants();
  absl::Status Lower();
  absl::Status ShareTables();
  absl::Status KeepTargets();
  absl::Status FitMemory();
  absl::Status Pack();
  absl::Status Schedule();
  absl::Status EmitAndLink();
  absl::Status Describe();

  absl::Status Report(const char* phase, double done) const;
  absl::Status DumpSchedules(size_t backend, const std::vector<size_t>& builds) const;
  // Repeats until each build of `backend` has its variant.
  absl::Status EmitAndLink(size_t backend);

  Graph graph_;
  const CompileOptions& options_;
  const std::vector<std::unique_ptr<backend::Backend>> backends_;
  int threads_;
  std::vector<lower::LoweredProgram> lowered_;                              // by backend
  std::vector<std::vector<std::unique_ptr<backend::TargetBuild>>> builds_;  // by backend, then target
  std::vector<std::vector<backend::CompiledVariant>> variants_;             // the same
  CompiledProgram compiled_;
};

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_PIPELINE_H_
