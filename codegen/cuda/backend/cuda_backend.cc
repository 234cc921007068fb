#include "codegen/cuda/backend/cuda_backend.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "codegen/backend/kernel_modules.h"
#include "codegen/cuda/backend/retry_on_spill.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/device_images.h"
#include "codegen/cuda/schedule/rank_versions.h"
#include "codegen/host/emit/emit_host.h"
#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "exec/host_abi.h"
#include "graph/dump.h"
#include "graph/status_macros.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace tailor::cuda {
namespace {

using backend::CompiledVariant;

host::EmittedKernel KernelOnDevice(std::string symbol, const KernelPlan* plan, const CudaSchedule& schedule,
                                   int first) {
  host::EmittedKernel::OnDevice launches{first, {}};
  for (const CudaVersion& version : schedule.versions) {
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

// The version number of device function `kernel` ("k3_v1") if it belongs to kernel `symbol` ("k3"); else -1.
int VersionOf(const std::string& symbol, absl::string_view kernel) {
  int version = -1;
  if (!absl::ConsumePrefix(&kernel, absl::StrCat(symbol, "_v")) || !absl::SimpleAtoi(kernel, &version)) return -1;
  return version;
}

class CudaBuild final : public backend::TargetBuild {
 public:
  CudaBuild(const lower::LoweredProgram& program, const CudaTarget& target)
      : program_(program),
        target_(target),
        kernel_modules_(backend::SplitIntoModules(program.kernels)),
        dropped_(program.kernels.size()),
        notes_(program.kernels.size()),
        modules_(kernel_modules_.size()) {}

  absl::Status Schedule(const backend::CodeBounds& bounds) override {
    bounds_ = bounds;
    for (size_t i = 0; i < program_.kernels.size(); ++i) {
      TAILOR_ASSIGN_OR_RETURN(schedules_.emplace_back(), ScheduleKernel(i, target_.traits));
    }
    SetKernels();
    return absl::OkStatus();
  }

  std::string SchedulesText() const override {
    std::string all;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      absl::StrAppend(&all, kernels_[i].symbol, " ", kernels_[i].plan->name, "\n", kernels_[i].plan->Text(),
                      schedules_[i].Text(), "\n");
    }
    return all;
  }

  int modules() const override { return static_cast<int>(kernel_modules_.size()); }

  absl::Status Emit(int number) override {
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>(absl::StrCat("kernels", number), context);
    for (int i : kernel_modules_[number]) {
      const absl::Status status = EmitOnCuda(program_.kernels[i], schedules_[i], kernels_[i].symbol, *module);
      if (!status.ok()) return WithTarget(status);
    }
    auto compiled = CompileDeviceModule(std::move(module), target_);
    if (!compiled.ok()) return WithTarget(compiled.status());
    modules_[number] = *std::move(compiled);
    if (target_.is_emulated()) return absl::OkStatus();
    return DumpPass(target_.name, number, "kernels.ptx", modules_[number]);
  }

  // Repeats until the assembler reports no problem that can be retried. Each turn rebuilds all modules; few programs
  // need one.
  absl::StatusOr<std::vector<int>> Link(CompiledVariant* variant) override {
    auto images = MakeDeviceImages(modules_, target_);
    if (!images.ok()) return WithTarget(images.status());
    TAILOR_ASSIGN_OR_RETURN(const bool again, Retry(images->problems));
    if (again) {
      SetKernels();
      std::vector<int> all(modules_.size());
      for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
      return all;
    }
    auto linked = LinkHost();
    if (!linked.ok()) return WithTarget(linked.status());
    *variant = *std::move(linked);
    for (DeviceImages::Image& image : images->images) {
      variant->device_images.push_back({target_.name, image.kind, std::move(image.bytes)});
    }
    variant->assembler = std::move(images->assembler);
    return std::vector<int>();
  }

 private:
  absl::Status WithTarget(const absl::Status& status) const {
    return absl::Status(status.code(), absl::StrCat(target_.name, ": ", status.message()));
  }

  absl::StatusOr<CudaSchedule> ScheduleKernel(size_t i, const TargetTraits& traits) {
    auto schedule = ScheduleOnCuda(program_.kernels[i], traits);
    if (!schedule.ok()) return WithTarget(schedule.status());
    DropByClocks(program_.kernels[i], bounds_.versions, *schedule, dropped_[i]);
    backend::BoundVersions(bounds_, schedule->versions, dropped_[i]);
    return *std::move(schedule);
  }

  // Rebuilds kernels_, what the host program knows of the current schedules.
  void SetKernels() {
    kernels_.clear();
    int versions = 0;
    for (size_t i = 0; i < program_.kernels.size(); ++i) {
      kernels_.push_back(KernelOnDevice(absl::StrCat("k", i), &program_.kernels[i], schedules_[i], versions));
      versions += static_cast<int>(schedules_[i].versions.size());
    }
  }

  // Returns whether a schedule has changed, so that kernels must be rebuilt.
  absl::StatusOr<bool> Retry(const std::vector<AssemblerProblem>& problems) {
    ++turn_;
    bool changed = false;
    for (size_t i = 0; i < schedules_.size(); ++i) {
      VersionFaults faults;
      for (const AssemblerProblem& problem : problems) {
        const int version = VersionOf(kernels_[i].symbol, problem.kernel);
        if (version >= 0) faults.emplace(version, problem);
      }
      if (turn_ < kAssemblingTurns && IsSerialised(faults, schedules_[i])) {
        NoteDropped(faults, schedules_[i], dropped_[i]);
        TargetTraits traits = target_.traits;
        traits.warpgroup_matmuls = false;
        TAILOR_ASSIGN_OR_RETURN(schedules_[i], ScheduleKernel(i, traits));
        changed = true;
        continue;
      }
      changed |= RetryOnSpill(faults, turn_, schedules_[i], dropped_[i], notes_[i]);
    }
    return changed;
  }

  // The variant without its device images.
  absl::StatusOr<CompiledVariant> LinkHost() const {
    const CpuTarget& level = CpuLevels().front();
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("host", context);
    TAILOR_ASSIGN_OR_RETURN(const host::HostEmission host,
                            host::EmitHostPrograms(program_.programs, kernels_, host::KernelPlace::kDevice, *module));
    TAILOR_ASSIGN_OR_RETURN(auto machine, MakeTargetMachine(level));
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects(1);
    TAILOR_ASSIGN_OR_RETURN(objects[0], CompileModule(std::move(module), *machine));
    TAILOR_ASSIGN_OR_RETURN(Image image, LinkImage(objects, backend::HostEntries()));

    CompiledVariant compiled = backend::DescribeVariant(program_, kernels_, dropped_, host, std::move(image));
    Variant& variant = compiled.variant;
    AddNotes(variant);
    variant.target = target_.name;
    variant.features = level.features;
    variant.fault_word = host.fault_word;
    variant.reads_back = host.reads_back;
    variant.device_kernels = DescribeKernels();
    return compiled;
  }

  // Annotates the versions that were kept despite assembler problems.
  void AddNotes(Variant& variant) const {
    for (ProgramLaunch& launch : variant.launches) {
      for (const auto& [version, note] : notes_[launch.code]) {
        absl::StrAppend(&launch.versions[version], " (", note, ")");
      }
    }
  }

  std::vector<DeviceKernel> DescribeKernels() const {
    std::vector<DeviceKernel> kernels;
    for (size_t i = 0; i < program_.kernels.size(); ++i) {
      for (size_t v = 0; v < schedules_[i].versions.size(); ++v) {
        const CudaVersion& version = schedules_[i].versions[v];
        kernels.push_back({absl::StrCat(kernels_[i].symbol, "_v", v), version.threads,
                           version.Signature(program_.kernels[i]).slots(), version.maps});
      }
    }
    return kernels;
  }

  const lower::LoweredProgram& program_;
  const CudaTarget target_;
  const std::vector<backend::ModuleKernels> kernel_modules_;
  backend::CodeBounds bounds_;
  std::vector<CudaSchedule> schedules_;            // by kernel
  std::vector<backend::DroppedVersions> dropped_;  // by kernel
  std::vector<std::map<int, std::string>> notes_;  // by kernel: RetryOnSpill's
  std::vector<host::EmittedKernel> kernels_;       // by kernel
  std::vector<std::string> modules_;               // CompileDeviceModule's
  int turn_ = 0;                                   // link attempts so far
};

bool IsPtx(const backend::OwnedDeviceImage& image) { return image.kind == DeviceImageKind::kPtx; }

class CudaBackend final : public backend::Backend {
 public:
  explicit CudaBackend(std::vector<CudaTarget> targets) : targets_(std::move(targets)) {}

  TargetTraits Traits() const override { return targets_.back().traits; }

  std::vector<std::string> Targets() const override {
    std::vector<std::string> names;
    for (const CudaTarget& target : targets_) names.push_back(target.name);
    return names;
  }

  backend::MemoryEstimate Estimate(const lower::LoweredProgram& program) const override {
    constexpr uint64_t kThreadBytes = 160 << 20;  // nvJitLink, mostly
    return backend::EstimateMemory(program, targets_.size(), kThreadBytes);
  }

  std::vector<std::unique_ptr<backend::TargetBuild>> Start(const lower::LoweredProgram& program) const override {
    std::vector<std::unique_ptr<backend::TargetBuild>> builds;
    for (const CudaTarget& target : targets_) builds.push_back(std::make_unique<CudaBuild>(program, target));
    return builds;
  }

  // Drops the PTX beside a variant's cubin if a later variant has PTX too: no architecture would need it.
  void Finish(std::vector<CompiledVariant>& variants) const override {
    bool later = false;
    for (auto variant = variants.rbegin(); variant != variants.rend(); ++variant) {
      std::vector<backend::OwnedDeviceImage>& images = variant->device_images;
      const bool has = std::any_of(images.begin(), images.end(), IsPtx);
      const bool only = std::all_of(images.begin(), images.end(), IsPtx);
      if (later && has && !only) images.erase(std::remove_if(images.begin(), images.end(), IsPtx), images.end());
      later |= has;
    }
  }

 private:
  const std::vector<CudaTarget> targets_;
};

}  // namespace

bool NamesCudaTarget(absl::string_view name) {
  return absl::StartsWith(name, "sm_") || name == "simt" || name == "cuda";
}

absl::StatusOr<std::unique_ptr<backend::Backend>> MakeCudaBackend(const std::vector<std::string>& names,
                                                                  const CudaOptions& options) {
  std::vector<CudaTarget> targets;
  const auto add = [&](absl::string_view name) -> absl::Status {
    TAILOR_ASSIGN_OR_RETURN(CudaTarget target, FindCudaTarget(name));
    target.traits.tf32_matmuls = options.allow_tf32;
    const bool known = std::any_of(targets.begin(), targets.end(), [&](const auto& t) { return t.name == name; });
    if (!known) targets.push_back(std::move(target));
    return absl::OkStatus();
  };
  for (const std::string& name : names) {
    if (name != "cuda") {
      TAILOR_RETURN_IF_ERROR(add(name));
      continue;
    }
    for (const char* each : {"sm_90a", "sm_90", "sm_80"}) TAILOR_RETURN_IF_ERROR(add(each));
  }
  std::stable_sort(targets.begin(), targets.end(),
                   [](const CudaTarget& a, const CudaTarget& b) { return a.name > b.name; });
  return std::make_unique<CudaBackend>(std::move(targets));
}

}  // namespace tailor::cuda
