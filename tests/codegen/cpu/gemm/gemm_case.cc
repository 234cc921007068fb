#include "tests/codegen/cpu/gemm/gemm_case.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/emit_contraction.h"
#include "codegen/cpu/gemm/micro_kernels.h"
#include "codegen/cpu/prebuilt/prebuilt.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/tiling/tiling_model.h"
#include "codegen/plan/long_tasks.h"
#include "exec/tile_state.h"
#include "tests/codegen/cpu/poll_counter.h"

namespace tailor::gemm {

std::vector<CpuTarget> RunnableTargets() {
  std::vector<CpuTarget> targets;
  for (const CpuTarget& level : CpuLevels()) {
    const bool tiles = level.traits.bf16_matmuls == BF16Matmuls::kTiles;
    if (RunsHere(level) && (!tiles || RequestTileState())) targets.push_back(level);
  }
  return targets;
}

Matmul::Matmul(const MatmulCaseForm& form, const CpuTarget& target) : Matmul(form, target, nullptr) {}
Matmul::Matmul(const MatmulCaseForm& form, const CpuTarget& target, std::vector<MatmulTiling> tilings)
    : Matmul(form, target, &tilings) {}

Matmul::Matmul(const MatmulCaseForm& form, const CpuTarget& target, const std::vector<MatmulTiling>* tilings)
    : form_(form), target_(target), plan_(MakeMatmulPlan(form)) {
  schedule_ = cpu::ScheduleContraction(plan_, target.traits);
  if (tilings != nullptr) schedule_.tile.tilings = *tilings;
  schedule_.tile.chooses |= !schedule_.tile.tilings.empty();
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("matmul", context);
  const EmitTarget emit = EmitTarget::Of(target.traits);
  absl::Status emitted = EmitContraction(plan_, schedule_, emit, "matmul", *module);
  EXPECT_TRUE(emitted.ok()) << emitted;
  const auto micro_kernels = MicroKernelsOf(plan_, schedule_);
  EXPECT_TRUE(micro_kernels.ok()) << micro_kernels.status();
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  std::set<std::string> functions;
  for (const MicroKernel& kernel : *micro_kernels) {
    if (!functions.insert(NameOf(kernel)).second) continue;
    if (const auto compiled = prebuilt::FindMicroKernel(kernel, target)) {
      objects.push_back(llvm::MemoryBuffer::getMemBuffer(*compiled, /*RequiresNullTerminator=*/false));
    } else {
      EmitMicroKernel(kernel, emit, *module);
    }
  }
  objects.push_back(CompileIr(std::move(module), target));
  std::vector<std::string> names;
  for (size_t i = 0; i < schedule_.versions.size(); ++i) names.push_back(absl::StrCat("matmul_v", i));
  version_ = names.size() - 1;
  auto image = LinkImage(std::move(objects), names);
  EXPECT_TRUE(image.ok()) << image.status();
  image_ = std::make_unique<CodeImage>(*image, target);
}

MatmulTiling Matmul::TilingOf(const MatmulCaseSize& size) const {
  if (tiling_) return *tiling_;
  const MatmulShape dim_sizes = {size.m, size.n, size.k, BatchCount(form_, size)};
  return ChooseTiling(schedule_.tile, kPanelColumns / schedule_.lanes, dim_sizes, BuiltInCostProfile(target_.level));
}

int64_t Matmul::Tasks(const MatmulCaseSize& size) const {
  if (!schedule_.tile.chooses) return *schedule_.tasks.Evaluate(DimsOf(plan_, size), workers_);
  return TilingTasks(TilingOf(size), {size.m, size.n, size.k, BatchCount(form_, size)});
}

std::vector<char> Matmul::Run(const MatmulCaseSize& size, const std::vector<int64_t>& starts) const {
  const MatmulMemory memory(form_, size);
  std::vector<int64_t> args = memory.Arguments(plan_);
  std::vector<char> scratch;
  absl::Span<const char> behind_scratch;
  constexpr char kUnwritten = 0x55;
  if (schedule_.tile.keeps_rows()) {
    const int64_t bytes = *schedule_.scratch_bytes.Evaluate(DimsOf(plan_, size));
    scratch.assign(bytes + 128, kUnwritten);
    const int64_t address = (reinterpret_cast<int64_t>(scratch.data()) + 63) / 64 * 64;
    args.insert(args.end(), {address, bytes});
    behind_scratch = absl::MakeConstSpan(scratch).subspan(address + bytes - reinterpret_cast<int64_t>(scratch.data()));
  }
  if (schedule_.tile.chooses) args.push_back(static_cast<int64_t>(TilingWord(TilingOf(size), ahead_)));
  if (schedule_.row_blocks != 0) args.push_back(*schedule_.row_blocks.Evaluate(DimsOf(plan_, size), workers_));
  std::optional<PollCounter> run;
  polls_ ? run.emplace(*polls_) : run.emplace();
  if (PollsOnHost(plan_, schedule_)) args.push_back(run->slot());
  auto kernel = image_->Find<KernelFn>(absl::StrCat("matmul_v", version_));
  for (size_t i = 0; i + 1 < starts.size(); ++i) kernel(args.data(), starts[i], starts[i + 1], 0);
  for (const char byte : behind_scratch) EXPECT_EQ(byte, kUnwritten) << "behind the scratch";
  return memory.Output();
}

}  // namespace tailor::gemm
