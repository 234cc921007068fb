#include "codegen/cpu/gemm/micro_kernels.h"

#include <algorithm>
#include <set>

#include "codegen/cpu/gemm/rhs_operand.h"
#include "codegen/cpu/gemm/rows_in_lanes.h"
#include "codegen/cpu/gemm/square_kernel.h"
#include "codegen/cpu/gemm/tile_prefetch.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/plan/plan_queries.h"
#include "graph/status_macros.h"

namespace tailor::gemm {

namespace {

constexpr int kHalf = kPanelColumns / 2;

// Whether a last panel of at most half of the columns has micro-kernels of its own: registers of eight lanes then skip
// one of two. Its columns may be unknown.
bool MayHaveHalfPanel(const MicroKernel& kernel, const DimSizeRange& n) {
  if (kernel.lanes != kHalf || kernel.columns != kPanelColumns || kernel.lhs != DType::kF32) return false;
  if (!n.fixed) return n.divisor % kPanelColumns != 0;
  return n.max % kPanelColumns > 0 && n.max % kPanelColumns <= kHalf;
}

bool IsHalf(const MicroKernel& kernel) {
  return kernel.lanes == kHalf && kernel.columns == kernel.lanes && !kernel.squares && !kernel.rows_in_lanes;
}

}  // namespace

std::vector<MicroKernel> MicroKernelsOf(const KernelPlan& plan, const Contraction& contraction,
                                        const Schedule& schedule, const LhsForm& form) {
  if (schedule.tile.rows_in_lanes) return RowVectorKernels(plan, contraction, schedule, form);
  const auto range_of = [&](int axis) { return RangeOfDimSize(plan, plan.axes[axis].dim_size); };
  const DimSizeRange m = range_of(contraction.m), n = range_of(contraction.n), k = range_of(contraction.k);
  const bool packs_rows = schedule.tile.packs_rows();
  MicroKernel kernel{.lanes = schedule.lanes,
                     .columns = PiecesOf(n, schedule.lanes) * schedule.lanes,
                     .lhs = plan.buffers[contraction.lhs.ref].dtype,
                     .rhs = plan.buffers[contraction.rhs.ref].dtype,
                     .accumulate = contraction.accumulate,
                     .unit_depth_stride = (form.unit_depth_stride || schedule.tile.copies_rows) && !packs_rows,
                     .tables = form.tables && !packs_rows && !schedule.tile.copies_rows,
                     .packed_rows = packs_rows,
                     .split_words = schedule.tile.split_words,
                     .rhs_rows = ReadsRhsRows(plan, contraction)};
  if (kernel.word_steps() > 1) {
    kernel.whole_words = kernel.split_words || (k.fixed ? k.max : k.divisor) % kernel.word_steps() == 0;
  }
  std::vector<MicroKernel> kernels;
  for (const auto& [rows, panels] : ReachableTiles(m, n, schedule.tile, kernel.columns / kernel.lanes)) {
    MicroKernel& next = kernels.emplace_back(kernel);
    next.rows = rows;
    next.panels = panels;
    next.squares = schedule.tile.squares && rows >= kLeastSquareRows;
    if (next.squares) next.columns = static_cast<int>(n.max);
    next.fetch_ahead = !next.squares && TilePrefetch::InMicroKernels(plan, contraction, schedule.tile, rows);
  }
  if (!MayHaveHalfPanel(kernel, n)) return kernels;
  const int64_t all_panels = n.fixed ? (n.max + kPanelColumns - 1) / kPanelColumns : 0;
  for (size_t i = 0, all = kernels.size(); i < all; ++i) {
    if (kernels[i].panels == all_panels) {
      kernels[i].columns = kHalf;
    } else if (kernels[i].panels == 1) {
      kernels.emplace_back(kernels[i]).columns = kHalf;
    }
  }
  return kernels;
}

absl::StatusOr<std::vector<MicroKernel>> MicroKernelsOf(const KernelPlan& plan, const Schedule& schedule) {
  KernelPlan copy = plan;  // the form adds expressions
  const Contraction contraction = ContractionOf(copy);
  TAILOR_ASSIGN_OR_RETURN(const LhsForm form, FormOfLhs(copy, contraction));
  std::vector<MicroKernel> all;
  for (size_t version = 0; version < schedule.versions.size(); ++version) {
    const auto kernels = MicroKernelsOf(copy, contraction, OfVersion(schedule, version), form);
    all.insert(all.end(), kernels.begin(), kernels.end());
  }
  return all;
}

bool HasHalfPanels(absl::Span<const MicroKernel> kernels) {
  const auto is_wider = [](const MicroKernel& kernel) { return kernel.panels > 1 || kernel.columns > kHalf; };
  return std::any_of(kernels.begin(), kernels.end(), IsHalf) && std::any_of(kernels.begin(), kernels.end(), is_wider);
}

llvm::Value* EmitIsHalf(llvm::IRBuilderBase& b, absl::Span<const MicroKernel> kernels, llvm::Value* columns,
                        llvm::Value* panel, llvm::Value* panels) {
  llvm::Value* left = b.CreateSub(columns, b.CreateMul(panel, b.getInt64(kPanelColumns)), "columns.left");
  llvm::Value* wide = b.CreateSub(b.CreateMul(panels, b.getInt64(kPanelColumns)), b.getInt64(kHalf));
  llvm::Value* ends_half = b.CreateICmpSLE(left, wide, "ends.half");
  llvm::Value* has_kernel = b.getFalse();
  std::set<int> seen;
  for (const MicroKernel& kernel : kernels) {
    if (!IsHalf(kernel) || !seen.insert(kernel.panels).second) continue;
    has_kernel = b.CreateOr(has_kernel, b.CreateICmpEQ(panels, b.getInt64(kernel.panels)));
  }
  return b.CreateAnd(ends_half, has_kernel, "is_half");
}

void EmitMicroKernelCall(llvm::IRBuilderBase& b, absl::Span<const MicroKernel> kernels, llvm::Value* rows,
                         llvm::Value* panels, llvm::Value* is_half, llvm::ArrayRef<llvm::Value*> arguments) {
  constexpr int kKeyRows = 32, kKeyHalf = 16;
  if (kernels.empty()) return;  // a fixed dim size is 0: there are no tiles
  const bool has_halves = HasHalfPanels(kernels);
  llvm::Value* key = b.CreateAdd(b.CreateMul(rows, b.getInt64(kKeyRows)), panels, "shape");
  if (has_halves) key = b.CreateAdd(key, b.CreateSelect(is_half, b.getInt64(kKeyHalf), b.getInt64(0)), "shape");
  llvm::Function* function = b.GetInsertBlock()->getParent();
  llvm::FunctionType* type = DeclareMicroKernel(kernels[0], *function->getParent())->getFunctionType();
  auto* found = llvm::BasicBlock::Create(b.getContext(), "tile", function);
  auto* never = llvm::BasicBlock::Create(b.getContext(), "no.such.tile", function);
  llvm::SwitchInst* choice = b.CreateSwitch(key, never, kernels.size());
  b.SetInsertPoint(found);
  llvm::PHINode* callee = b.CreatePHI(b.getPtrTy(), kernels.size(), "micro.kernel");
  for (const MicroKernel& kernel : kernels) {
    llvm::Function* micro_kernel = DeclareMicroKernel(kernel, *function->getParent());
    auto* block = llvm::BasicBlock::Create(b.getContext(), micro_kernel->getName(), function, found);
    const int half = has_halves && IsHalf(kernel) ? kKeyHalf : 0;
    choice->addCase(b.getInt64(kernel.rows * kKeyRows + kernel.panels + half), block);
    callee->addIncoming(micro_kernel, block);
    llvm::BranchInst::Create(found, block);
  }
  b.CreateCall(type, callee, arguments);
  auto* after = llvm::BasicBlock::Create(b.getContext(), "tiled", function);
  b.CreateBr(after);
  b.SetInsertPoint(never);
  b.CreateUnreachable();
  b.SetInsertPoint(after);
}

}  // namespace tailor::gemm
