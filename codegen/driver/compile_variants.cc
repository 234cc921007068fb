#include "codegen/driver/compile_variants.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/driver/code_bounds.h"
#include "codegen/driver/kernel_modules.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/jobs/job_pool.h"
#include "codegen/scalar/scalar_ops_cast.h"
#include "exec/host_abi.h"
#include "graph/dump.h"
#include "graph/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tailor::driver {
namespace {

// One target's share of a compilation.
struct CpuBuild {
  CpuTarget target;
  std::vector<Schedule> schedules;                           // by kernel
  std::vector<DroppedVersions> dropped;                      // by kernel
  std::vector<host::EmittedKernel> kernels;                  // by kernel
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;  // by module; the host program's last
  host::HostEmission host;
};

// From the schedules as they are now.
void SetKernels(const lower::LoweredProgram& program, CpuBuild& build) {
  build.kernels.clear();
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    build.kernels.push_back(host::KernelOnHost(absl::StrCat("k", i), &program.kernels[i], &build.schedules[i]));
  }
}

CpuBuild StartBuild(const lower::LoweredProgram& program, const CpuTarget& target, const CodeBounds& bounds,
                    size_t modules) {
  CpuBuild build{target};
  build.dropped.resize(program.kernels.size());
  for (const KernelPlan& plan : program.kernels) {
    DroppedVersions& dropped = build.dropped[build.schedules.size()];
    build.schedules.push_back(cpu::ScheduleOnCpu(plan, target.traits));
    BoundVersions(bounds, build.schedules.back(), dropped);
  }
  SetKernels(program, build);
  build.objects.resize(modules + 1);
  return build;
}

absl::Status EmitKernels(const CpuBuild& build, const ModuleKernels& kernels, llvm::Module& module) {
  const EmitTarget target = EmitTarget::Of(build.target.traits);
  if (build.target.traits.half_conversions) SetHalfConversions(module);
  for (int i : kernels) {
    const host::EmittedKernel& kernel = build.kernels[i];
    TAILOR_RETURN_IF_ERROR(cpu::EmitOnCpu(*kernel.plan, *kernel.on_host().schedule, target, kernel.symbol, module));
  }
  return absl::OkStatus();
}

absl::Status Finish(CpuBuild& build, int number, std::unique_ptr<llvm::Module> module) {
  TAILOR_ASSIGN_OR_RETURN(auto machine, MakeTargetMachine(build.target));
  const std::string name = module->getName().str();
  ModuleText text;
  ModuleText* wanted = DumpWanted() ? &text : nullptr;
  TAILOR_ASSIGN_OR_RETURN(build.objects[number], CompileModule(std::move(module), *machine, wanted));
  TAILOR_RETURN_IF_ERROR(DumpPass(build.target.name, number, absl::StrCat(name, ".ll"), text.ir));
  return DumpPass(build.target.name, number, absl::StrCat(name, ".s"), text.assembly);
}

absl::Status DumpSchedules(const CpuBuild& build) {
  if (!DumpWanted()) return absl::OkStatus();
  std::string all;
  for (const host::EmittedKernel& kernel : build.kernels) {
    absl::StrAppend(&all, kernel.symbol, " ", kernel.plan->name, "\n", kernel.plan->Text(),
                    kernel.on_host().schedule->Text(), "\n");
  }
  return DumpPass(build.target.name, 0, "schedules", all);
}

// How much of RtApi the host program calls.
uint64_t ApiSize(const CpuBuild& build) {
  if (build.host.offers_products) return offsetof(RtApi, product) + sizeof(RtApi::product);
  if (build.host.grown_blocks > 0) return offsetof(RtApi, block) + sizeof(RtApi::block);
  return offsetof(RtApi, trace) + sizeof(RtApi::trace);
}

bool ChoosesCuts(const CpuBuild& build) {
  return std::any_of(build.schedules.begin(), build.schedules.end(),
                     [](const Schedule& schedule) { return schedule.tile.chooses; });
}

absl::StatusOr<std::vector<KernelCode>> ReadCode(const CpuBuild& build) {
  std::vector<KernelCode> codes(build.kernels.size());
  for (const auto& object : build.objects) TAILOR_RETURN_IF_ERROR(ReadKernelCode(*object, &codes));
  return codes;
}

CompiledVariant Describe(const lower::LoweredProgram& program, const CpuBuild& build, Image image,
                         const std::vector<KernelCode>& codes) {
  CompiledVariant compiled = DescribeVariant(program, build.kernels, build.dropped, build.host, std::move(image));
  Variant& variant = compiled.variant;
  variant.target = build.target.name;
  variant.features = build.target.features;
  variant.api_size = ApiSize(build);
  for (const KernelCode& code : codes) variant.kernel_bytes.push_back(code.all);
  if (ChoosesCuts(build)) {
    variant.costs = BuiltInCostProfile(build.target.level);
    variant.machine_costs = BuiltInMachineCosts(build.target.level);
  }
  return compiled;
}

// Emits module `number` of `build` anew: kernels, or, after them, the host program.
absl::Status EmitModule(const lower::LoweredProgram& program, const std::vector<ModuleKernels>& modules, int number,
                        CpuBuild& build) {
  const bool host = number == static_cast<int>(modules.size());
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>(host ? "host" : "kernels", context);
  if (host) {
    TAILOR_ASSIGN_OR_RETURN(build.host,
                            host::EmitHostPrograms(program.programs, build.kernels, host::KernelPlace::kHost, *module));
  } else {
    TAILOR_RETURN_IF_ERROR(EmitKernels(build, modules[number], *module));
  }
  return Finish(build, number, std::move(module));
}

// The modules that hold any of `kernels`, and the host program's, which knows their versions.
std::vector<int> ModulesOf(const std::vector<ModuleKernels>& modules, const std::vector<int>& kernels) {
  std::vector<int> numbers;
  for (int number = 0; number < static_cast<int>(modules.size()); ++number) {
    const bool holds = std::any_of(modules[number].begin(), modules[number].end(), [&](int kernel) {
      return std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
    });
    if (holds) numbers.push_back(number);
  }
  numbers.push_back(static_cast<int>(modules.size()));
  return numbers;
}

// Links, and emits again with fewer versions as long as the image is above the bound.
absl::StatusOr<CompiledVariant> LinkWithin(const CodeBounds& bounds, const lower::LoweredProgram& program,
                                           const std::vector<ModuleKernels>& modules, CpuBuild& build) {
  for (;;) {
    TAILOR_ASSIGN_OR_RETURN(Image image, LinkImage(build.objects, HostEntries()));
    TAILOR_ASSIGN_OR_RETURN(const std::vector<KernelCode> codes, ReadCode(build));
    const auto shrunk = BoundCode(bounds, image.bytes.size(), codes, build.schedules, build.dropped);
    if (!shrunk.ok()) {
      return absl::Status(shrunk.status().code(), absl::StrCat(build.target.name, ": ", shrunk.status().message()));
    }
    if (shrunk->empty()) return Describe(program, build, std::move(image), codes);
    SetKernels(program, build);
    for (int number : ModulesOf(modules, *shrunk)) {
      TAILOR_RETURN_IF_ERROR(EmitModule(program, modules, number, build));
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<CompiledVariant>> CompileVariants(const lower::LoweredProgram& program,
                                                             const std::vector<CpuTarget>& targets,
                                                             const CodeBounds& bounds, int threads,
                                                             const std::function<absl::Status(double)>& report) {
  const std::vector<ModuleKernels> modules = SplitIntoModules(program.kernels);
  const int jobs_per_target = static_cast<int>(modules.size()) + 1;
  std::vector<CpuBuild> builds;
  for (const CpuTarget& target : targets) {
    builds.push_back(StartBuild(program, target, bounds, modules.size()));
    TAILOR_RETURN_IF_ERROR(DumpSchedules(builds.back()));
  }
  const auto emit_module = [&](int job) {
    return EmitModule(program, modules, job % jobs_per_target, builds[job / jobs_per_target]);
  };
  TAILOR_RETURN_IF_ERROR(RunJobs(threads, static_cast<int>(builds.size()) * jobs_per_target, emit_module, report));
  std::vector<CompiledVariant> variants(builds.size());
  const auto link = [&](int i) -> absl::Status {
    TAILOR_ASSIGN_OR_RETURN(variants[i], LinkWithin(bounds, program, modules, builds[i]));
    return absl::OkStatus();
  };
  TAILOR_RETURN_IF_ERROR(
      RunJobs(threads, static_cast<int>(builds.size()), link, [](double) { return absl::OkStatus(); }));
  return variants;
}

}  // namespace tailor::driver
