// Task functions of matmuls. A task is one block of rows times one block of columns, of one batch index. Rows run
// fastest, so that consecutive tasks find their panels in cache; batch indices that share panels run next. Within a
// task, micro-kernels leave their sums in a small tile on the stack, and the epilogue (TileEpilogue) runs over them
// while they are in cache. The task, tile or thread of an element never changes the order of its sum.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/contract/cost_profile.h"
#include "codegen/cpu/gemm/emit_contraction.h"
#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/cpu/gemm/micro_kernels.h"
#include "codegen/cpu/gemm/rhs_operand.h"
#include "codegen/cpu/gemm/rows_in_lanes.h"
#include "codegen/cpu/gemm/tile_epilogue.h"
#include "codegen/cpu/gemm/tile_prefetch.h"
#include "codegen/cpu/tiling/tiling_model.h"
#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/cpu/tiling/tile_shapes.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/scalar/poll.h"
#include "codegen/scalar/scalar_emitter.h"
#include "graph/status_macros.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

class ContractionEmitter {
 public:
  ContractionEmitter(const KernelPlan& plan, const Contraction& contraction, const Schedule& schedule,
                     const EmitTarget& target, llvm::Module& module)
      : plan_(plan),
        c_(contraction),
        schedule_(schedule),
        tile_(schedule.tile),
        target_(target),
        module_(module),
        b_(module.getContext()),
        pieces_(PiecesOf(RangeOf(contraction.n), schedule.lanes)) {}

  // The micro-kernels that some dim sizes need, and the memory of their sums.
  absl::Status Prepare() {
    TAILOR_ASSIGN_OR_RETURN(lhs_form_, FormOfLhs(plan_, c_));
    if (tile_.packs_rows() && !lhs_form_.tables && !lhs_form_.rows.IsUnitInLastDim()) {
      return absl::InternalError(absl::StrCat("contraction ", plan_.name, ": rows cannot be packed"));
    }
    micro_kernels_ = MicroKernelsOf(plan_, c_, schedule_, lhs_form_);
    depth_blocks_ = RangeOf(c_.k).max > tile_.depth;
    if (tile_.rows_in_lanes) {  // the sums are the epilogue's
      // One panel's sums are kept at a time.
      const bool keeps_sums = !depth_blocks_ || RangeOf(c_.n).max <= kPanelColumns;
      if (keeps_sums && TakesRowsInLanes(plan_, c_, lhs_form_, schedule_.lanes)) return absl::OkStatus();
      return absl::InternalError(absl::StrCat("contraction ", plan_.name, ": rows cannot be in lanes"));
    }
    for (const MicroKernel& kernel : micro_kernels_) KeepSums(kernel.rows, kernel.panels);
    if (KeepsRowSums()) {
      KeepSums(tile_.task_rows, KeepsAllSums() ? tile_.task_panels : PanelsForRows(tile_, pieces_, tile_.rows));
      for (const MatmulTiling& tiling : tile_.tilings) KeepSums(tiling.task_rows, tiling.panels);
    }
    return absl::OkStatus();
  }

  // `signature`: that of all versions.
  void EmitFunction(const KernelSignature& signature, const std::string& name) {
    frame_ = OpenKernelFunction(b_, module_, plan_, signature, name);
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    scalars_.emplace(b_, target_, plan_, frame_);
    sum_type_ = RegisterType(b_.getContext(), c_.accumulate, 1);
    auto* tile = b_.CreateAlloca(sum_type_, b_.getInt64(tile_sums_), "tile");
    tile->setAlignment(llvm::Align(64));
    tile_memory_ = tile;
    lhs_.emplace(b_, plan_, c_, lhs_form_, schedule_, depth_blocks_, frame_, *scalars_);
    rhs_.emplace(b_, plan_, c_, schedule_, frame_, *scalars_);
    epilogue_.emplace(b_, plan_, c_, schedule_, frame_, *scalars_);
    if (tile_.rows_in_lanes) rows_in_lanes_.emplace(b_, plan_, c_, lhs_form_, schedule_, *lhs_);
    Value* own_prefetch_distance = EmitTilings();
    fetches_.emplace(b_, plan_, c_, schedule_, lhs_form_, depth_blocks_, frame_, *scalars_, *lhs_, *rhs_,
                     own_prefetch_distance);
    EmitLoop(b_, function->getArg(1), function->getArg(2), 1, "task", [&](Value* task) { EmitTask(task); });
    b_.CreateRetVoid();
  }

 private:
  void KeepSums(int64_t rows, int64_t panels) {
    tile_sums_ = std::max(tile_sums_, WholeLanes(rows) * panels * kPanelColumns);
  }

  DimSizeRange RangeOf(int axis) const { return RangeOfDimSize(plan_, plan_.axes[axis].dim_size); }
  Value* AxisDimSize(int axis) { return frame_.DimSizeValue(b_, plan_.axes[axis].dim_size); }
  Value* I64(int64_t value) { return b_.getInt64(value); }
  Value* AtLeastOne(Value* value) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, value, I64(1)); }

  // Tilings of this launch's dim sizes; the block counts match Schedule::tasks. Returns CostProfile::prefetch_distance.
  Value* EmitTilings() {
    Value* m = AxisDimSize(c_.m);
    Value* n = AxisDimSize(c_.n);
    Value* panels = EmitCeilDiv(b_, n, I64(kPanelColumns), "panels");
    const Tiling tiling = tile_.chooses ? ChosenTiling() : RuleTiling(m);
    rows_ = EvenTiling::Emit(b_, m, tiling.limits.rows, tiling.whole_rows);
    groups_ = EvenTiling::Emit(b_, panels, tiling.limits.panels, tiling.whole_panels);
    row_blocks_ = AtLeastOne(RowBlocks(m, tiling));
    panel_blocks_ = AtLeastOne(EmitCeilDiv(b_, n, tiling.task_columns, "panel.blocks"));
    return tiling.ahead;
  }

  struct Tiling {
    RuleLimits limits;
    Value *whole_rows = nullptr, *whole_panels = nullptr;
    Value *task_rows, *task_columns;
    Value* ahead;  // CostProfile::prefetch_distance
  };

  // A constant where all dim sizes are known: divisions by it are cheap.
  Value* RowBlocks(Value* m, const Tiling& tiling) {
    if (const std::optional<int64_t> known = schedule_.row_blocks.constant(); known && *known > 0) return I64(*known);
    Value* blocks = frame_.Get(KernelParameter::kRowBlocks);
    return blocks != nullptr ? blocks : EmitCeilDiv(b_, m, tiling.task_rows, "row.blocks");
  }

  Tiling RuleTiling(Value* m) {
    return {.limits = RuleLimits::Emit(b_, m, tile_, pieces_),
            .task_rows = I64(tile_.task_rows),
            .task_columns = I64(tile_.task_panels * kPanelColumns),
            .ahead = I64(static_cast<int64_t>(CostProfile().prefetch_distance))};
  }

  // Unpacks the launch's TilingWord.
  Tiling ChosenTiling() {
    const auto field = [&](int first, int bits, const char* name) -> Value* {
      return b_.CreateAnd(b_.CreateLShr(frame_.Get(KernelParameter::kTiling), first), I64((int64_t{1} << bits) - 1),
                          name);
    };
    const auto flag = [&](int bit, const char* name) { return b_.CreateTrunc(field(bit, 1, name), b_.getInt1Ty()); };
    return {.limits = {field(0, 8, "row.limit"), field(8, 8, "panel.limit")},
            .whole_rows = flag(16, "whole.rows"),
            .whole_panels = flag(17, "whole.panels"),
            .task_rows = field(32, 16, "task.rows"),
            .task_columns = b_.CreateMul(field(48, 16, "task.panels"), I64(kPanelColumns), "task.columns"),
            .ahead = field(kAheadBit, kAheadBits, "ahead")};
  }

  // Whether all batch indices read the same panels.
  bool SharesPanels() const {
    const auto depends = [&](ExprId index) {
      return std::any_of(c_.batch.begin(), c_.batch.end(), [&](int axis) { return DependsOn(plan_, index, axis); });
    };
    return std::none_of(c_.rhs.args.begin(), c_.rhs.args.end(), depends);
  }

  // The blocks of task `task`, and the batch axes' values. Tasks that read the same panels are consecutive.
  void EmitBlocks(Value* task) {
    row_block_ = b_.CreateURem(task, row_blocks_, "row.block");
    Value* rest = b_.CreateUDiv(task, row_blocks_);
    task_.ends_panels = b_.CreateICmpEQ(b_.CreateAdd(row_block_, I64(1)), row_blocks_, "last.rows");
    Value* batch;
    if (SharesPanels()) {
      Value* batches = I64(1);
      for (int axis : c_.batch) batches = b_.CreateMul(batches, AxisDimSize(axis), "batches");
      batches = AtLeastOne(batches);
      batch = b_.CreateURem(rest, batches, "batch");
      panel_block_ = b_.CreateUDiv(rest, batches, "panel.block");
      task_.ends_panels =
          b_.CreateAnd(task_.ends_panels, b_.CreateICmpEQ(b_.CreateAdd(batch, I64(1)), batches), "last.rows");
    } else {
      panel_block_ = b_.CreateURem(rest, panel_blocks_, "panel.block");
      batch = b_.CreateUDiv(rest, panel_blocks_, "batch");
    }
    for (int i = static_cast<int>(c_.batch.size()) - 1; i >= 0; --i) {
      Value* dim_size = AxisDimSize(c_.batch[i]);
      scalars_->SetAxis(c_.batch[i], i == 0 ? batch : b_.CreateURem(batch, dim_size, "batch.index"));
      if (i > 0) batch = b_.CreateUDiv(batch, dim_size);
    }
  }

  void EmitTask(Value* task) {
    EmitBlocks(task);
    rhs_->EmitBatch();
    auto next = [&](Value* block) { return b_.CreateAdd(block, I64(1)); };
    task_.first_tile = rows_.BlockStart(b_, row_block_, row_blocks_);
    task_.last_tile = rows_.BlockStart(b_, next(row_block_), row_blocks_);
    task_.first = rows_.Start(b_, task_.first_tile);
    task_.count = b_.CreateSub(rows_.Start(b_, task_.last_tile), task_.first, "task.rows");
    Value* first_group = groups_.BlockStart(b_, panel_block_, panel_blocks_);
    last_group_ = groups_.BlockStart(b_, next(panel_block_), panel_blocks_);
    task_.first_panel = groups_.Start(b_, first_group);
    task_.parts_first = KeepsAllSums();
    const auto for_groups = [&](llvm::function_ref<void(Value*)> body) {
      EmitLoop(b_, first_group, last_group_, 1, "group", body);
    };
    const auto for_depths = [&](llvm::function_ref<void(Value*)> body) {
      EmitLoop(b_, I64(0), AtLeastOne(AxisDimSize(c_.k)), tile_.depth, "depth",
               [&](Value* k) { EmitUnlessInterrupted(b_, frame_, [&] { body(k); }); });
    };
    const auto row_vectors = [&](Value* k) {
      EmitLhsPart(k);
      EmitRowVectors(k);
    };
    if (tile_.rows_in_lanes) {
      depth_blocks_ ? for_depths(row_vectors) : row_vectors(I64(0));
    } else if (!depth_blocks_) {
      EmitLhsPart(I64(0));
      EmitKeptRows(I64(0));
      for_groups([&](Value* group) { EmitRowTiles(group, I64(0)); });
    } else if (KeepsAllSums()) {
      for_depths([&](Value* k) {
        EmitLhsPart(k);
        EmitKeptRows(k);
        for_groups([&](Value* group) { EmitRowTiles(group, k); });
      });
    } else {
      if (!lhs_form_.tables) EmitLhsPart(I64(0));
      for_groups([&](Value* group) {
        for_depths([&](Value* k) {
          if (lhs_form_.tables) EmitLhsPart(k);
          EmitRowTiles(group, k);
        });
      });
    }
  }

  // Prepares what the task reads of the lhs in the part of K from `k` on.
  void EmitLhsPart(Value* k) { lhs_->EmitPart(task_.first, task_.count, k, EmitDepth(k)); }

  // Packs or copies the task's rows, in versions that do.
  void EmitKeptRows(Value* k) {
    if (tile_.packs_rows()) lhs_->EmitPackedPart(rows_, task_.first_tile, task_.last_tile, k, EmitDepth(k));
    if (tile_.copies_rows) lhs_->EmitCopiedPart(task_.first, task_.count, k, EmitDepth(k));
  }

  // Length of the part of K from `k` on.
  Value* EmitDepth(Value* k) {
    Value* depth = b_.CreateSub(AxisDimSize(c_.k), k, "depth");
    return depth_blocks_ ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, depth, I64(tile_.depth)) : depth;
  }

  Value* Element(DType dtype, Value* base, Value* offset, const char* name) {
    return b_.CreateInBoundsGEP(MemoryType(b_.getContext(), dtype, 1), base, offset, name);
  }

  // Whether the sums of all rows of the task are kept until they are finished: K runs in parts, or the epilogue runs
  // along rows.
  bool KeepsRowSums() const { return depth_blocks_ || AlongRows(); }
  // Whether the sums of all columns are kept too: one preparation of the lhs for a part of K serves all groups. Not in
  // chains, where a task has any number of columns.
  bool KeepsAllSums() const {
    return depth_blocks_ && (lhs_form_.tables || tile_.keeps_rows()) &&
           tile_.task_panels != ContractionTile::kAllPanels;
  }
  bool AlongRows() const { return schedule_.lane_axis == c_.m; }

  // Whether the part of K from `k` on is the last one.
  Value* EmitDone(Value* k) {
    if (!depth_blocks_) return b_.getTrue();
    return b_.CreateICmpSGE(b_.CreateAdd(k, I64(tile_.depth)), AxisDimSize(c_.k), "done");
  }

  // All rows of the task times all panels, for K from `k` to the end of its part.
  void EmitRowVectors(Value* k) {
    Value* resume = b_.CreateICmpNE(k, I64(0), "resume");
    const RhsPanels panels = rhs_->Emit(I64(0), I64(rows_in_lanes_->panels()), k, EmitDepth(k));
    for (int panel = 0; panel < rows_in_lanes_->panels(); ++panel) {
      Value* rhs = rhs_->At(panels, I64(panel), k, "rhs.part");
      rows_in_lanes_->Emit(panel, rhs, EmitDepth(k), resume, epilogue_->sums());
      EmitIf(b_, EmitDone(k), "epilogue", [&] { epilogue_->EmitColumns(panel, task_.first, task_.count); });
    }
  }

  // All row tiles of the task times one group of panels, for K from `k` to the end of its part.
  void EmitRowTiles(Value* group, Value* k) {
    MatmulTile tile;
    tile.panel = groups_.Start(b_, group);
    tile.last_group = b_.CreateICmpEQ(b_.CreateAdd(group, I64(1)), last_group_, "last.group");
    tile.panels = groups_.Size(b_, group);
    Value* width = b_.CreateMul(tile.panels, I64(kPanelColumns), "width");
    tile.tiles = b_.CreateSub(task_.last_tile, task_.first_tile, "tiles");
    Value* done = EmitDone(k);
    const RhsPanels rhs = rhs_->Emit(tile.panel, tile.panels, k, EmitDepth(k));
    Value* group_sums = tile_memory_;
    if (KeepsAllSums()) {
      Value* panels_before = b_.CreateSub(tile.panel, task_.first_panel);
      Value* offset = b_.CreateMul(panels_before, I64(WholeLanes(tile_.task_rows) * kPanelColumns));
      group_sums = b_.CreateInBoundsGEP(sum_type_, tile_memory_, offset, "group.sums");
    }
    EmitLoop(b_, task_.first_tile, task_.last_tile, 1, "row.tile", [&](Value* index) {
      tile.row = rows_.Start(b_, index);
      tile.rows = rows_.Size(b_, index);
      tile.address = group_sums;
      tile.number = b_.CreateSub(index, task_.first_tile, "number");
      if (KeepsRowSums()) {
        Value* offset = b_.CreateMul(b_.CreateSub(tile.row, task_.first), width);
        tile.address = b_.CreateInBoundsGEP(sum_type_, group_sums, offset, "tile.sums");
      }
      fetches_->EmitForEpilogue(tile, task_, done);
      EmitTile(tile, rhs, k);
      if (!AlongRows()) EmitIf(b_, done, "epilogue", [&] { epilogue_->Emit(tile); });
    });
    if (!AlongRows()) return;
    tile.row = task_.first;
    tile.rows = task_.count;
    tile.address = group_sums;
    EmitIf(b_, done, "epilogue", [&] { epilogue_->Emit(tile); });
  }

  void EmitTile(const MatmulTile& tile, const RhsPanels& rhs, Value* k) {
    Value* depth = EmitDepth(k);
    // Split rows have whole words, and the panels are 0 from K on.
    if (tile_.split_words) depth = b_.CreateAnd(b_.CreateAdd(depth, I64(3)), I64(-4), "whole.depth");
    Value* panels = rhs_->At(rhs, tile.panel, k, "rhs.tile");
    Value* stride = ReadsRhsRows(plan_, c_) ? rhs.depth_stride : rhs.panel_stride;
    const TilePrefetch::Ahead ahead = fetches_->InMicroKernel(tile, task_, rhs, k, depth);
    const LhsOperand::Arguments lhs = lhs_->At(tile.row, k);
    Value* depths = tile_.squares ? tile.rows : lhs.depths;
    Value* arguments[] = {lhs.address,   lhs.rows,     depths,       panels,
                          stride,        depth,        tile.address, b_.CreateICmpNE(k, I64(0), "resume"),
                          ahead.address, ahead.stride, ahead.step};
    EmitMicroKernelCall(b_, micro_kernels_, tile.rows, tile.panels, EmitHalf(tile), arguments);
  }

  // Whether the last half of the tile's panels is padding that its micro-kernel leaves out. Its sums are set to zero,
  // since the epilogue computes on them.
  Value* EmitHalf(const MatmulTile& tile) {
    if (!HasHalfPanels(micro_kernels_)) return b_.getFalse();
    constexpr int kHalf = kPanelColumns / 2;
    Value* is_half = EmitIsHalf(b_, micro_kernels_, AxisDimSize(c_.n), tile.panel, tile.panels);
    llvm::Type* half = RegisterType(b_.getContext(), c_.accumulate, kHalf);
    EmitIf(b_, is_half, "half", [&] {
      Value* width = b_.CreateMul(tile.panels, I64(kPanelColumns), "half.width");
      EmitLoop(b_, I64(1), b_.CreateAdd(tile.rows, I64(1)), 1, "half.row", [&](Value* rows) {
        Value* offset = b_.CreateSub(b_.CreateMul(rows, width), I64(kHalf));
        Value* padding = b_.CreateInBoundsGEP(sum_type_, tile.address, offset, "padding");
        b_.CreateAlignedStore(llvm::Constant::getNullValue(half), padding, llvm::Align(SizeOf(c_.accumulate) * kHalf));
      });
    });
    return is_half;
  }

  KernelPlan plan_;  // a copy: strides are added as expressions
  const Contraction& c_;
  const Schedule& schedule_;
  const ContractionTile tile_;
  const EmitTarget& target_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  const int pieces_;  // registers per panel

  LhsForm lhs_form_;
  std::vector<MicroKernel> micro_kernels_;
  int64_t tile_sums_ = kPanelColumns;
  bool depth_blocks_ = false;  // K may be longer than one part, tile.depth

  // Values of the function being emitted.
  KernelFrame frame_;
  std::optional<ScalarEmitter> scalars_;
  std::optional<LhsOperand> lhs_;
  std::optional<RhsOperand> rhs_;
  std::optional<TileEpilogue> epilogue_;
  std::optional<RowsInLanes> rows_in_lanes_;
  std::optional<TilePrefetch> fetches_;
  llvm::Type* sum_type_ = nullptr;
  Value* tile_memory_ = nullptr;
  EvenTiling rows_, groups_;
  Value *row_blocks_ = nullptr, *panel_blocks_ = nullptr;
  // State of the current task.
  Value *row_block_ = nullptr, *panel_block_ = nullptr;
  TaskRows task_;
  Value* last_group_ = nullptr;
};

}  // namespace

absl::Status EmitContraction(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                             const std::string& name, llvm::Module& module) {
  const Contraction contraction = ContractionOf(plan);
  const KernelSignature signature = KernelSignature::OnHost(plan, schedule);
  for (size_t i = 0; i < schedule.versions.size(); ++i) {
    const Schedule version = OfVersion(schedule, i);
    ContractionEmitter emitter(plan, contraction, version, target, module);
    TAILOR_RETURN_IF_ERROR(emitter.Prepare());
    emitter.EmitFunction(signature, absl::StrCat(name, "_v", i));
  }
  return absl::OkStatus();
}

}  // namespace tailor::gemm
