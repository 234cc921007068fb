#include "codegen/cuda/gemm/emit_product.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/gemm/matrix_loop.h"
#include "codegen/cuda/gemm/matrix_stream_loop.h"
#include "codegen/cuda/gemm/multiply_add_loop.h"
#include "codegen/cuda/gemm/panel_stream_loop.h"
#include "codegen/cuda/gemm/product_frame.h"
#include "codegen/cuda/gemm/product_portions.h"
#include "codegen/cuda/gemm/warpgroup_product.h"
#include "codegen/plan/contraction.h"
#include "graph/status_macros.h"

namespace tailor::cuda {
namespace {

std::unique_ptr<ProductLoop> MakeLoop(ProductFrame& product) {
  switch (product.tile().kind) {
    case ProductTile::Kind::kMultiplyAdd:
      return std::make_unique<MultiplyAddLoop>(product);
    case ProductTile::Kind::kMatrix:
      return std::make_unique<MatrixLoop>(product);
    case ProductTile::Kind::kPanelStream:
      return std::make_unique<PanelStreamLoop>(product);
    case ProductTile::Kind::kMatrixStream:
      return std::make_unique<MatrixStreamLoop>(product);
    case ProductTile::Kind::kWarpgroup:
      break;
  }
  return nullptr;
}

// All threads of a block are in one main loop.
void EmitLoops(ProductFrame& product) {
  ProductPortions portions(product);
  portions.EmitEach([&] {
    const std::unique_ptr<ProductLoop> loop = MakeLoop(product);
    loop->Emit();
    portions.EmitSums([&](llvm::Value* first) { loop->EmitStage(first); });
    if (product.version().cooperative) product.team().meet();  // what sums went through is the next portion's
  });
  portions.EmitMeeting();
  portions.EmitRest();
}

// `plan` is a copy, to which coefficients are added.
void EmitVersion(KernelPlan plan, const Contraction& contraction, const CudaVersion& version, const std::string& name,
                 llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  ProductFrame product(b, module, plan, contraction, TypesOf(plan, contraction), version, name);
  if (version.tile.kind == ProductTile::Kind::kWarpgroup) {
    EmitWarpgroupProduct(product);
  } else {
    EmitLoops(product);
  }
  b.CreateRetVoid();
}

}  // namespace

absl::Status EmitCudaProduct(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                             llvm::Module& module) {
  const Contraction contraction = ContractionOf(plan);
  for (size_t i = 0; i < schedule.versions.size(); ++i) {
    EmitVersion(plan, contraction, schedule.versions[i], absl::StrCat(name, "_v", i), module);
  }
  return absl::OkStatus();
}

}  // namespace tailor::cuda
