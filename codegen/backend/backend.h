// Backend: the interface between a kind of machine and the pipeline (codegen/driver/pipeline.h).
//
// A backend is a folder (codegen/cpu/backend, codegen/cuda/backend) that implements Backend and TargetBuild; the
// pipeline knows nothing else about it.
#ifndef TAILOR_CODEGEN_BACKEND_BACKEND_H_
#define TAILOR_CODEGEN_BACKEND_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/backend/code_bounds.h"
#include "codegen/backend/compiled_variant.h"
#include "codegen/backend/memory_estimate.h"
#include "codegen/lower/lowered_program.h"
#include "fusion/target_traits.h"

namespace tailor::backend {

// The build of one target's variant. The pipeline calls Schedule, Emit for each module, then Link; it repeats Emit and
// Link while Link returns modules. Errors name the target or the kernel. Only Emit may run on several threads.
class TargetBuild {
 public:
  virtual ~TargetBuild() = default;
  // Chooses the versions of each kernel, within `bounds`.
  virtual absl::Status Schedule(const CodeBounds& bounds) = 0;
  // Text of each kernel's current plan and schedule.
  virtual std::string SchedulesText() const = 0;
  // Number of modules. It depends only on the program, so that the artifact's bytes do not depend on threads.
  virtual int modules() const = 0;
  // Emits, verifies and compiles the IR of module `number`. Thread-safe for distinct modules.
  virtual absl::Status Emit(int number) = 0;
  // Links the modules to `variant` and returns an empty list. Or, if code exceeds a bound or the assembler reports
  // spills, changes schedules and returns the modules to emit again.
  virtual absl::StatusOr<std::vector<int>> Link(CompiledVariant* variant) = 0;
};

// A kind of machine with the requested targets.
class Backend {
 public:
  virtual ~Backend() = default;
  // The traits for fusion and lowering. These read only traits in which all targets of the backend agree.
  virtual TargetTraits Traits() const = 0;
  // Drops targets that would not benefit `program`.
  virtual absl::Status KeepTargetsFor(const lower::LoweredProgram& program) { return absl::OkStatus(); }
  // Names of the targets, in the order of their variants.
  virtual std::vector<std::string> Targets() const = 0;
  // The memory estimate of compiling `program` for all targets.
  virtual MemoryEstimate Estimate(const lower::LoweredProgram& program) const = 0;
  // A build for each target, in the same order. `program` outlives them.
  virtual std::vector<std::unique_ptr<TargetBuild>> Start(const lower::LoweredProgram& program) const = 0;
  // Removes redundant variants; `variants` are in the order of Targets().
  virtual void Finish(std::vector<CompiledVariant>& variants) const {}
};

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_BACKEND_H_
