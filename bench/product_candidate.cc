#include "bench/product_candidate.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "bench/measuring_thread.h"
#include "codegen/emit_cpu.h"
#include "codegen/gemm/panels.h"
#include "tests/codegen/ir_image.h"

namespace tailor {
namespace {

// As one thread sees them: without those that differ in their tasks alone.
std::vector<ProductCut> FamilyForOneThread(const CpuTarget& target, int pieces, const ContractionTile& tile) {
  std::vector<ProductCut> family;
  for (const ProductCut& cut : CutFamily(target.traits, pieces, tile, /*further_tiles=*/true)) {
    if (cut.task_panels != tile.task_panels || cut.task_rows != tile.task_rows / cut.rows * cut.rows) continue;
    family.push_back(cut);
    family.back().least_m = 0;
    family.back().most_m = INT64_MAX;
  }
  return family;
}

}  // namespace

CutProduct::CutProduct(const ProductForm& form, const CpuTarget& target)
    : plan_(MakeProductPlan(form)),
      schedule_(ScheduleContraction(plan_, target.traits)),
      pieces_(kPanelColumns / schedule_.lanes),
      costs_(BuiltInCostsOf(target.traits)),
      family_(FamilyForOneThread(target, pieces_, schedule_.tile)) {
  Schedule all = schedule_;
  all.tile.cuts = family_;
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("product", context);
  if (!EmitContraction(plan_, all, EmitTarget::Of(target.traits), "product", *module).ok()) abort();
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
  objects.push_back(CompileIr(std::move(module), target));
  image_ = std::make_unique<MappedImage>(*LinkImage(std::move(objects), {"product_v0"}));
  kernel_ = image_->Find<KernelFn>("product_v0");
}

ProductCut CutProduct::Chosen(const ProductExtents& extents) const {
  return ChooseCut(schedule_.tile, pieces_, extents, costs_);
}

void CutProduct::Run(const ProductCut& cut, const ProductExtents& extents, const float* lhs, const float* panels,
                     float* out) const {
  std::vector<int64_t> args;
  for (const float* data : {lhs, panels, static_cast<const float*>(out)}) {
    args.push_back(reinterpret_cast<int64_t>(data));
  }
  for (const DimSlot& slot : plan_.dims) args.push_back(*slot.value.Evaluate({extents.m, extents.n, extents.k}));
  args.push_back(static_cast<int64_t>(CutWord(cut)));
  kernel_(args.data(), 0, CutTasks(cut, extents), 0);
}

ProductOperands::ProductOperands(const ProductExtents& extents)
    : lhs_(extents.m * extents.k, 0.5f),
      storage_(extents.k * (extents.n + 2 * kPanelColumns), 0.25f),
      out_(extents.m * extents.n) {
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  panels_ = storage_.data() + ((address + 63) / 64 * 64 - address) / sizeof(float);
}

void ProductOperands::Run(const CutProduct& product, const ProductCut& cut, const ProductExtents& extents) {
  product.Run(cut, extents, lhs_.data(), panels_, out_.data());
}

CutTimes MeasureCuts(const CutProduct& product, const std::vector<ProductCut>& cuts, const ProductExtents& extents,
                     int rounds) {
  ProductOperands operands(extents);
  CutTimes least{std::vector<double>(cuts.size(), 1e30), std::vector<double>(cuts.size(), 1e30)};
  const int runs = 1 + static_cast<int>(1e7 / static_cast<double>(extents.m * extents.k * extents.n));
  std::mt19937 random(1);
  std::vector<size_t> order(cuts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (int round = 0; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<double>& times = round % 2 == 0 ? least.even : least.odd;
    for (const size_t i : order) {
      operands.Run(product, cuts[i], extents);
      const double begin = ThreadSeconds();
      for (int r = 0; r < runs; ++r) operands.Run(product, cuts[i], extents);
      times[i] = std::min(times[i], (ThreadSeconds() - begin) * 1e9 / runs);
    }
  }
  return least;
}

Regret MeasureRegret(const CutProduct& product, const ProductExtents& extents) {
  std::vector<ProductCut> cuts = {product.Rule(extents.m), product.Chosen(extents)};
  for (const ProductCut& cut : product.family()) {
    // Tiles of few rows are worse than others where there are many, and of more rows than there are the same.
    const bool sensible = cut.rows >= std::min<int64_t>(extents.m, 4) && cut.rows < extents.m + 3;
    if (sensible || cut.rows == product.tile().rows) cuts.push_back(cut);
  }
  constexpr int kRounds = 30;
  const CutTimes times = MeasureCuts(product, cuts, extents, kRounds);
  const size_t best = std::min_element(times.even.begin(), times.even.end()) - times.even.begin();
  const bool same = cuts[0] == cuts[1];  // two measurements of it
  const double rule = same ? std::min(times.odd[0], times.odd[1]) : times.odd[0];
  return {cuts[1], cuts[best], (same ? rule : times.odd[1]) / times.odd[best], rule / times.odd[best]};
}

std::vector<ProductExtents> HeldOutProducts() {
  std::vector<ProductExtents> products;
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{448, 832}, {700, 250}, {1088, 1984}}) {
    for (const int64_t m : {2, 5, 7, 8, 9, 11, 13, 17, 23, 37, 90, 250}) products.push_back({m, n, k});
  }
  return products;
}

}  // namespace tailor
