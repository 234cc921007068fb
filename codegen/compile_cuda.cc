#include "codegen/compile_cuda.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/device_images.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/lighten_schedule.h"
#include "codegen/emit_host.h"
#include "codegen/kernel_modules.h"
#include "codegen/scalar_emitter.h"
#include "exec/host_abi.h"
#include "fusion/dump.h"
#include "graph/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tailor {
namespace {

// One target's share of a compilation.
struct Build {
  CudaTarget target;
  std::vector<CudaSchedule> schedules;   // by kernel
  std::vector<DroppedVersions> dropped;  // by kernel
  std::vector<EmittedKernel> kernels;    // by kernel
};

absl::Status WithTarget(const CudaTarget& target, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(target.name, ": ", status.message()));
}

EmittedKernel KernelOnDevice(std::string symbol, const KernelPlan* plan, const CudaSchedule& schedule, int first) {
  EmittedKernel kernel{.symbol = std::move(symbol), .plan = plan, .first_on_device = first};
  for (const CudaVersion& version : schedule.versions) {
    kernel.versions.push_back({.guards = version.version.guards,
                               .tasks = version.blocks,
                               .grain = version.shared_bytes,
                               .scratch_bytes = version.scratch_bytes,
                               .together = version.together,
                               .resident_blocks = version.persistent ? version.resident_blocks : 0,
                               .clocks = version.clocks,
                               .parts = version.parts});
  }
  return kernel;
}

// What the host program is to know of the schedules.
void NameKernels(const LoweredProgram& program, Build& build) {
  build.kernels.clear();
  int versions = 0;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const CudaSchedule& schedule = build.schedules[i];
    build.kernels.push_back(KernelOnDevice(absl::StrCat("k", i), &program.kernels[i], schedule, versions));
    versions += static_cast<int>(schedule.versions.size());
  }
}

absl::StatusOr<Build> StartBuild(const LoweredProgram& program, const CudaTarget& target, const CodeBounds& bounds) {
  Build build{target};
  for (const KernelPlan& plan : program.kernels) {
    TAILOR_ASSIGN_OR_RETURN(CudaSchedule schedule, ScheduleOnCuda(plan, target.traits));
    BoundVersions(bounds, schedule, build.dropped.emplace_back());
    build.schedules.push_back(std::move(schedule));
  }
  NameKernels(program, build);
  return build;
}

absl::Status DumpSchedules(const Build& build) {
  if (!DumpWanted()) return absl::OkStatus();
  std::string all;
  for (size_t i = 0; i < build.kernels.size(); ++i) {
    absl::StrAppend(&all, build.kernels[i].symbol, " ", build.kernels[i].plan->name, "\n",
                    build.kernels[i].plan->Text(), build.schedules[i].Text(), "\n");
  }
  return DumpPass(build.target.name, 0, "schedules", all);
}

absl::StatusOr<DeviceImages> TryImages(const LoweredProgram& program, const Build& build, int threads,
                                       const std::function<absl::Status(double)>& report) {
  const std::vector<ModuleKernels> modules = SplitIntoModules(program.kernels);
  const auto emit = [&](const CudaTarget&, int number, llvm::Module& module) {
    for (int i : modules[number]) {
      TAILOR_RETURN_IF_ERROR(EmitOnCuda(program.kernels[i], build.schedules[i], build.kernels[i].symbol, module));
    }
    return absl::OkStatus();
  };
  return MakeDeviceImages(static_cast<int>(modules.size()), emit, {&build.target, 1},
                          {.threads = threads, .list_spills = true, .report = report});
}

// Whether others compute whatever `version` does, with fewer registers.
bool HasLighterSibling(const CudaVersion& version) {
  return version.shape == CudaVersion::Shape::kProductTile && version.together;
}

// Takes lighter versions where `spills` tell of some, or leaves them out, and says so among those that were dropped.
absl::Status LightenVersions(const std::vector<AssemblerProblem>& spills, Build& build) {
  bool any = false;
  for (size_t i = 0; i < build.schedules.size(); ++i) {
    std::vector<CudaVersion>& versions = build.schedules[i].versions;
    for (size_t v = versions.size(); v-- > 0;) {
      const std::string name = absl::StrCat(build.kernels[i].symbol, "_v", v);
      const auto spill = std::find_if(spills.begin(), spills.end(),
                                      [&](const AssemblerProblem& problem) { return problem.kernel == name; });
      if (spill == spills.end()) continue;
      any = true;
      CudaVersion& version = versions[v];
      build.dropped[i].push_back(absl::StrCat(VersionText(version.version), ": ", version.ShapeText(), ", threads ",
                                              version.threads, " (its registers spill)"));
      if (HasLighterSibling(version)) {
        versions.erase(versions.begin() + static_cast<std::ptrdiff_t>(v));
      } else if (!Lighten(version)) {
        return ToStatus({*spill});
      }
    }
  }
  return any ? absl::OkStatus() : ToStatus(spills);
}

// Until no kernel spills: each turn makes all images anew, which few programs need.
absl::StatusOr<DeviceImages> MakeImages(const LoweredProgram& program, Build& build, int threads,
                                        const std::function<absl::Status(double)>& report) {
  double most = 0;  // what is done is not undone
  const auto rising = [&](double done) { return report(most = std::max(most, done)); };
  for (;;) {
    TAILOR_RETURN_IF_ERROR(DumpSchedules(build));
    TAILOR_ASSIGN_OR_RETURN(DeviceImages images, TryImages(program, build, threads, rising));
    if (images.spills.empty()) return images;
    TAILOR_RETURN_IF_ERROR(LightenVersions(images.spills, build));
    NameKernels(program, build);
  }
}

std::vector<DeviceKernel> DescribeKernels(const LoweredProgram& program, const Build& build) {
  std::vector<DeviceKernel> kernels;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const int slots = ArgumentSlots(program.kernels[i]);
    for (size_t v = 0; v < build.schedules[i].versions.size(); ++v) {
      const CudaVersion& version = build.schedules[i].versions[v];
      kernels.push_back({absl::StrCat(build.kernels[i].symbol, "_v", v), version.threads,
                         slots + (version.together ? kMeetingSlots : 0), version.maps});
    }
  }
  return kernels;
}

absl::StatusOr<CompiledVariant> CompileVariant(const LoweredProgram& program, Build& build, int threads,
                                               const std::function<absl::Status(double)>& report) {
  TAILOR_ASSIGN_OR_RETURN(DeviceImages images, MakeImages(program, build, threads, report));
  const CpuTarget& level = CpuLevels().front();
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("host", context);
  TAILOR_ASSIGN_OR_RETURN(const HostEmission host,
                          EmitHostPrograms(program.programs, build.kernels, KernelPlace::kDevice, *module));
  TAILOR_ASSIGN_OR_RETURN(auto machine, MakeTargetMachine(level));
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(1);
  TAILOR_ASSIGN_OR_RETURN(objects[0], CompileModule(std::move(module), *machine));
  TAILOR_ASSIGN_OR_RETURN(Image image, LinkImage(objects, HostEntries()));

  CompiledVariant compiled = DescribeVariant(program, build.kernels, build.dropped, host, std::move(image));
  compiled.device_images = std::move(images.images);
  if (!build.target.is_emulated()) compiled.assembler = std::move(images.assembler);
  Variant& variant = compiled.variant;
  variant.target = build.target.name;
  variant.features = level.features;
  variant.api_size = host.offers_products ? offsetof(RtApi, product) + sizeof(RtApi::product)
                                          : offsetof(RtApi, block) + sizeof(RtApi::block);
  variant.fault_word = host.fault_word;
  variant.reads_back = host.reads_back;
  variant.device_kernels = DescribeKernels(program, build);
  return compiled;
}

bool IsPtx(const BuiltDeviceImage& image) { return image.kind == DeviceImageKind::kPtx; }

// Where a later variant has PTX too, an earlier one's serves no architecture of its own.
void KeepLastPtx(std::vector<CompiledVariant>& variants) {
  bool later = false;
  for (auto variant = variants.rbegin(); variant != variants.rend(); ++variant) {
    std::vector<BuiltDeviceImage>& images = variant->device_images;
    const bool has = std::any_of(images.begin(), images.end(), IsPtx);
    const bool only = std::all_of(images.begin(), images.end(), IsPtx);
    if (later && has && !only) images.erase(std::remove_if(images.begin(), images.end(), IsPtx), images.end());
    later |= has;
  }
}

}  // namespace

absl::StatusOr<std::vector<CompiledVariant>> CompileCudaVariants(const LoweredProgram& program,
                                                                 const std::vector<CudaTarget>& targets,
                                                                 const CodeBounds& bounds, int threads,
                                                                 const std::function<absl::Status(double)>& report) {
  std::vector<CompiledVariant> variants;
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto reporting = [&](double done) {
      return report((static_cast<double>(i) + done) / static_cast<double>(targets.size()));
    };
    auto build = StartBuild(program, targets[i], bounds);
    if (!build.ok()) return WithTarget(targets[i], build.status());
    auto variant = CompileVariant(program, *build, threads, reporting);
    if (!variant.ok()) return WithTarget(targets[i], variant.status());
    variants.push_back(*std::move(variant));
  }
  KeepLastPtx(variants);
  return variants;
}

}  // namespace tailor
