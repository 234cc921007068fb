#include "codegen/cpu/backend/cpu_backend.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/backend/kernel_modules.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/link/target_machine.h"
#include "codegen/scalar/scalar_ops_cast.h"
#include "exec/host_abi.h"
#include "graph/dump.h"
#include "graph/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {
namespace {

using backend::CompiledVariant;

class CpuBuild final : public backend::TargetBuild {
 public:
  CpuBuild(const lower::LoweredProgram& program, const CpuTarget& target)
      : program_(program),
        target_(target),
        kernel_modules_(backend::SplitIntoModules(program.kernels)),
        dropped_(program.kernels.size()),
        objects_(kernel_modules_.size() + 1) {}

  absl::Status Schedule(const backend::CodeBounds& bounds) override {
    bounds_ = bounds;
    for (const KernelPlan& plan : program_.kernels) {
      schedules_.push_back(ScheduleOnCpu(plan, target_.traits));
      backend::BoundVersions(bounds, schedules_.back().versions, dropped_[schedules_.size() - 1]);
    }
    SetKernels();
    return absl::OkStatus();
  }

  std::string SchedulesText() const override {
    std::string all;
    for (const host::EmittedKernel& kernel : kernels_) {
      absl::StrAppend(&all, kernel.symbol, " ", kernel.plan->name, "\n", kernel.plan->Text(),
                      kernel.on_host().schedule->Text(), "\n");
    }
    return all;
  }

  // One module per group of kernels; the last module is the host program.
  int modules() const override { return static_cast<int>(objects_.size()); }

  absl::Status Emit(int number) override {
    const bool is_host = number == static_cast<int>(kernel_modules_.size());
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>(is_host ? "host" : "kernels", context);
    if (is_host) {
      TAILOR_ASSIGN_OR_RETURN(host_,
                              host::EmitHostPrograms(program_.programs, kernels_, host::KernelPlace::kHost, *module));
    } else {
      TAILOR_RETURN_IF_ERROR(EmitKernels(kernel_modules_[number], *module));
    }
    return CompileObject(number, std::move(module));
  }

  // While the image exceeds the size bound: drops versions and returns the modules to emit again. Empty: done.
  absl::StatusOr<std::vector<int>> Link(CompiledVariant* variant) override {
    TAILOR_ASSIGN_OR_RETURN(Image image, LinkImage(objects_, backend::HostEntries()));
    TAILOR_ASSIGN_OR_RETURN(const std::vector<backend::KernelCode> codes, ReadCode());
    const auto shrunk = backend::BoundCode(bounds_, image.bytes.size(), codes, schedules_, dropped_);
    if (!shrunk.ok()) {
      return absl::Status(shrunk.status().code(), absl::StrCat(target_.name, ": ", shrunk.status().message()));
    }
    if (shrunk->empty()) {
      *variant = Describe(std::move(image), codes);
      return std::vector<int>();
    }
    SetKernels();
    return ModulesOf(*shrunk);
  }

 private:
  // Rebuilds kernels_ from the current schedules.
  void SetKernels() {
    kernels_.clear();
    for (size_t i = 0; i < program_.kernels.size(); ++i) {
      kernels_.push_back(host::KernelOnHost(absl::StrCat("k", i), &program_.kernels[i], &schedules_[i]));
    }
  }

  absl::Status EmitKernels(const backend::ModuleKernels& kernels, llvm::Module& module) const {
    const EmitTarget target = EmitTarget::Of(target_.traits);
    if (target_.traits.half_conversions) SetHalfConversions(module);
    for (int i : kernels) {
      const host::EmittedKernel& kernel = kernels_[i];
      TAILOR_RETURN_IF_ERROR(EmitOnCpu(*kernel.plan, *kernel.on_host().schedule, target, kernel.symbol, module));
    }
    return absl::OkStatus();
  }

  absl::Status CompileObject(int number, std::unique_ptr<llvm::Module> module) {
    TAILOR_ASSIGN_OR_RETURN(auto machine, MakeTargetMachine(target_));
    const std::string name = module->getName().str();
    ModuleText text;
    ModuleText* wanted = DumpWanted() ? &text : nullptr;
    TAILOR_ASSIGN_OR_RETURN(objects_[number], CompileModule(std::move(module), *machine, wanted));
    TAILOR_RETURN_IF_ERROR(DumpPass(target_.name, number, absl::StrCat(name, ".ll"), text.ir));
    return DumpPass(target_.name, number, absl::StrCat(name, ".s"), text.assembly);
  }

  // The modules that hold any of `kernels`, and the host program's module, which refers to their versions.
  std::vector<int> ModulesOf(const std::vector<int>& kernels) const {
    std::vector<int> numbers;
    for (int number = 0; number < static_cast<int>(kernel_modules_.size()); ++number) {
      const backend::ModuleKernels& held = kernel_modules_[number];
      const bool holds = std::any_of(held.begin(), held.end(), [&](int kernel) {
        return std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
      });
      if (holds) numbers.push_back(number);
    }
    numbers.push_back(static_cast<int>(kernel_modules_.size()));
    return numbers;
  }

  absl::StatusOr<std::vector<backend::KernelCode>> ReadCode() const {
    std::vector<backend::KernelCode> codes(kernels_.size());
    for (const auto& object : objects_) TAILOR_RETURN_IF_ERROR(backend::ReadKernelCode(*object, &codes));
    return codes;
  }

  // Bytes of RtApi that the host program uses.
  uint64_t ApiSize() const {
    if (host_.offers_products) return offsetof(RtApi, gemm) + sizeof(RtApi::gemm);
    if (host_.growable_blocks > 0) return offsetof(RtApi, block) + sizeof(RtApi::block);
    return offsetof(RtApi, trace) + sizeof(RtApi::trace);
  }

  CompiledVariant Describe(Image image, const std::vector<backend::KernelCode>& codes) const {
    CompiledVariant compiled = backend::DescribeVariant(program_, kernels_, dropped_, host_, std::move(image));
    Variant& variant = compiled.variant;
    variant.target = target_.name;
    variant.features = target_.features;
    variant.api_size = ApiSize();
    for (const backend::KernelCode& code : codes) variant.kernel_bytes.push_back(code.all);
    const bool chooses = std::any_of(schedules_.begin(), schedules_.end(),
                                     [](const tailor::Schedule& schedule) { return schedule.tile.chooses; });
    if (chooses) {
      variant.costs = BuiltInCostProfile(target_.level);
      variant.machine_costs = BuiltInMachineCosts(target_.level);
    }
    return compiled;
  }

  const lower::LoweredProgram& program_;
  const CpuTarget target_;
  const std::vector<backend::ModuleKernels> kernel_modules_;
  backend::CodeBounds bounds_;
  std::vector<tailor::Schedule> schedules_;                   // by kernel
  std::vector<backend::DroppedVersions> dropped_;             // by kernel
  std::vector<host::EmittedKernel> kernels_;                  // by kernel
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects_;  // by module
  host::HostEmission host_;
};

// Each target once; the most demanding targets first.
absl::StatusOr<std::vector<CpuTarget>> FindTargets(const std::vector<std::string>& names) {
  std::vector<CpuTarget> targets;
  for (const std::string& name : names) {
    TAILOR_ASSIGN_OR_RETURN(CpuTarget target, name == "host" ? HostCpuTarget() : FindCpuTarget(name));
    const bool known =
        std::any_of(targets.begin(), targets.end(), [&](const auto& t) { return t.name == target.name; });
    if (!known) targets.push_back(std::move(target));
  }
  std::stable_sort(targets.begin(), targets.end(),
                   [](const CpuTarget& a, const CpuTarget& b) { return a.features.size() > b.features.size(); });
  return targets;
}

bool MultipliesBF16(const lower::LoweredProgram& lowered) {
  return std::any_of(lowered.kernels.begin(), lowered.kernels.end(), [](const KernelPlan& plan) {
    return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                       [](const Buffer& buffer) { return buffer.layout == ConstantLayout::kPairPanels16; });
  });
}

class CpuBackend final : public backend::Backend {
 public:
  explicit CpuBackend(std::vector<CpuTarget> targets) : targets_(std::move(targets)) {}

  TargetTraits Traits() const override { return targets_.front().traits; }

  // Drops bf16 levels for a program without bf16 matmuls, which gains nothing from them.
  absl::Status KeepTargetsFor(const lower::LoweredProgram& program) override {
    if (MultipliesBF16(program)) return absl::OkStatus();
    std::vector<std::string> names;
    for (const CpuTarget& target : targets_) {
      const bool level = std::any_of(CpuLevels().begin(), CpuLevels().end(),
                                     [&](const CpuTarget& known) { return known.name == target.name; });
      names.push_back(level ? target.level : target.name);
    }
    TAILOR_ASSIGN_OR_RETURN(targets_, FindTargets(names));
    return absl::OkStatus();
  }

  std::vector<std::string> Targets() const override {
    std::vector<std::string> names;
    for (const CpuTarget& target : targets_) names.push_back(target.name);
    return names;
  }

  backend::MemoryEstimate Estimate(const lower::LoweredProgram& program) const override {
    constexpr uint64_t kThreadBytes = 16 << 20;  // one module, and the thread's stack
    return backend::EstimateMemory(program, targets_.size(), kThreadBytes);
  }

  std::vector<std::unique_ptr<backend::TargetBuild>> Start(const lower::LoweredProgram& program) const override {
    std::vector<std::unique_ptr<backend::TargetBuild>> builds;
    for (const CpuTarget& target : targets_) builds.push_back(std::make_unique<CpuBuild>(program, target));
    return builds;
  }

 private:
  std::vector<CpuTarget> targets_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> MakeCpuBackend(const std::vector<std::string>& names) {
  TAILOR_ASSIGN_OR_RETURN(std::vector<CpuTarget> targets, FindTargets(names));
  return std::make_unique<CpuBackend>(std::move(targets));
}

}  // namespace tailor::cpu
