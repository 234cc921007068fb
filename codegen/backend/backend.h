// A kind of machine that code is made for: what it brings to the pipeline (codegen/driver/pipeline.h).
//
// A backend is a folder (codegen/cpu/backend, codegen/cuda/backend) that implements Backend and TargetBuild; the
// pipeline knows no more of it.
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

// One target's variant in the making. The pipeline calls Schedule, then Emit for each module, then Link, as often as
// that asks for modules again. A failure names the target or the kernel.
class TargetBuild {
 public:
  virtual ~TargetBuild() = default;
  // Chooses the versions of each kernel, within `bounds`.
  virtual absl::Status Schedule(const CodeBounds& bounds) = 0;
  // Each kernel's plan and schedule, as they are now.
  virtual std::string SchedulesText() const = 0;
  // How many modules Emit knows. Depends on the program alone, so that the bytes do not depend on threads.
  virtual int modules() const = 0;
  // Makes IR of module `number`, verifies and compiles it. Called on several threads, for distinct modules.
  virtual absl::Status Emit(int number) = 0;
  // Joins what was emitted to `variant`. Instead it may change schedules, where code is above a bound or an assembler
  // finds fault, and return the modules to emit again.
  virtual absl::StatusOr<std::vector<int>> Link(CompiledVariant* variant) = 0;
};

// A kind of machine, with the targets asked for.
class Backend {
 public:
  virtual ~Backend() = default;
  // What lowering and fusion may know. One for all targets: where their own traits differ, lowering reads none of it.
  virtual TargetTraits Traits() const = 0;
  // Leaves out targets from which `program` gains nothing.
  virtual absl::Status KeepTargetsFor(const lower::LoweredProgram& program) { return absl::OkStatus(); }
  // Names of the targets, in the order of their variants.
  virtual std::vector<std::string> Targets() const = 0;
  // Memory that compiling `program` for all targets takes.
  virtual MemoryEstimate Estimate(const lower::LoweredProgram& program) const = 0;
  // A build for each target, in the same order. `program` outlives them.
  virtual std::vector<std::unique_ptr<TargetBuild>> Start(const lower::LoweredProgram& program) const = 0;
  // Removes from `variants`, in the same order, what others of them make needless.
  virtual void Finish(std::vector<CompiledVariant>& variants) const {}
};

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_BACKEND_H_
