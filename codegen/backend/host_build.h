// HostBuild: the build of a target whose kernels run on the host. A backend of CPUs states how it schedules and emits a
// kernel; modules, the host program, the bound on code and the variant are here.
#ifndef TAILOR_CODEGEN_BACKEND_HOST_BUILD_H_
#define TAILOR_CODEGEN_BACKEND_HOST_BUILD_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/backend/backend.h"
#include "codegen/backend/kernel_modules.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "codegen/plan/schedule.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tailor::backend {

// A function that kernels of a target call. It is linked once.
struct SharedFunction {
  std::function<absl::Status(llvm::Module&)> emit;
  std::optional<llvm::MemoryBufferRef> prebuilt;  // the object that defines it, if it need not be emitted
  bool always_optimized = false;                  // also if the build does not optimize
};
using SharedFunctions = std::map<std::string, SharedFunction>;  // by name

// One module per group of kernels; then those of the functions that these share; the last module is the host program.
class HostBuild : public TargetBuild {
 public:
  // `optimize`: code generation optimizes all modules, not only those of shared functions that always are.
  HostBuild(const lower::LoweredProgram& program, CpuTarget target, bool optimize);

  absl::Status Schedule(const CodeBounds& bounds) final;
  std::string SchedulesText() const final;
  int modules() const final { return static_cast<int>(kernel_modules_.size() + shared_modules_.size()) + 1; }
  absl::Status Emit(int number) final;
  // While the image exceeds the size bound: drops versions and returns the modules to emit again. Empty: done.
  absl::StatusOr<std::vector<int>> Link(CompiledVariant* variant) final;

 protected:
  const CpuTarget& target() const { return target_; }

 private:
  // The schedule of `plan`, with all versions.
  virtual tailor::Schedule ScheduleOf(const KernelPlan& plan) const = 0;
  // Adds the functions `<symbol>_v<i>` of the schedule's versions to `module`. Thread-safe for distinct modules.
  virtual absl::Status EmitKernel(const KernelPlan& plan, const tailor::Schedule& schedule, const std::string& symbol,
                                  llvm::Module& module) const = 0;
  // Adds the functions that EmitKernel's call without defining them.
  virtual absl::Status AddShared(const KernelPlan& plan, const tailor::Schedule& schedule,
                                 SharedFunctions& functions) const {
    return absl::OkStatus();
  }
  // Called for each module of kernels before its first kernel. Thread-safe for distinct modules.
  virtual void BeginModule(llvm::Module& module) const {}
  // Adds what only this backend records.
  virtual void Describe(const std::vector<tailor::Schedule>& schedules, Variant& variant) const {}

  void SetKernels();
  void TakePrebuilt();
  absl::Status DumpPrebuilt() const;
  std::vector<llvm::MemoryBufferRef> ObjectsInOrder() const;
  using SharedModule = std::vector<const SharedFunction*>;  // either all or none are always optimized
  static std::vector<SharedModule> InModules(const SharedFunctions& functions);
  bool IsShared(int module) const;
  absl::Status EmitKernels(const ModuleKernels& kernels, llvm::Module& module) const;
  absl::Status EmitShared(const SharedModule& functions, llvm::Module& module) const;
  absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>> CompileObject(int number, bool optimize,
                                                                    std::unique_ptr<llvm::Module> module) const;
  std::vector<int> ModulesOf(const std::vector<int>& kernels) const;
  absl::StatusOr<std::vector<KernelCode>> ReadCode() const;
  CompiledVariant DescribeImage(Image image, const std::vector<KernelCode>& codes) const;

  const lower::LoweredProgram& program_;
  const CpuTarget target_;
  const bool optimize_;
  const std::vector<ModuleKernels> kernel_modules_;
  CodeBounds bounds_;
  std::vector<tailor::Schedule> schedules_;                   // by kernel
  std::vector<DroppedVersions> dropped_;                      // by kernel
  std::vector<host::EmittedKernel> kernels_;                  // by kernel
  SharedFunctions shared_, prebuilt_;                         // to emit; those that need not be
  std::vector<SharedModule> shared_modules_;                  // of shared_
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects_;  // by module
  host::HostEmission host_;
};

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_HOST_BUILD_H_
