#include "tests/codegen/cpu/gemm/gemm_product.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/emit_contraction.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/tiling/cut_model.h"
#include "exec/tile_state.h"

namespace tailor::gemm {

std::vector<CpuTarget> RunnableTargets() {
  std::vector<CpuTarget> targets;
  for (const CpuTarget& level : CpuLevels()) {
    const bool tiles = level.traits.bf16_products == BF16Products::kTiles;
    if (RunsHere(level) && (!tiles || RequestTileState())) targets.push_back(level);
  }
  return targets;
}

Product::Product(const ProductForm& form, const CpuTarget& target) : Product(form, target, nullptr) {}
Product::Product(const ProductForm& form, const CpuTarget& target, std::vector<ProductCut> cuts)
    : Product(form, target, &cuts) {}

Product::Product(const ProductForm& form, const CpuTarget& target, const std::vector<ProductCut>* cuts)
    : form_(form), target_(target), plan_(MakeProductPlan(form)) {
  schedule_ = cpu::ScheduleContraction(plan_, target.traits);
  if (cuts != nullptr) schedule_.tile.cuts = *cuts;
  schedule_.tile.chooses |= !schedule_.tile.cuts.empty();
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("product", context);
  const EmitTarget emit = EmitTarget::Of(target.traits);
  absl::Status emitted = EmitContraction(plan_, schedule_, emit, "product", *module);
  EXPECT_TRUE(emitted.ok()) << emitted;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  objects.push_back(CompileIr(std::move(module), target));
  auto image = LinkImage(std::move(objects), {"product_v0"});
  EXPECT_TRUE(image.ok()) << image.status();
  image_ = std::make_unique<CodeImage>(*image, target);
}

ProductCut Product::CutOf(const ProductSize& size) const {
  if (cut_) return *cut_;
  const ProductExtents extents = {size.m, size.n, size.k, BatchCount(form_, size)};
  return ChooseCut(schedule_.tile, kPanelColumns / schedule_.lanes, extents, BuiltInCostProfile(target_.level));
}

int64_t Product::Tasks(const ProductSize& size) const {
  if (!schedule_.tile.chooses) return *schedule_.tasks.Evaluate(DimsOf(plan_, size));
  return CutTasks(CutOf(size), {size.m, size.n, size.k, BatchCount(form_, size)});
}

std::vector<char> Product::Run(const ProductSize& size, const std::vector<int64_t>& starts) const {
  const ProductMemory memory(form_, size);
  std::vector<int64_t> args = memory.Arguments(plan_);
  if (schedule_.tile.chooses) args.push_back(static_cast<int64_t>(CutWord(CutOf(size), ahead_)));
  auto kernel = image_->Find<KernelFn>("product_v0");
  for (size_t i = 0; i + 1 < starts.size(); ++i) kernel(args.data(), starts[i], starts[i + 1], 0);
  return memory.Output();
}

}  // namespace tailor::gemm
