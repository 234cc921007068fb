// A kernel is a grid-stride loop over the points of the parallel axes. A point belongs to a thread, a group of threads,
// or a block; its threads share its loops. The plan's stages run in order.
//
// If several blocks share a point, each phase of its stages (stage_phases.h) is such a loop, over parts of points.
#include "codegen/cuda/loops/emit_loops.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/unroll.h"
#include "codegen/cuda/frame/frame.h"
#include "codegen/cuda/frame/whole_vectors.h"
#include "codegen/cuda/loops/block_reduce.h"
#include "codegen/cuda/loops/transpose_tiles.h"
#include "codegen/cuda/schedule/access.h"
#include "codegen/cuda/schedule/schedule_parts.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/stage_phases.h"
#include "codegen/scalar/block_sums.h"
#include "codegen/scalar/partial_reductions.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cuda {
namespace {

using llvm::Value;
using RunShape = CudaVersion::Shape;

constexpr int kUnroll = 4;  // unroll count of a loop that waits for memory
// Totals take registers. In what fits a device, a thread adds at most some 64^3 elements, so the last level has few.
constexpr size_t kSumLevels = 2;

class CudaLoopEmitter {
 public:
  CudaLoopEmitter(const KernelPlan& plan, const CudaVersion& version, llvm::Module& module, const std::string& name)
      : plan_(plan),
        version_(version),
        b_(module.getContext()),
        frame_(OpenCudaKernel(b_, module, plan, version, name)),
        function_(b_.GetInsertBlock()->getParent()),
        emitter_(b_, target_, plan_, frame_),
        private_(ExchangedIsThreadPrivate(plan)),
        thread_(b_.CreateZExt(device::EmitThreadId(b_), b_.getInt64Ty(), "thread")) {
    if (version.version.no_broadcast) emitter_.AssumeNoBroadcast();
    SplitThread();
  }

  void Emit() {
    if (version_.lanes > 1) {
      EmitIfElse(
          TakesVectors(), [&] { EmitPoints(version_.lanes); }, [&] { EmitPoints(1); });
    } else {
      EmitPoints(1);
    }
    b_.CreateRetVoid();
  }

 private:
  // ---- Threads ----

  bool Shares() const { return version_.shape != RunShape::kThreadPerElement; }
  // Threads of a block have different points; all of them take part in barriers and reductions.
  bool Packs() const { return Shares() && version_.points() > 1; }
  Value* DimSizeOf(int axis) { return frame_.DimSizeValue(b_, plan_.axes[axis].dim_size); }

  // Threads that hold their rows load an element for each turn, even past the end, so there must be one.
  Value* TakesVectors() {
    Value* whole = EmitAreVectorsWhole(b_, plan_, version_, frame_);
    if (version_.vectors_per_thread == 0) return whole;
    return b_.CreateAnd(whole, b_.CreateICmpNE(DimSizeOf(version_.lane_axis), b_.getInt64(0)), "whole.some");
  }

  // Sets this thread's point of the block, and its index among the point's threads.
  void SplitThread() {
    if (version_.shape == RunShape::kColumns) {
      point_thread_ = b_.CreateAnd(thread_, kWarp - 1, "column");
      sharer_ = b_.CreateLShr(thread_, 5, "warp");
      sharers_ = version_.threads / kWarp;
    } else if (Packs()) {
      point_thread_ = b_.CreateUDiv(thread_, b_.getInt64(version_.row_threads), "row.of_block");
      sharer_ = b_.CreateURem(thread_, b_.getInt64(version_.row_threads), "thread.of_row");
      sharers_ = version_.row_threads;
    } else {
      point_thread_ = thread_;
      sharer_ = thread_;
      sharers_ = version_.threads;
    }
  }

  void EmitIfElse(Value* condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
    llvm::LLVMContext& context = b_.getContext();
    auto* yes = llvm::BasicBlock::Create(context, "whole", function_);
    auto* no = llvm::BasicBlock::Create(context, "parts", function_);
    auto* after = llvm::BasicBlock::Create(context, "end", function_);
    b_.CreateCondBr(condition, yes, no);
    b_.SetInsertPoint(yes);
    then();
    b_.CreateBr(after);
    b_.SetInsertPoint(no);
    otherwise();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  // ---- Points ----

  std::vector<int> ParallelAxes() const { return AxesOf(plan_, AxisRole::kParallel); }
  bool LanesArePoints() const { return lanes_ > 1 && plan_.axes[version_.lane_axis].role == AxisRole::kParallel; }

  // Dim size of an axis as a digit of points: a vector counts as one.
  Value* PointDimSize(int axis) {
    if (!LanesArePoints() || axis != version_.lane_axis) return DimSizeOf(axis);
    return b_.CreateUDiv(DimSizeOf(axis), b_.getInt64(lanes_), "vectors");
  }

  void EmitPoints(int lanes) {
    lanes_ = lanes;
    turns_ = lanes > 1 ? version_.vectors_per_thread : 0;
    for (const auto& [buffer, values] : held_) emitter_.SetLocal(buffer, nullptr);
    held_.clear();
    if (version_.lanes > 1) emitter_.SetLanes(version_.lane_axis, b_.getInt64(0), 1, nullptr);
    const auto are_whole = [this](int buffer, const std::vector<ExprId>& indices) {
      return LiesInRuns(plan_, {buffer, indices}, version_.lane_axis, version_.version.no_broadcast);
    };
    emitter_.SetWholeVectors(lanes > 1 ? ScalarEmitter::AreWhole(are_whole) : nullptr);
    Value* count = b_.getInt64(1);
    for (int axis : ParallelAxes()) count = b_.CreateMul(count, PointDimSize(axis), "points");
    if (version_.cooperative) return EmitPhases(count);
    Value* block = b_.CreateZExt(device::EmitBlockId(b_), b_.getInt64Ty(), "block");
    Value* blocks = b_.CreateZExt(device::EmitGridDim(b_), b_.getInt64Ty(), "blocks");
    Value* points = b_.getInt64(version_.points());
    Value* first = b_.CreateMul(block, points, "first");
    Value* step = b_.CreateMul(blocks, points, "stride");
    if (!Shares()) first = b_.CreateAdd(first, thread_, "first.of_thread");
    EmitLoop(b_, first, count, step, "point", [&](Value* point) {
      if (Packs()) point = OwnPoint(point, count);
      SetPoint(point);
      EmitStages();
      emitter_.Forget();
    });
  }

  // Threads without a point of their own get the last point: they take part in barriers, and do nothing else for it.
  Value* OwnPoint(Value* first, Value* count) {
    Value* point = b_.CreateAdd(first, point_thread_, "point.own");
    has_point_ = b_.CreateICmpSLT(point, count, "has_point");
    return b_.CreateSelect(has_point_, point, b_.CreateSub(count, b_.getInt64(1)), "point.known");
  }

  // Splits the point's number into digits, one per parallel axis, the last axis fastest.
  void SetPoint(Value* point) {
    const std::vector<int> axes = ParallelAxes();
    for (size_t i = axes.size(); i-- > 0;) {
      Value* digit = point;
      if (i > 0) {
        digit = b_.CreateURem(point, PointDimSize(axes[i]), "index");
        point = b_.CreateUDiv(point, PointDimSize(axes[i]), "rest");
      }
      if (LanesArePoints() && axes[i] == version_.lane_axis) {
        emitter_.SetLanes(axes[i], b_.CreateMul(digit, b_.getInt64(lanes_), "lane.first"), lanes_, nullptr);
      } else {
        emitter_.SetAxis(axes[i], digit);
      }
    }
  }

  // ---- Points that blocks share ----

  void EmitPhases(Value* count) {
    Value* rows = b_.CreateMul(count, frame_.row_bytes, "rows.bytes");
    Value* base = b_.CreateInBoundsGEP(b_.getInt8Ty(), frame_.scratch, rows, "cells");
    Value* points = b_.getInt64(version_.points());
    Value* groups = b_.CreateUDiv(b_.CreateAdd(count, b_.getInt64(version_.points() - 1)), points, "groups");
    partials_.emplace(b_, base, groups, frame_.Get(KernelParameter::kParts), version_.points());
    for (const Phase& phase : PhasesOf(plan_)) {
      if (phase.first > 0) device::EmitGridBarrier(b_, frame_.Get(KernelParameter::kGridBarrier));
      EmitPhase(phase, groups, count);
    }
  }

  void EmitPhase(const Phase& phase, Value* groups, Value* count) {
    Value* parts = phase.once ? b_.getInt64(1) : frame_.Get(KernelParameter::kParts);
    Value* block = b_.CreateZExt(device::EmitBlockId(b_), b_.getInt64Ty(), "block");
    Value* blocks = b_.CreateZExt(device::EmitGridDim(b_), b_.getInt64Ty(), "blocks");
    EmitLoop(b_, block, b_.CreateMul(groups, parts, "items"), blocks, "item", [&](Value* item) {
      place_ = {b_.CreateUDiv(item, parts, "group"), b_.CreateURem(item, parts, "part"),
                Packs() ? point_thread_ : b_.getInt64(0)};
      Value* point = place_.group;
      if (Packs()) point = OwnPoint(b_.CreateMul(point, b_.getInt64(version_.points()), "first"), count);
      SetPoint(point);
      PlaceRows(point);
      if (!phase.once) SetPart(parts);
      DefineLocals(phase);
      for (int i = phase.first; i < phase.end; ++i) EmitStage(plan_.stages[i]);
      emitter_.Forget();
    });
  }

  // Each row has its own buffers.
  void PlaceRows(Value* point) {
    Value* offset = b_.CreateMul(point, frame_.row_bytes, "row.offset");
    PlaceRowBuffers(b_, plan_, b_.CreateInBoundsGEP(b_.getInt8Ty(), frame_.scratch, offset, "row"), frame_);
  }

  void SetPart(Value* parts) {
    const int axis = AxesOf(plan_, AxisRole::kTile).front();
    const int lanes = axis == version_.lane_axis ? version_.lanes : 1;
    const PartSpan span = EmitPartSpan(b_, DimSizeOf(axis), place_.part, parts, lanes);
    part_begin_ = span.begin;
    part_end_ = span.end;
  }

  // Restores the results of earlier phases for the current point.
  void DefineLocals(const Phase& phase) {
    const std::vector<bool> needed = LocalsNeeded(plan_, phase);
    for (int i = 0; i < phase.first; ++i) {
      const Stage& stage = plan_.stages[i];
      RestoreReductions(stage, needed);
      for (const Statement& s : stage.statements) {
        if (needed[s.buffer] && !Reduces(s)) emitter_.SetLocal(s.buffer, emitter_.Emit(s.value));
      }
    }
  }

  // Combines a point's parts, in a fixed order, for all its threads.
  void RestoreReductions(const Stage& stage, const std::vector<bool>& needed) {
    std::vector<const Statement*> statements;
    std::vector<llvm::AllocaInst*> totals;
    for (const Statement& s : stage.statements) {
      if (!needed[s.buffer] || !Reduces(s)) continue;
      statements.push_back(&s);
      totals.push_back(OpenAccumulator(s, 1));
    }
    if (statements.empty()) return;
    BlockSums blocks(b_, target_, kMostGpuParts / sharers_, kSumLevels);
    for (size_t i = 0; i < statements.size(); ++i) blocks.Add(*statements[i], totals[i]);
    blocks.EmitSteps(sharer_, frame_.Get(KernelParameter::kParts), sharers_, "others", [&](Value* part) {
      for (size_t i = 0; i < statements.size(); ++i) {
        llvm::Type* type = totals[i]->getAllocatedType();
        Value* found = partials_->Load(ReductionNumber(*statements[i]), {place_.group, part, place_.point}, type);
        Accumulate(*statements[i], found, totals[i]);
      }
    });
    blocks.Close();
    std::vector<PartialResult> partials;
    for (size_t i = 0; i < statements.size(); ++i) {
      Value* own = b_.CreateLoad(totals[i]->getAllocatedType(), totals[i], "own");
      partials.push_back({statements[i]->combiner, statements[i]->accumulate, own});
    }
    SetReduced(statements, CombineThreads(partials));
  }

  int ReductionNumber(const Statement& s) const {
    const std::vector<int> all = ReducedLocals(plan_);
    return static_cast<int>(std::find(all.begin(), all.end(), s.buffer) - all.begin());
  }

  void StoreParts(const std::vector<const Statement*>& statements, const std::vector<Value*>& results) {
    EmitIf(b_, b_.CreateICmpEQ(sharer_, b_.getInt64(0), "is_first"), "part", [&] {
      for (size_t i = 0; i < statements.size(); ++i) {
        partials_->Store(ReductionNumber(*statements[i]), place_, results[i]);
      }
    });
  }

  // ---- Stages ----

  void EmitStages() {
    bool keeps = false;
    for (const Stage& stage : plan_.stages) {
      EmitStage(stage);
      keeps |= Keeps(stage);
    }
    // The next point overwrites row buffers that slower threads may still read.
    if (Shares() && keeps && !private_) device::EmitBarrier(b_);
  }

  // Accumulators are stack slots that SROA turns into registers; null for statements that only store.
  void EmitStage(const Stage& stage) {
    std::vector<llvm::AllocaInst*> accumulators = OpenAccumulators(stage);
    BlockSums blocks(b_, target_, MostSteps(stage), kSumLevels);
    for (size_t i = 0; i < stage.statements.size(); ++i) {
      if (Reduces(stage.statements[i])) blocks.Add(stage.statements[i], accumulators[i]);
    }
    EmitStageLoops(stage, 0, blocks, [&] {
      for (size_t i = 0; i < stage.statements.size(); ++i) EmitStatement(stage, stage.statements[i], accumulators[i]);
    });
    blocks.Close();
    CloseAccumulators(stage, accumulators);
    const bool syncs = version_.cooperative;  // the phase ends where other threads read the result
    if (Shares() && Keeps(stage) && !private_ && !syncs) device::EmitBarrier(b_);
  }

  // Whether a stage's loop is the one that the point's threads share: the last for rows, the first for columns.
  bool IsShared(const Stage& stage, size_t depth) const {
    return Shares() && depth == (version_.shape == RunShape::kColumns ? 0 : stage.axes.size() - 1);
  }

  // Upper bound of a thread's additions to an accumulator of `stage`.
  int64_t MostSteps(const Stage& stage) const {
    int64_t steps = 1;
    for (size_t depth = 0; depth < stage.axes.size(); ++depth) {
      const int axis = stage.axes[depth];
      int64_t most = MaxOf(plan_, plan_.axes[axis].dim_size);
      if (axis == version_.lane_axis) most = most / lanes_ + 1;
      if (IsShared(stage, depth)) most = turns_ > 0 ? turns_ : most / sharers_ + kUnroll;
      if (most <= 0) return 0;
      if (most > INT64_MAX / steps) return INT64_MAX;
      steps *= most;
    }
    return steps;
  }

  // Loops of one thread, except for the one that the point's threads share.
  void EmitStageLoops(const Stage& stage, size_t depth, BlockSums& blocks, llvm::function_ref<void()> body) {
    if (depth == stage.axes.size()) return body();
    const int axis = stage.axes[depth];
    const bool shared = IsShared(stage, depth), innermost = depth + 1 == stage.axes.size();
    const bool tiling = version_.cooperative && depth == 0;
    const int lanes = axis == version_.lane_axis ? lanes_ : 1;
    Value* from = shared ? sharer_ : b_.getInt64(0);
    Value* to = tiling ? part_end_ : DimSizeOf(axis);
    if (lanes > 1) from = b_.CreateMul(from, b_.getInt64(lanes), "lane.first");
    if (tiling) from = b_.CreateAdd(part_begin_, from, "part.first");
    // A thread without a point skips the loop: the last point's owner may be writing what it would read.
    if (shared && Packs()) from = b_.CreateSelect(has_point_, from, to, "from");
    const int64_t step = int64_t{shared ? sharers_ : 1} * lanes;
    const auto inside = [&](Value* index) {
      if (lanes > 1) {
        emitter_.SetLanes(axis, index, lanes, nullptr);
      } else {
        emitter_.SetAxis(axis, index);
      }
      EmitStageLoops(stage, depth + 1, blocks, body);
    };
    const char* name = shared ? "shared" : "tile";
    if (shared && turns_ > 0) {
      EmitTurns({from, to, step, turns_, /*other=*/b_.getInt64(0)}, inside);
      if (innermost) blocks.Count(turns_);
    } else if (shared && innermost && IsCheap(stage)) {
      const auto turns = [&](Value* index) { EmitTurns({index, to, step, kUnroll, /*other=*/index}, inside); };
      blocks.EmitSteps(from, to, step * kUnroll, name, turns, /*additions=*/kUnroll);
      SetUnroll(blocks.counter()->getIncomingBlock(1), 1);
    } else if (innermost) {
      blocks.EmitSteps(from, to, step, name, inside);
    } else {
      EmitLoop(b_, from, to, step, name, inside);
    }
    if (lanes > 1) emitter_.SetLanes(axis, b_.getInt64(0), 1, nullptr);
    emitter_.Forget();
  }

  // A thread's turns of a shared loop: from, from + step, ...
  struct Turns {
    Value *from, *to;
    int64_t step;
    int count;
    Value* other;  // index to read in place of one >= `to`
  };

  // No turn branches around its loads, so that all are in flight together. Results of turns past the end are discarded.
  void EmitTurns(const Turns& turns, llvm::function_ref<void(Value*)> body) {
    for (turn_ = 0; turn_ < turns.count; ++turn_) {
      Value* index = b_.CreateAdd(turns.from, b_.getInt64(turn_ * turns.step), "turn.index");
      in_turn_ = b_.CreateICmpSLT(index, turns.to, "in_turn");
      for (const auto& [buffer, values] : held_) emitter_.SetLocal(buffer, values[turn_]);
      body(b_.CreateSelect(in_turn_, index, turns.other, "turn.read"));
    }
    in_turn_ = nullptr;
  }

  // Whether a stage only reads and waits for memory rather than arithmetic: several steps of its loop at once keep more
  // loads in flight.
  bool IsCheap(const Stage& stage) const {
    constexpr int kMostCost = 8;
    if (stage.statements.size() > 2) return false;  // their sums take registers
    if (!std::all_of(stage.statements.begin(), stage.statements.end(),
                     [&](const Statement& s) { return Reduces(s); })) {
      return false;
    }
    int cost = 0;
    for (ExprId id : ReachableExprs(plan_)) {
      if (plan_.exprs[id].kind == ExprKind::kOp) cost += InfoOf(plan_.exprs[id].op).cost;
    }
    return cost <= kMostCost;
  }

  // Whether a later stage reads what `stage` writes to memory.
  bool Keeps(const Stage& stage) const {
    return std::any_of(stage.statements.begin(), stage.statements.end(),
                       [&](const Statement& s) { return IsKept(plan_, s.buffer); });
  }

  bool Reduces(const Statement& s) const { return !s.reduce_axes.empty() && !IsScan(plan_, s); }

  // Lanes of a statement of `stage`: of the point, or of the stage's own loop.
  int LanesOf(const Stage& stage) const {
    const bool here = std::find(stage.axes.begin(), stage.axes.end(), version_.lane_axis) != stage.axes.end();
    return here || LanesArePoints() ? lanes_ : 1;
  }

  std::vector<llvm::AllocaInst*> OpenAccumulators(const Stage& stage) {
    std::vector<llvm::AllocaInst*> slots;
    for (const Statement& s : stage.statements) {
      slots.push_back(s.reduce_axes.empty() ? nullptr : OpenAccumulator(s, LanesOf(stage)));
    }
    return slots;
  }

  llvm::AllocaInst* OpenAccumulator(const Statement& s, int lanes) {
    return OpenVariable(b_, EmitNeutral(b_, s.combiner, s.accumulate, lanes), "accumulator");
  }

  void Accumulate(const Statement& s, Value* value, llvm::AllocaInst* accumulator) {
    Value* partial = b_.CreateLoad(accumulator->getAllocatedType(), accumulator, "partial");
    Value* combined = EmitCombined(b_, target_, s.combiner, s.accumulate, partial, value);
    if (in_turn_ != nullptr) combined = b_.CreateSelect(in_turn_, combined, partial, "combined.in_turn");
    b_.CreateStore(combined, accumulator);
  }

  void EmitStatement(const Stage& stage, const Statement& s, llvm::AllocaInst* accumulator) {
    Value* value = accumulator != nullptr ? emitter_.EmitLanes(s.value) : emitter_.Emit(s.value);
    if (IsScan(plan_, s)) {
      EmitScanStep(s, value, accumulator);
    } else if (accumulator != nullptr) {
      Accumulate(s, value, accumulator);
    } else if (plan_.buffers[s.buffer].kind == BufferKind::kLocal) {
      emitter_.SetLocal(s.buffer, value);
    } else {
      EmitStore(stage, s, value);
    }
  }

  void Hold(int buffer, Value* value) {
    std::vector<Value*>& values = held_[buffer];
    values.resize(turns_);
    values[turn_] = value;
    emitter_.SetLocal(buffer, value);
  }

  // A value that all threads of a point have is stored by one of them; a value without a point is not stored.
  void EmitStore(const Stage& stage, const Statement& s, Value* value) {
    Value* writes = nullptr;
    if (Shares() && stage.axes.empty()) writes = IsFirstThread();
    const bool own_row = plan_.buffers[s.buffer].kind == BufferKind::kRow;
    if (turns_ > 0 && own_row) return Hold(s.buffer, value);
    if (in_turn_ != nullptr) {
      writes = in_turn_;  // implies a point
    } else if (Packs() && !own_row) {
      writes = writes == nullptr ? has_point_ : b_.CreateAnd(writes, has_point_, "writes");
    }
    if (writes == nullptr) return emitter_.Store(s.buffer, s.indices, value);
    EmitIf(b_, writes, "store", [&] {
      emitter_.Store(s.buffer, s.indices, value);
      emitter_.Forget();
    });
  }

  // The first of all threads that share the point, over all blocks.
  Value* IsFirstThread() {
    Value* first = b_.CreateICmpEQ(sharer_, b_.getInt64(0), "is_first");
    if (!version_.cooperative) return first;
    return b_.CreateAnd(first, b_.CreateICmpEQ(place_.part, b_.getInt64(0)), "is_first.of_all");
  }

  void EmitScanStep(const Statement& s, Value* value, llvm::AllocaInst* slot) {
    Value* before = b_.CreateLoad(slot->getAllocatedType(), slot, "before");
    Value* result = EmitScalarOp(b_, target_, s.combiner, s.accumulate, s.accumulate, {before, value});
    b_.CreateStore(result, slot);
    emitter_.SetLocal(s.buffer, s.exclusive ? before : result);
  }

  void CloseAccumulators(const Stage& stage, const std::vector<llvm::AllocaInst*>& accumulators) {
    std::vector<PartialResult> partials;
    std::vector<const Statement*> statements;
    for (size_t i = 0; i < accumulators.size(); ++i) {
      if (!Reduces(stage.statements[i])) continue;
      const Statement& s = stage.statements[i];
      statements.push_back(&s);
      Value* own = b_.CreateLoad(accumulators[i]->getAllocatedType(), accumulators[i], "own");
      if (own->getType()->isVectorTy() && !LanesArePoints()) {
        own = EmitLaneReduction(b_, own, [&](Value* lhs, Value* rhs) {
          return EmitCombined(b_, target_, s.combiner, s.accumulate, lhs, rhs);
        });
      }
      partials.push_back({s.combiner, s.accumulate, own});
    }
    const std::vector<Value*> results = CombineThreads(partials);
    if (!version_.cooperative) return SetReduced(statements, results);
    if (!statements.empty()) StoreParts(statements, results);
  }

  void SetReduced(const std::vector<const Statement*>& statements, const std::vector<Value*>& results) {
    for (size_t i = 0; i < statements.size(); ++i) {
      const Statement& s = *statements[i];
      assert(plan_.buffers[s.buffer].kind == BufferKind::kLocal);
      const DType stored = plan_.buffers[s.buffer].dtype;
      emitter_.SetLocal(s.buffer, EmitScalarOp(b_, target_, OpKind::kCast, s.accumulate, stored, {results[i]}));
    }
  }

  std::vector<Value*> CombineThreads(const std::vector<PartialResult>& partials) {
    if (version_.shape == RunShape::kRows) return EmitRowReduce(b_, target_, version_.row_threads, partials);
    if (version_.shape == RunShape::kColumns) return EmitColumnReduce(b_, target_, version_.threads, partials);
    std::vector<Value*> own;
    for (const PartialResult& p : partials) own.push_back(p.value);
    return own;
  }

  const EmitTarget target_{.fma = true};
  const KernelPlan& plan_;
  const CudaVersion& version_;
  llvm::IRBuilder<> b_;
  CudaFrame frame_;
  llvm::Function* function_;
  ScalarEmitter emitter_;
  const bool private_;  // no thread reads what another wrote
  Value* thread_;
  Value* point_thread_ = nullptr;  // this thread's point, within the block
  Value* sharer_ = nullptr;        // this thread, within the point's threads
  int sharers_ = 1;
  Value* has_point_ = nullptr;  // if threads pack: whether the point is one of the plan's
  int lanes_ = 1;               // of the code being emitted
  int turns_ = 0;               // likewise: CudaVersion::vectors_per_thread, if threads hold their rows
  int turn_ = 0;
  Value* in_turn_ = nullptr;  // whether the current turn has an element; null outside of turns
  absl::flat_hash_map<int, std::vector<Value*>> held_;  // by row buffer: the thread's value of each turn
  // Where blocks share points: the current part, and its range of the outermost tile axis.
  std::optional<PartialReductions> partials_;
  PartialReductions::Place place_ = {};
  Value *part_begin_ = nullptr, *part_end_ = nullptr;
};

}  // namespace

absl::Status EmitCudaLoops(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                           llvm::Module& module) {
  if (plan.IsContraction() || plan.IsChain()) {
    return absl::InternalError(absl::StrCat("kernel ", name, " is no loop"));
  }
  for (size_t i = 0; i < schedule.versions.size(); ++i) {
    const std::string version = absl::StrCat(name, "_v", i);
    if (schedule.versions[i].shape == RunShape::kTransposed) {
      EmitTransposition(plan, schedule.versions[i], module, version);
    } else {
      CudaLoopEmitter(plan, schedule.versions[i], module, version).Emit();
    }
  }
  return absl::OkStatus();
}

}  // namespace tailor::cuda
