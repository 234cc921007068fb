#include "codegen/compile_variants.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/emit_cpu.h"
#include "codegen/emit_host.h"
#include "codegen/job_pool.h"
#include "exec/host_abi.h"
#include "fusion/dump.h"
#include "graph/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tailor {
namespace {

// Kernels (by index) that one module holds. A product, or a chain of them, is a module of its own: it takes longest.
using ModuleKernels = std::vector<int>;

std::vector<ModuleKernels> SplitIntoModules(const std::vector<KernelPlan>& kernels) {
  constexpr size_t kLoopsPerModule = 4;
  std::vector<ModuleKernels> products, loops;
  for (int i = 0; i < static_cast<int>(kernels.size()); ++i) {
    if (kernels[i].contraction || !kernels[i].links.empty()) {
      products.push_back({i});
    } else {
      if (loops.empty() || loops.back().size() == kLoopsPerModule) loops.emplace_back();
      loops.back().push_back(i);
    }
  }
  products.insert(products.end(), loops.begin(), loops.end());
  return products;
}

// One target's share of a compilation.
struct Build {
  CpuTarget target;
  std::vector<Schedule> schedules;                           // by kernel
  std::vector<EmittedKernel> kernels;                        // by kernel
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;  // by module; the host program's last
  HostEmission host;
};

Build StartBuild(const LoweredProgram& program, const CpuTarget& target, size_t modules) {
  Build build{target};
  for (const KernelPlan& plan : program.kernels) {
    build.schedules.push_back(ScheduleOnCpu(plan, target.traits));
  }
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    build.kernels.push_back({absl::StrCat("k", i), &program.kernels[i], &build.schedules[i]});
  }
  build.objects.resize(modules + 1);
  return build;
}

absl::Status EmitKernels(const Build& build, const ModuleKernels& kernels, llvm::Module& module) {
  const EmitTarget target = EmitTarget::Of(build.target.traits);
  for (int i : kernels) {
    const EmittedKernel& kernel = build.kernels[i];
    TAILOR_RETURN_IF_ERROR(EmitOnCpu(*kernel.plan, *kernel.schedule, target, kernel.symbol, module));
  }
  return absl::OkStatus();
}

absl::Status Finish(Build& build, int number, std::unique_ptr<llvm::Module> module) {
  TAILOR_ASSIGN_OR_RETURN(auto machine, MakeTargetMachine(build.target));
  const std::string name = module->getName().str();
  ModuleText text;
  ModuleText* wanted = DumpWanted() ? &text : nullptr;
  TAILOR_ASSIGN_OR_RETURN(build.objects[number], CompileModule(std::move(module), *machine, wanted));
  TAILOR_RETURN_IF_ERROR(DumpPass(build.target.name, number, absl::StrCat(name, ".ll"), text.ir));
  return DumpPass(build.target.name, number, absl::StrCat(name, ".s"), text.assembly);
}

absl::Status DumpSchedules(const Build& build) {
  if (!DumpWanted()) return absl::OkStatus();
  std::string all;
  for (const EmittedKernel& kernel : build.kernels) {
    absl::StrAppend(&all, kernel.symbol, " ", kernel.plan->name, "\n", kernel.plan->Text(),
                    kernel.schedule->Text(*kernel.plan), "\n");
  }
  return DumpPass(build.target.name, 0, "schedules", all);
}

std::vector<ProgramLaunch> DescribeLaunches(const LoweredProgram& program, const Build& build) {
  std::vector<ProgramLaunch> launches;
  for (const HostProgram& host : program.programs) {
    for (const Launch& launch : host.launches) {
      ProgramLaunch described{launch.name, {}};
      for (const Version& version : build.schedules[launch.kernel].versions) {
        described.versions.push_back(VersionText(version));
      }
      launches.push_back(std::move(described));
    }
  }
  return launches;
}

absl::StatusOr<CompiledVariant> Link(const LoweredProgram& program, Build build) {
  CompiledVariant compiled;
  TAILOR_ASSIGN_OR_RETURN(compiled.image, LinkImage(std::move(build.objects), {"tailor_run", "tailor_plan"}));
  Variant& variant = compiled.variant;
  variant.target = build.target.name;
  variant.features = build.target.features;
  variant.image = compiled.image.bytes;
  variant.run_offset = compiled.image.symbols["tailor_run"];
  variant.plan_offset = compiled.image.symbols["tailor_plan"];
  variant.memo_slots = build.host.memo_slots;
  variant.grown_blocks = build.host.grown_blocks;
  variant.api_size = build.host.grown_blocks > 0 ? offsetof(RtApi, block) + sizeof(RtApi::block)
                                                 : offsetof(RtApi, trace) + sizeof(RtApi::trace);
  variant.context_size = sizeof(RtContext);
  variant.launches = DescribeLaunches(program, build);
  return compiled;
}

}  // namespace

absl::StatusOr<std::vector<CompiledVariant>> CompileVariants(const LoweredProgram& program,
                                                             const std::vector<CpuTarget>& targets, int threads,
                                                             const std::function<absl::Status(double)>& report) {
  const std::vector<ModuleKernels> modules = SplitIntoModules(program.kernels);
  const int host_module = static_cast<int>(modules.size());
  const int jobs_per_target = host_module + 1;
  std::vector<Build> builds;
  for (const CpuTarget& target : targets) {
    builds.push_back(StartBuild(program, target, modules.size()));
    TAILOR_RETURN_IF_ERROR(DumpSchedules(builds.back()));
  }
  const auto emit_module = [&](int job) -> absl::Status {
    Build& build = builds[job / jobs_per_target];
    const int number = job % jobs_per_target;
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>(number == host_module ? "host" : "kernels", context);
    if (number == host_module) {
      TAILOR_ASSIGN_OR_RETURN(build.host, EmitHostPrograms(program.programs, build.kernels, *module));
    } else {
      TAILOR_RETURN_IF_ERROR(EmitKernels(build, modules[number], *module));
    }
    return Finish(build, number, std::move(module));
  };
  TAILOR_RETURN_IF_ERROR(RunJobs(threads, static_cast<int>(builds.size()) * jobs_per_target, emit_module, report));
  std::vector<CompiledVariant> variants;
  for (Build& build : builds) {
    TAILOR_ASSIGN_OR_RETURN(CompiledVariant variant, Link(program, std::move(build)));
    variants.push_back(std::move(variant));
  }
  return variants;
}

}  // namespace tailor
