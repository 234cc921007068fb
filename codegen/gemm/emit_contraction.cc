// The task functions of products. A task is a block of columns and a block of rows of one batch index. Rows run
// fastest, so that consecutive tasks find their panels in cache, and where batch indices share panels those run next.
// Within it micro-kernels leave their sums in a small tile on the stack, and the epilogue (TileEpilogue) runs over them
// while they are in cache. Which task, tile or thread an element falls to changes nothing in the order of its sums.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/emit_cpu.h"
#include "codegen/emit_loop.h"
#include "codegen/gemm/contraction.h"
#include "codegen/gemm/cost_profile.h"
#include "codegen/gemm/cut_model.h"
#include "codegen/gemm/even_cut.h"
#include "codegen/gemm/fetch_line.h"
#include "codegen/gemm/left_operand.h"
#include "codegen/gemm/micro_kernels.h"
#include "codegen/gemm/tile_epilogue.h"
#include "codegen/gemm/tile_shapes.h"
#include "codegen/gemm/winograd.h"
#include "codegen/plan_queries.h"
#include "codegen/scalar_emitter.h"
#include "graph/status_macros.h"

namespace tailor {
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
        pieces_(kPanelColumns / schedule.lanes) {}

  // Everything that versions share: strides, and the micro-kernels that some extents need.
  absl::Status Prepare(const std::string& name) {
    TAILOR_ASSIGN_OR_RETURN(left_form_, FormOfLeftOperand(plan_, c_));
    MicroKernel kernel;
    kernel.lanes = kPanelColumns / pieces_;
    kernel.lhs = plan_.buffers[c_.lhs.ref].dtype;
    kernel.rhs = plan_.buffers[c_.rhs.ref].dtype;
    kernel.accumulate = c_.accumulate;
    kernel.unit_depth_stride = left_form_.unit_depth_stride;
    kernel.tables = left_form_.tables;
    kernel.odd_depth = RangeOf(c_.k).fixed ? RangeOf(c_.k).max % 2 != 0 : RangeOf(c_.k).divisor % 2 != 0;
    const ExtentRange m = RangeOf(c_.m), n = RangeOf(c_.n);
    for (const auto& [rows, panels] : ReachableTiles(m, n, tile_, pieces_)) {
      kernel.rows = rows;
      kernel.panels = panels;
      kernel.fetch_ahead = FetchesAhead(rows);
      micro_kernels_.Add(kernel, target_, name, module_);
      KeepSums(rows, panels);
    }
    depth_blocks_ = RangeOf(c_.k).max > tile_.depth;
    epilogue_runs_ = EpilogueRuns(plan_, c_, AlongRows() ? c_.m : c_.n);
    if (KeepsRows()) {
      KeepSums(tile_.task_rows, KeepsGroups() ? tile_.task_panels : tile_.panels);
      for (const ProductCut& cut : tile_.cuts) KeepSums(cut.task_rows, cut.panels);
    }
    return absl::OkStatus();
  }

  void EmitFunction(const std::string& name) {
    frame_ = OpenKernelFunction(b_, module_, plan_, name);
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    ScalarEmitter scalars(b_, target_, plan_, frame_);
    scalars_ = &scalars;
    sum_type_ = RegisterType(b_.getContext(), c_.accumulate, 1);
    auto* tile = b_.CreateAlloca(sum_type_, b_.getInt64(tile_sums_), "tile");
    tile->setAlignment(llvm::Align(64));
    tile_memory_ = tile;
    LeftOperand left(b_, plan_, c_, left_form_, schedule_, depth_blocks_, frame_, scalars);
    left_ = &left;
    TileEpilogue epilogue(b_, plan_, c_, schedule_, frame_, scalars);
    epilogue_ = &epilogue;
    EmitCuts();
    EmitLoop(b_, function->getArg(1), function->getArg(2), 1, "task", [&](Value* task) { EmitTask(task); });
    b_.CreateRetVoid();
    scalars_ = nullptr;
    epilogue_ = nullptr;
    left_ = nullptr;
  }

 private:
  // One micro-kernel's place in the result.
  struct Tile : TileSums {
    Value* tiles;  // of the task that use these panels
    Value* left;   // of them, after this one
  };

  // Not panels that are known to stay in the first cache. Where elements are widened, the fullest tile has no register
  // left for it.
  bool FetchesAhead(int rows) const {
    constexpr int64_t kSmall = 1 << 16;  // bytes
    const ExtentRange n = RangeOf(c_.n), k = RangeOf(c_.k);
    const DType dtype = plan_.buffers[c_.rhs.ref].dtype;
    if (n.fixed && k.fixed && k.max * n.max < kSmall / SizeOf(dtype)) return false;
    return rows < tile_.rows || dtype == c_.accumulate;
  }

  void KeepSums(int64_t rows, int64_t panels) {
    tile_sums_ = std::max(tile_sums_, WholeLanes(rows) * panels * kPanelColumns);
  }

  ExtentRange RangeOf(int axis) const { return RangeOfExtent(plan_, plan_.axes[axis].extent); }
  Value* AxisExtent(int axis) { return frame_.ExtentValue(b_, plan_.axes[axis].extent); }
  Value* I64(int64_t value) { return b_.getInt64(value); }
  Value* AtLeastOne(Value* value) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, value, I64(1)); }

  // How this launch's extents are cut; the numbers of blocks are those of Schedule::tasks.
  void EmitCuts() {
    Value* m = AxisExtent(c_.m);
    Value* n = AxisExtent(c_.n);
    Value* panels = EmitCeilDiv(b_, n, I64(kPanelColumns), "panels");
    const Cut cut = tile_.chooses ? ChosenCut() : RuleCut(m);
    rows_ = EvenCut::Emit(b_, m, cut.limits.rows, cut.whole_rows);
    groups_ = EvenCut::Emit(b_, panels, cut.limits.panels, cut.whole_panels);
    own_ahead_ = cut.ahead;
    row_blocks_ = AtLeastOne(EmitCeilDiv(b_, m, cut.task_rows, "row.blocks"));
    panel_blocks_ = AtLeastOne(EmitCeilDiv(b_, n, cut.task_columns, "panel.blocks"));
    panel_stride_ = b_.CreateMul(EmitPanelRows(), I64(kPanelColumns), "panel.stride");
    batch_stride_ = b_.CreateMul(panel_stride_, panels, "batch.stride");
    constexpr int64_t kLargeResult = 1 << 17;  // elements; half of an L2 cache of 1 MiB
    Value* results = b_.CreateMul(m, n, "results");
    for (int axis : c_.batch) results = b_.CreateMul(results, AxisExtent(axis), "results");
    large_ = b_.CreateICmpUGE(results, I64(kLargeResult), "large");
  }

  struct Cut {
    RuleLimits limits;
    Value *whole_rows = nullptr, *whole_panels = nullptr;
    Value *task_rows, *task_columns;
    Value* ahead;  // CostProfile::ahead
  };

  Cut RuleCut(Value* m) {
    return {.limits = RuleLimits::Emit(b_, m, tile_, pieces_),
            .task_rows = I64(tile_.task_rows),
            .task_columns = I64(tile_.task_panels * kPanelColumns),
            .ahead = I64(static_cast<int64_t>(CostProfile().ahead))};
  }

  // From the argument block's last slot (CutWord).
  Cut ChosenCut() {
    Value* args = b_.GetInsertBlock()->getParent()->getArg(0);
    Value* slot = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), args, ArgumentSlots(plan_), "slot");
    Value* word = b_.CreateAlignedLoad(b_.getInt64Ty(), slot, llvm::Align(8), "cut");
    const auto field = [&](int first, int bits, const char* name) -> Value* {
      return b_.CreateAnd(b_.CreateLShr(word, first), I64((int64_t{1} << bits) - 1), name);
    };
    const auto flag = [&](int bit, const char* name) { return b_.CreateTrunc(field(bit, 1, name), b_.getInt1Ty()); };
    return {.limits = {field(0, 8, "row.limit"), field(8, 8, "panel.limit")},
            .whole_rows = flag(16, "whole.rows"),
            .whole_panels = flag(17, "whole.panels"),
            .task_rows = field(32, 16, "task.rows"),
            .task_columns = b_.CreateMul(field(48, 16, "task.panels"), I64(kPanelColumns), "task.columns"),
            .ahead = field(kAheadBit, kAheadBits, "ahead")};
  }

  // Rows of a panel: the depth, whole pairs of it where pairs lie together.
  Value* EmitPanelRows() {
    Value* depth = AxisExtent(c_.k);
    if (plan_.buffers[c_.rhs.ref].layout != ConstantLayout::kPairPanels16) return depth;
    return b_.CreateAnd(b_.CreateAdd(depth, I64(1)), ~uint64_t{1}, "panel.rows");
  }

  // Whether all batch indices read the same panels.
  bool SharesPanels() const {
    const auto depends = [&](ExprId index) {
      return std::any_of(c_.batch.begin(), c_.batch.end(), [&](int axis) { return DependsOn(plan_, index, axis); });
    };
    return std::none_of(c_.rhs.args.begin(), c_.rhs.args.end(), depends);
  }

  // The blocks that task number `task` works on, and the batch axes' values. Tasks that read the same panels follow one
  // another.
  void EmitBlocks(Value* task) {
    row_block_ = b_.CreateURem(task, row_blocks_, "row.block");
    Value* rest = b_.CreateUDiv(task, row_blocks_);
    last_rows_ = b_.CreateICmpEQ(b_.CreateAdd(row_block_, I64(1)), row_blocks_, "last.rows");
    Value* batch;
    if (SharesPanels()) {
      Value* batches = I64(1);
      for (int axis : c_.batch) batches = b_.CreateMul(batches, AxisExtent(axis), "batches");
      batches = AtLeastOne(batches);
      batch = b_.CreateURem(rest, batches, "batch");
      panel_block_ = b_.CreateUDiv(rest, batches, "panel.block");
      last_rows_ = b_.CreateAnd(last_rows_, b_.CreateICmpEQ(b_.CreateAdd(batch, I64(1)), batches), "last.rows");
    } else {
      panel_block_ = b_.CreateURem(rest, panel_blocks_, "panel.block");
      batch = b_.CreateUDiv(rest, panel_blocks_, "batch");
    }
    for (int i = static_cast<int>(c_.batch.size()) - 1; i >= 0; --i) {
      Value* extent = AxisExtent(c_.batch[i]);
      scalars_->SetAxis(c_.batch[i], i == 0 ? batch : b_.CreateURem(batch, extent, "batch.index"));
      if (i > 0) batch = b_.CreateUDiv(batch, extent);
    }
  }

  void EmitTask(Value* task) {
    EmitBlocks(task);
    EmitRightAddress();
    auto next = [&](Value* block) { return b_.CreateAdd(block, I64(1)); };
    first_tile_ = rows_.BlockStart(b_, row_block_, row_blocks_);
    last_tile_ = rows_.BlockStart(b_, next(row_block_), row_blocks_);
    first_row_ = rows_.Start(b_, first_tile_);
    task_rows_ = b_.CreateSub(rows_.Start(b_, last_tile_), first_row_, "task.rows");
    Value* first_group = groups_.BlockStart(b_, panel_block_, panel_blocks_);
    Value* last_group = groups_.BlockStart(b_, next(panel_block_), panel_blocks_);
    first_panel_ = groups_.Start(b_, first_group);
    const auto for_groups = [&](llvm::function_ref<void(Value*)> body) {
      EmitLoop(b_, first_group, last_group, 1, "group", body);
    };
    const auto for_depths = [&](llvm::function_ref<void(Value*)> body) {
      EmitLoop(b_, I64(0), AtLeastOne(AxisExtent(c_.k)), tile_.depth, "depth", body);
    };
    if (!depth_blocks_) {
      EmitLeftPart(I64(0));
      for_groups([&](Value* group) { EmitRowTiles(group, I64(0)); });
    } else if (KeepsGroups()) {
      for_depths([&](Value* k) {
        EmitLeftPart(k);
        for_groups([&](Value* group) { EmitRowTiles(group, k); });
      });
    } else {
      EmitLeftPart(I64(0));
      for_groups([&](Value* group) { for_depths([&](Value* k) { EmitRowTiles(group, k); }); });
    }
  }

  // What the task reads of the left operand in the part of K from `k` on.
  void EmitLeftPart(Value* k) { left_->EmitPart(first_row_, task_rows_, k, EmitDepth(k)); }

  // Of the part of K from `k` on.
  Value* EmitDepth(Value* k) {
    Value* depth = b_.CreateSub(AxisExtent(c_.k), k, "depth");
    return depth_blocks_ ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, depth, I64(tile_.depth)) : depth;
  }

  // Where the right operand of the current batch index starts.
  void EmitRightAddress() {
    const Buffer& rhs = plan_.buffers[c_.rhs.ref];
    Value* offset = I64(0);
    for (size_t d = 0; d + 2 < c_.rhs.args.size(); ++d) {
      offset = b_.CreateMul(offset, frame_.ExtentValue(b_, rhs.dims[d]));
      offset = b_.CreateAdd(offset, scalars_->Emit(c_.rhs.args[d]), "rhs.batch");
    }
    rhs_ = Element(rhs.dtype, frame_.buffers[c_.rhs.ref], b_.CreateMul(offset, batch_stride_), "rhs");
  }

  // Row-major offset in elements of a load, at the current axis values.
  Value* EmitOffset(const Expr& load) {
    const Buffer& buffer = plan_.buffers[load.ref];
    Value* offset = I64(0);
    for (size_t d = 0; d < load.args.size(); ++d) {
      offset = b_.CreateMul(offset, frame_.ExtentValue(b_, buffer.dims[d]));
      offset = b_.CreateAdd(offset, scalars_->Emit(load.args[d]), "offset");
    }
    return offset;
  }

  Value* Element(DType dtype, Value* base, Value* offset, const char* name) {
    return b_.CreateInBoundsGEP(MemoryType(b_.getContext(), dtype, 1), base, offset, name);
  }

  // Whether sums of all the task's rows are kept until the last of them are finished: K runs in parts, or the epilogue
  // along rows.
  bool KeepsRows() const { return depth_blocks_ || AlongRows(); }
  // Those of all its columns too: what is made ready for a part of K serves them all.
  bool KeepsGroups() const { return depth_blocks_ && left_form_.tables; }
  bool AlongRows() const { return schedule_.lane_axis == c_.m; }

  // All row tiles of the task against one group of panels, for K from `k` to the end of its part.
  void EmitRowTiles(Value* group, Value* k) {
    Tile tile;
    tile.panel = groups_.Start(b_, group);
    tile.panels = groups_.Size(b_, group);
    Value* width = b_.CreateMul(tile.panels, I64(kPanelColumns), "width");
    tile.tiles = b_.CreateSub(last_tile_, first_tile_, "tiles");
    Value* done = b_.getTrue();
    if (depth_blocks_) done = b_.CreateICmpSGE(b_.CreateAdd(k, I64(tile_.depth)), AxisExtent(c_.k), "done");
    Value* group_sums = tile_memory_;
    if (KeepsGroups()) {
      Value* panels_before = b_.CreateSub(tile.panel, first_panel_);
      Value* offset = b_.CreateMul(panels_before, I64(WholeLanes(tile_.task_rows) * kPanelColumns));
      group_sums = b_.CreateInBoundsGEP(sum_type_, tile_memory_, offset, "group.sums");
    }
    EmitLoop(b_, first_tile_, last_tile_, 1, "row.tile", [&](Value* index) {
      tile.row = rows_.Start(b_, index);
      tile.rows = rows_.Size(b_, index);
      tile.address = group_sums;
      tile.left = b_.CreateSub(b_.CreateSub(last_tile_, I64(1)), index, "tiles.left");
      if (KeepsRows()) {
        Value* offset = b_.CreateMul(b_.CreateSub(tile.row, first_row_), width);
        tile.address = b_.CreateInBoundsGEP(sum_type_, group_sums, offset, "tile.sums");
      }
      EmitPrefetch(tile, index, done);
      EmitMicroKernelCall(tile, k);
      if (!AlongRows()) EmitIf(b_, done, "epilogue", [&] { epilogue_->Emit(tile); });
    });
    if (!AlongRows()) return;
    tile.row = first_row_;
    tile.rows = task_rows_;
    tile.address = group_sums;
    EmitIf(b_, done, "epilogue", [&] { epilogue_->Emit(tile); });
  }

  // In a launch whose results leave the cache, asks for the memory that the tile's epilogue will touch, so that
  // it arrives while K runs; only if `last`, the epilogue being next.
  void EmitPrefetch(const Tile& tile, Value* index, Value* last) {
    if (epilogue_runs_.empty()) return;
    EmitIf(b_, b_.CreateAnd(large_, last), "prefetch", [&] {
      Value* first_column = b_.CreateMul(tile.panel, I64(kPanelColumns), "n");
      if (AlongRows()) return EmitPrefetchColumns(tile, index, first_column);
      scalars_->SetAxis(c_.n, first_column);
      EmitLoop(b_, I64(0), tile.rows, 1, "prefetch.row", [&](Value* row) {
        scalars_->SetAxis(c_.m, b_.CreateAdd(tile.row, row, "m"));
        for (const Expr& access : epilogue_runs_) {
          EmitPrefetchRun(access, I64(tile_.panels * kPanelColumns * SizeOf(plan_.buffers[access.ref].dtype)));
        }
      });
    });
  }

  // The epilogue comes after all tiles and runs along the task's rows: each tile asks for some of the columns.
  void EmitPrefetchColumns(const Tile& tile, Value* index, Value* first_column) {
    Value* columns = b_.CreateMul(tile.panels, I64(kPanelColumns), "columns");
    const auto share = [&](Value* tiles) {
      return b_.CreateAdd(first_column, b_.CreateUDiv(b_.CreateMul(tiles, columns), tile.tiles), "share");
    };
    Value* number = b_.CreateSub(index, first_tile_, "number");
    scalars_->SetAxis(c_.m, first_row_);
    Value* next_share = share(b_.CreateAdd(number, I64(1)));
    Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next_share, AxisExtent(c_.n), nullptr, "columns.end");
    EmitLoop(b_, share(number), end, 1, "prefetch.column", [&](Value* column) {
      scalars_->SetAxis(c_.n, column);
      for (const Expr& access : epilogue_runs_) {
        EmitPrefetchRun(access, b_.CreateMul(task_rows_, I64(SizeOf(plan_.buffers[access.ref].dtype)), "run.bytes"));
      }
    });
  }

  // The lines of `bytes` from where `access` is on.
  void EmitPrefetchRun(const Expr& access, Value* bytes) {
    constexpr int kLineBytes = 64;
    Value* address =
        Element(plan_.buffers[access.ref].dtype, frame_.buffers[access.ref], EmitOffset(access), "touched");
    EmitLoop(b_, I64(0), bytes, kLineBytes, "prefetch.line",
             [&](Value* byte) { EmitFetchLine(b_, b_.CreateGEP(b_.getInt8Ty(), address, byte, "line")); });
  }

  void EmitMicroKernelCall(const Tile& tile, Value* k) {
    Value* rhs_offset = b_.CreateAdd(b_.CreateMul(tile.panel, panel_stride_), b_.CreateMul(k, I64(kPanelColumns)));
    Value* depth = EmitDepth(k);
    Value* rhs = Element(plan_.buffers[c_.rhs.ref].dtype, rhs_, rhs_offset, "rhs.tile");
    const Ahead ahead = EmitAhead(tile, k, depth);
    const LeftOperand::Arguments left = left_->At(tile.row, k);
    Value* arguments[] = {left.address,  left.rows,    left.depths,  rhs,
                          panel_stride_, depth,        tile.address, b_.CreateICmpNE(k, I64(0), "resume"),
                          ahead.address, ahead.stride, ahead.step};
    micro_kernels_.EmitCall(b_, tile.rows, tile.panels, arguments);
  }

  // What a tile fetches while it works, as a micro-kernel takes it.
  struct Ahead {
    Value* address;
    Value* stride;  // bytes
    Value* step;    // bytes
  };

  // A task's lone tile of these panels reads them as fast as it can, and where the machine does not see to it fetches
  // them from a little further on. Of several tiles the first finds them in cache if the tiles before have shared in
  // fetching them; while other rows are still to come with these panels, a tile fetches the next rows instead, unless
  // tables say where those are.
  Ahead EmitAhead(const Tile& tile, Value* k, Value* depth) {
    if (!FetchesAhead(1)) return {rhs_, I64(0), I64(0)};
    const Ahead own = EmitOwnPanelsAhead(tile, k), next = EmitPanelsAhead(tile, k, depth),
                rows = left_form_.tables ? Ahead{rhs_, I64(0), I64(1)} : EmitRowsAhead(tile, k, depth);
    Value* lone = b_.CreateICmpEQ(tile.tiles, I64(1), "lone");
    const auto choose = [&](Value* Ahead::*part) {
      Value* shared = b_.CreateSelect(last_rows_, next.*part, rows.*part);
      return b_.CreateSelect(lone, own.*part, shared, "ahead");
    };
    return {choose(&Ahead::address), choose(&Ahead::stride), choose(&Ahead::step)};
  }

  int PanelStepBytes() const { return kPanelColumns * SizeOf(plan_.buffers[c_.rhs.ref].dtype); }
  Value* PanelStrideBytes() { return b_.CreateMul(panel_stride_, I64(SizeOf(plan_.buffers[c_.rhs.ref].dtype))); }

  Ahead EmitOwnPanelsAhead(const Tile& tile, Value* k) {
    constexpr int64_t kAlmostNothing = 1;  // a line of its own for every 64 k
    Value* row = b_.CreateAdd(k, own_ahead_);
    Value* none = b_.CreateICmpEQ(own_ahead_, I64(0), "none.ahead");
    Value* step = b_.CreateSelect(none, I64(kAlmostNothing), I64(PanelStepBytes()), "own.step");
    Value* offset = b_.CreateAdd(b_.CreateMul(tile.panel, panel_stride_), b_.CreateMul(row, I64(kPanelColumns)));
    return {AnyElement(c_.rhs, rhs_, offset, "own.panels.ahead"), PanelStrideBytes(), step};
  }

  // This tile's share of the panels after these, or of these where the next part of K is next.
  Ahead EmitPanelsAhead(const Tile& tile, Value* k, Value* depth) {
    Value* panel = b_.CreateAdd(tile.panel, tile.panels);
    Value* row = I64(0);
    if (depth_blocks_) {
      Value* rest = b_.CreateAdd(k, I64(tile_.depth));
      Value* more = b_.CreateICmpSLT(rest, AxisExtent(c_.k), "more.depth");
      panel = b_.CreateSelect(more, tile.panel, panel);
      row = b_.CreateSelect(more, rest, row);
    }
    Value* offset = b_.CreateAdd(b_.CreateMul(panel, panel_stride_), b_.CreateMul(row, I64(kPanelColumns)));
    Value* step = b_.CreateLShr(I64(PanelStepBytes()), EmitFloorLog2(tile.tiles), "step");
    Value* index = b_.CreateSub(b_.CreateSub(tile.tiles, I64(1)), tile.left);
    Value* share = b_.CreateMul(b_.CreateMul(index, depth), step, "share");
    Value* address = AnyElement(c_.rhs, rhs_, offset, "panels.ahead");
    return {b_.CreateGEP(b_.getInt8Ty(), address, share, "share.ahead"), PanelStrideBytes(), step};
  }

  // Rows that follow one another in memory are one run of it, of which the parts of K fetch parts.
  Ahead EmitRowsAhead(const Tile& tile, Value* k, Value* depth) {
    if (IsUnitStride(plan_, left_form_.row_coefficients)) return EmitColumnsAhead(tile, k);
    constexpr int64_t kBytes = 32;  // for each k: eight rows of f32
    Value* step = b_.CreateLShr(I64(kBytes), EmitFloorLog2(tile.panels), "step");
    Value* row = left_->AddressOf(b_.CreateAdd(tile.row, tile.rows), I64(0));
    Value* address = b_.CreateGEP(b_.getInt8Ty(), row, b_.CreateMul(k, I64(kBytes)), "rows.ahead");
    return {address, b_.CreateMul(depth, step), step};
  }

  // Rows that lie across memory: at each k the line that comes after this tile's.
  Ahead EmitColumnsAhead(const Tile& tile, Value* k) {
    constexpr int64_t kLineBytes = 64;
    Value* address = b_.CreateGEP(b_.getInt8Ty(), left_->AddressOf(tile.row, k), I64(kLineBytes), "columns.ahead");
    Value* step = b_.CreatePtrDiff(b_.getInt8Ty(), left_->AddressOf(tile.row, b_.CreateAdd(k, I64(1))),
                                   left_->AddressOf(tile.row, k), "step");
    return {address, I64(0), step};
  }

  Value* EmitFloorLog2(Value* value) {
    return b_.CreateSub(I64(63), b_.CreateIntrinsic(llvm::Intrinsic::ctlz, {b_.getInt64Ty()}, {value, b_.getTrue()}),
                        "log2");
  }

  // An address that may lie beyond the operand.
  Value* AnyElement(const Expr& operand, Value* base, Value* offset, const char* name) {
    return b_.CreateGEP(MemoryType(b_.getContext(), plan_.buffers[operand.ref].dtype, 1), base, offset, name);
  }

  KernelPlan plan_;  // a copy, for strides are expressions of their own
  const Contraction& c_;
  const Schedule& schedule_;
  const ContractionTile tile_;
  const EmitTarget& target_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  const int pieces_;  // registers that 16 sums fill

  LeftForm left_form_;
  MicroKernels micro_kernels_;
  std::vector<Expr> epilogue_runs_;  // what the epilogue reads and writes along its lanes' axis, as loads
  int64_t tile_sums_ = kPanelColumns;
  bool depth_blocks_ = false;  // K may be longer than one block

  // Values of the function being emitted.
  KernelFrame frame_;
  ScalarEmitter* scalars_ = nullptr;
  LeftOperand* left_ = nullptr;
  TileEpilogue* epilogue_ = nullptr;
  llvm::Type* sum_type_ = nullptr;
  Value* tile_memory_ = nullptr;
  EvenCut rows_, groups_;
  Value* own_ahead_ = nullptr;  // how many k
  Value *row_blocks_ = nullptr, *panel_blocks_ = nullptr;
  Value *panel_stride_ = nullptr, *batch_stride_ = nullptr;
  Value* last_rows_ = nullptr;  // i1: no later task reads the task's panels
  Value* large_ = nullptr;      // i1: the result does not stay in cache
  Value* rhs_ = nullptr;        // of the current batch index
  // Of the current task.
  Value *row_block_ = nullptr, *panel_block_ = nullptr;
  Value *first_tile_ = nullptr, *last_tile_ = nullptr;  // of rows
  Value *first_row_ = nullptr, *task_rows_ = nullptr;
  Value* first_panel_ = nullptr;
};

}  // namespace

absl::Status EmitContraction(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                             const std::string& name, llvm::Module& module) {
  auto contraction = ReadContraction(plan);
  if (!contraction.ok()) return contraction.status();
  if (IsWinograd(plan, *contraction)) {
    EmitWinograd(plan, *contraction, schedule, target, name, module);
    return absl::OkStatus();
  }
  ContractionEmitter emitter(plan, *contraction, schedule, target, module);
  if (absl::Status status = emitter.Prepare(name); !status.ok()) return status;
  for (size_t i = 0; i < schedule.versions.size(); ++i) emitter.EmitFunction(absl::StrCat(name, "_v", i));
  return absl::OkStatus();
}

}  // namespace tailor
