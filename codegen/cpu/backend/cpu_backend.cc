#include "codegen/cpu/backend/cpu_backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/backend/host_build.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/cpu/prebuilt/prebuilt.h"
#include "codegen/link/target_machine.h"
#include "codegen/scalar/scalar_ops_cast.h"
#include "graph/status_macros.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {
namespace {

class CpuBuild final : public backend::HostBuild {
 public:
  CpuBuild(const lower::LoweredProgram& program, CpuTarget target, const CpuBackendOptions& options)
      : HostBuild(program, std::move(target), options.optimize), costs_(options.costs) {}

 private:
  tailor::Schedule ScheduleOf(const KernelPlan& plan) const override {
    return ScheduleOnCpu(plan, target().traits, costs_.get());
  }

  void BeginModule(llvm::Module& module) const override {
    if (target().traits.half_conversions) SetHalfConversions(module);
  }

  absl::Status EmitKernel(const KernelPlan& plan, const tailor::Schedule& schedule, const std::string& symbol,
                          llvm::Module& module) const override {
    return EmitOnCpu(plan, schedule, EmitTarget::Of(target().traits), symbol, module);
  }

  absl::Status AddShared(const KernelPlan& plan, const tailor::Schedule& schedule,
                         backend::SharedFunctions& functions) const override {
    TAILOR_ASSIGN_OR_RETURN(const auto micro_kernels, MicroKernelsOf(plan, schedule));
    for (const gemm::MicroKernel& kernel : micro_kernels) {
      const auto [function, is_new] = functions.try_emplace(NameOf(kernel));
      if (!is_new) continue;
      function->second.emit = [this, kernel](llvm::Module& module) {
        gemm::EmitMicroKernel(kernel, EmitTarget::Of(target().traits), module);
        return absl::OkStatus();
      };
      function->second.prebuilt = prebuilt::FindMicroKernel(kernel, target());
      function->second.always_optimized = true;
    }
    for (RowsFunction& rows : RowsCalledBy(plan, schedule, EmitTarget::Of(target().traits))) {
      functions.try_emplace(rows.name, backend::SharedFunction{.emit = std::move(rows.emit)});
    }
    return absl::OkStatus();
  }

  void Describe(const std::vector<tailor::Schedule>& schedules, Variant& variant) const override {
    const bool chooses = std::any_of(schedules.begin(), schedules.end(),
                                     [](const tailor::Schedule& schedule) { return schedule.tile.chooses; });
    if (!chooses) return;
    if (costs_ != nullptr) {
      variant.costs = *costs_;
      return;
    }
    variant.costs = BuiltInCostProfile(target().level);
    variant.machine_costs = BuiltInMachineCosts(target().level);
  }

  const std::shared_ptr<const CostProfile> costs_;  // CpuBackendOptions::costs
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

// Whether the program has matmuls whose rhs is words of `dtype`.
bool Multiplies(const lower::LoweredProgram& lowered, DType dtype) {
  return std::any_of(lowered.kernels.begin(), lowered.kernels.end(), [&](const KernelPlan& plan) {
    return std::any_of(plan.buffers.begin(), plan.buffers.end(), [&](const Buffer& buffer) {
      return buffer.layout == ConstantLayout::kWordPanels16 && buffer.dtype == dtype;
    });
  });
}

// The matmuls of a program that have instructions of their own on some levels.
struct SpecialMatmuls {
  bool bf16, integers, bytes;
};

// The target to compile for in place of `level`, one of CpuLevels(): without features that the program does not use,
// and with those that all machines of the level have.
std::string UsefulLevel(const CpuTarget& level, const SpecialMatmuls& has) {
  const bool bf16 = level.traits.bf16_matmuls != BF16Matmuls::kConverted;
  const bool bf16_tiles = level.traits.bf16_matmuls == BF16Matmuls::kTiles;
  const bool byte_tiles = level.traits.integer_matmuls == IntegerMatmuls::kTiles;
  const bool dot_products = level.traits.integer_matmuls != IntegerMatmuls::kPairs;
  if (has.bf16 && bf16) {
    return absl::StrCat(level.name, has.integers ? "+avx512vnni" : "", has.bytes && bf16_tiles ? "+amx-int8" : "");
  }
  if (has.bytes && (bf16_tiles || byte_tiles)) return kByteTilesLevel;
  return has.integers && (bf16 || dot_products) ? kDotProductsLevel : level.level;
}

class CpuBackend final : public backend::Backend {
 public:
  CpuBackend(std::vector<CpuTarget> targets, const CpuBackendOptions& options)
      : targets_(std::move(targets)), options_(options) {
    Restrict();
  }

  TargetTraits Traits() const override { return targets_.front().traits; }

  // Drops levels from whose features the program gains nothing.
  absl::Status KeepTargetsFor(const lower::LoweredProgram& program) override {
    const bool bytes = Multiplies(program, DType::kI8);
    const SpecialMatmuls has{Multiplies(program, DType::kBF16), bytes || Multiplies(program, DType::kI16), bytes};
    std::vector<std::string> names;
    for (const CpuTarget& target : targets_) {
      const bool level = std::any_of(CpuLevels().begin(), CpuLevels().end(),
                                     [&](const CpuTarget& known) { return known.name == target.name; });
      names.push_back(level ? UsefulLevel(target, has) : target.name);
    }
    TAILOR_ASSIGN_OR_RETURN(targets_, FindTargets(names));
    Restrict();
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
    for (const CpuTarget& target : targets_) {
      builds.push_back(std::make_unique<CpuBuild>(program, target, options_));
    }
    return builds;
  }

 private:
  void Restrict() {
    for (CpuTarget& target : targets_) {
      target.traits.interleave_rows = options_.interleave_rows;
      target.traits.pack_short_rows = options_.pack_short_rows;
      target.traits.choose_tilings = options_.choose_tilings;
    }
  }

  std::vector<CpuTarget> targets_;
  const CpuBackendOptions options_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<backend::Backend>> MakeCpuBackend(const std::vector<std::string>& names,
                                                                 const CpuBackendOptions& options) {
  TAILOR_ASSIGN_OR_RETURN(std::vector<CpuTarget> targets, FindTargets(names));
  return std::make_unique<CpuBackend>(std::move(targets), options);
}

}  // namespace tailor::cpu
