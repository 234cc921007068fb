#include "codegen/driver/compile_cuda.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/mend_schedule.h"
#include "codegen/cuda/ptx/device_images.h"
#include "codegen/driver/kernel_modules.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/jobs/job_pool.h"
#include "exec/host_abi.h"
#include "graph/dump.h"
#include "graph/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tailor::driver {
namespace {

// One target's share of a compilation.
struct CudaBuild {
  cuda::CudaTarget target;
  std::vector<cuda::CudaSchedule> schedules;      // by kernel
  std::vector<DroppedVersions> dropped;           // by kernel
  std::vector<std::map<int, std::string>> notes;  // by kernel: MendSchedule's
  std::vector<host::EmittedKernel> kernels;       // by kernel
};

absl::Status WithTarget(const cuda::CudaTarget& target, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(target.name, ": ", status.message()));
}

host::EmittedKernel KernelOnDevice(std::string symbol, const KernelPlan* plan, const cuda::CudaSchedule& schedule,
                                   int first) {
  host::EmittedKernel::OnDevice launches{first, {}};
  for (const cuda::CudaVersion& version : schedule.versions) {
    launches.versions.push_back({.guards = version.version.guards,
                                 .clocks = version.clocks,
                                 .blocks = version.blocks,
                                 .shared_bytes = version.shared_bytes,
                                 .scratch_bytes = version.scratch_bytes,
                                 .cooperative = version.cooperative,
                                 .resident_blocks = version.persistent ? version.resident_blocks : 0,
                                 .parts = version.parts});
  }
  return {std::move(symbol), plan, std::move(launches)};
}

// What the host program is to know of the schedules.
void NameKernels(const lower::LoweredProgram& program, CudaBuild& build) {
  build.kernels.clear();
  int versions = 0;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    const cuda::CudaSchedule& schedule = build.schedules[i];
    build.kernels.push_back(KernelOnDevice(absl::StrCat("k", i), &program.kernels[i], schedule, versions));
    versions += static_cast<int>(schedule.versions.size());
  }
}

absl::StatusOr<CudaBuild> StartBuild(const lower::LoweredProgram& program, const cuda::CudaTarget& target,
                                     const CodeBounds& bounds) {
  CudaBuild build{target};
  for (const KernelPlan& plan : program.kernels) {
    TAILOR_ASSIGN_OR_RETURN(cuda::CudaSchedule schedule, cuda::ScheduleOnCuda(plan, target.traits));
    BoundVersions(bounds, schedule, build.dropped.emplace_back());
    build.schedules.push_back(std::move(schedule));
  }
  build.notes.resize(program.kernels.size());
  NameKernels(program, build);
  return build;
}

absl::Status DumpSchedules(const CudaBuild& build) {
  if (!DumpWanted()) return absl::OkStatus();
  std::string all;
  for (size_t i = 0; i < build.kernels.size(); ++i) {
    absl::StrAppend(&all, build.kernels[i].symbol, " ", build.kernels[i].plan->name, "\n",
                    build.kernels[i].plan->Text(), build.schedules[i].Text(), "\n");
  }
  return DumpPass(build.target.name, 0, "schedules", all);
}

absl::StatusOr<cuda::DeviceImages> TryImages(const lower::LoweredProgram& program, const CudaBuild& build, int threads,
                                             const std::function<absl::Status(double)>& report) {
  const std::vector<ModuleKernels> modules = SplitIntoModules(program.kernels);
  const auto emit = [&](const cuda::CudaTarget&, int number, llvm::Module& module) {
    for (int i : modules[number]) {
      TAILOR_RETURN_IF_ERROR(cuda::EmitOnCuda(program.kernels[i], build.schedules[i], build.kernels[i].symbol, module));
    }
    return absl::OkStatus();
  };
  return cuda::MakeDeviceImages(static_cast<int>(modules.size()), emit, {&build.target, 1},
                                {.threads = threads, .report = report});
}

// Which version of kernel `symbol` the device's function `kernel` is: "k3_v1"; -1 where it is another kernel's.
int VersionOf(const std::string& symbol, absl::string_view kernel) {
  int version = -1;
  if (!absl::ConsumePrefix(&kernel, absl::StrCat(symbol, "_v")) || !absl::SimpleAtoi(kernel, &version)) return -1;
  return version;
}

// Whether a schedule has changed, so that kernels are to be made again.
bool Mend(const std::vector<cuda::AssemblerProblem>& problems, int turn, CudaBuild& build) {
  bool changed = false;
  for (size_t i = 0; i < build.schedules.size(); ++i) {
    cuda::VersionFaults faults;
    for (const cuda::AssemblerProblem& problem : problems) {
      const int version = VersionOf(build.kernels[i].symbol, problem.kernel);
      if (version >= 0) faults.emplace(version, problem);
    }
    changed |= cuda::MendSchedule(faults, turn, build.schedules[i], build.dropped[i], build.notes[i]);
  }
  return changed;
}

// Until the assembler finds no fault that can be mended: each turn makes all images anew, which few programs need.
absl::StatusOr<cuda::DeviceImages> MakeImages(const lower::LoweredProgram& program, CudaBuild& build, int threads,
                                              const std::function<absl::Status(double)>& report) {
  double most = 0;  // what is done is not undone
  const auto rising = [&](double done) { return report(most = std::max(most, done)); };
  for (int turn = 1;; ++turn) {
    TAILOR_RETURN_IF_ERROR(DumpSchedules(build));
    TAILOR_ASSIGN_OR_RETURN(cuda::DeviceImages images, TryImages(program, build, threads, rising));
    if (!Mend(images.images.front().problems, turn, build)) return images;
    NameKernels(program, build);
  }
}

std::vector<DeviceKernel> DescribeKernels(const lower::LoweredProgram& program, const CudaBuild& build) {
  std::vector<DeviceKernel> kernels;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    for (size_t v = 0; v < build.schedules[i].versions.size(); ++v) {
      const cuda::CudaVersion& version = build.schedules[i].versions[v];
      kernels.push_back({absl::StrCat(build.kernels[i].symbol, "_v", v), version.threads,
                         version.Signature(program.kernels[i]).slots(), version.maps});
    }
  }
  return kernels;
}

// Beside the versions that were kept though the assembler finds fault with them.
void AddNotes(const CudaBuild& build, Variant& variant) {
  for (ProgramLaunch& launch : variant.launches) {
    for (const auto& [version, note] : build.notes[launch.code]) {
      absl::StrAppend(&launch.versions[version], " (", note, ")");
    }
  }
}

struct HostPart {
  host::HostEmission host;
  Image image;
};

absl::StatusOr<HostPart> CompileHostPart(const lower::LoweredProgram& program, const CudaBuild& build,
                                         const CpuTarget& level) {
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("host", context);
  HostPart part;
  TAILOR_ASSIGN_OR_RETURN(part.host,
                          host::EmitHostPrograms(program.programs, build.kernels, host::KernelPlace::kDevice, *module));
  TAILOR_ASSIGN_OR_RETURN(auto machine, MakeTargetMachine(level));
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(1);
  TAILOR_ASSIGN_OR_RETURN(objects[0], CompileModule(std::move(module), *machine));
  TAILOR_ASSIGN_OR_RETURN(part.image, LinkImage(objects, HostEntries()));
  return part;
}

absl::StatusOr<CompiledVariant> CompileVariant(const lower::LoweredProgram& program, CudaBuild& build, int threads,
                                               const std::function<absl::Status(double)>& report) {
  TAILOR_ASSIGN_OR_RETURN(cuda::DeviceImages images, MakeImages(program, build, threads, report));
  const CpuTarget& level = CpuLevels().front();
  HostPart part;
  TAILOR_RETURN_IF_ERROR(RunJob([&]() -> absl::Status {
    TAILOR_ASSIGN_OR_RETURN(part, CompileHostPart(program, build, level));
    return absl::OkStatus();
  }));
  auto& [host, image] = part;
  CompiledVariant compiled = DescribeVariant(program, build.kernels, build.dropped, host, std::move(image));
  compiled.device_images = std::move(images.images);
  if (!build.target.is_emulated()) compiled.assembler = std::move(images.assembler);
  Variant& variant = compiled.variant;
  AddNotes(build, variant);
  variant.target = build.target.name;
  variant.features = level.features;
  variant.api_size = host.offers_products ? offsetof(RtApi, product) + sizeof(RtApi::product)
                                          : offsetof(RtApi, block) + sizeof(RtApi::block);
  variant.fault_word = host.fault_word;
  variant.reads_back = host.reads_back;
  variant.device_kernels = DescribeKernels(program, build);
  return compiled;
}

bool IsPtx(const cuda::BuiltDeviceImage& image) { return image.kind == DeviceImageKind::kPtx; }

// Where a later variant has PTX too, an earlier one's serves no architecture of its own.
void KeepLastPtx(std::vector<CompiledVariant>& variants) {
  bool later = false;
  for (auto variant = variants.rbegin(); variant != variants.rend(); ++variant) {
    std::vector<cuda::BuiltDeviceImage>& images = variant->device_images;
    const bool has = std::any_of(images.begin(), images.end(), IsPtx);
    const bool only = std::all_of(images.begin(), images.end(), IsPtx);
    if (later && has && !only) images.erase(std::remove_if(images.begin(), images.end(), IsPtx), images.end());
    later |= has;
  }
}

}  // namespace

absl::StatusOr<std::vector<CompiledVariant>> CompileCudaVariants(const lower::LoweredProgram& program,
                                                                 const std::vector<cuda::CudaTarget>& targets,
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

}  // namespace tailor::driver
