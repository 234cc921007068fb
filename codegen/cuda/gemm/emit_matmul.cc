#include "codegen/cuda/gemm/emit_matmul.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/gemm/mma_gemm.h"
#include "codegen/cuda/gemm/mma_stream_gemm.h"
#include "codegen/cuda/gemm/simt_gemm.h"
#include "codegen/cuda/gemm/panel_stream_gemm.h"
#include "codegen/cuda/gemm/matmul_frame.h"
#include "codegen/cuda/gemm/stream_k.h"
#include "codegen/cuda/gemm/warpgroup_gemm.h"
#include "codegen/plan/contraction.h"
#include "graph/status_macros.h"

namespace tailor::cuda {
namespace {

std::unique_ptr<GemmLoop> MakeLoop(MatmulFrame& matmul) {
  switch (matmul.tile().kind) {
    case MatmulTile::Kind::kSimt:
      return std::make_unique<SimtGemm>(matmul);
    case MatmulTile::Kind::kMma:
      return std::make_unique<MmaGemm>(matmul);
    case MatmulTile::Kind::kPanelStream:
      return std::make_unique<PanelStreamGemm>(matmul);
    case MatmulTile::Kind::kMmaStream:
      return std::make_unique<MmaStreamGemm>(matmul);
    case MatmulTile::Kind::kWarpgroup:
      break;
  }
  return nullptr;
}

// For tiles whose main loop all threads of a block run together.
void EmitLoops(MatmulFrame& matmul) {
  StreamK stream_k(matmul);
  stream_k.EmitEach([&] {
    const std::unique_ptr<GemmLoop> loop = MakeLoop(matmul);
    loop->Emit();
    stream_k.EmitSums([&](llvm::Value* first) { loop->EmitStage(first); });
    if (matmul.version().cooperative) matmul.team().sync();  // the next segment reuses the memory of staged sums
  });
  stream_k.EmitGridSync();
  stream_k.EmitFixup();
}

// `plan` is a copy, to which coefficients are added.
void EmitVersion(KernelPlan plan, const Contraction& contraction, const CudaVersion& version, const std::string& name,
                 llvm::Module& module) {
  llvm::IRBuilder<> b(module.getContext());
  MatmulFrame matmul(b, module, plan, contraction, TypesOf(plan, contraction), version, name);
  if (version.tile.kind == MatmulTile::Kind::kWarpgroup) {
    EmitWarpgroupMatmul(matmul);
  } else {
    EmitLoops(matmul);
  }
  b.CreateRetVoid();
}

}  // namespace

absl::Status EmitCudaMatmul(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                            llvm::Module& module) {
  const Contraction contraction = ContractionOf(plan);
  for (size_t i = 0; i < schedule.versions.size(); ++i) {
    EmitVersion(plan, contraction, schedule.versions[i], absl::StrCat(name, "_v", i), module);
  }
  return absl::OkStatus();
}

}  // namespace tailor::cuda
