#include "codegen/cpu/loops/stage_loops.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "codegen/cpu/loops/interleave.h"
#include "codegen/cpu/loops/reading_order.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/scalar/poll.h"
#include "codegen/scalar/scalar_ops.h"

namespace tailor::cpu {
namespace {

// Vectors per turn where a wider unrolled loop has too few left.
constexpr int kFewVectors = 4;

// An innermost loop of at most kStraight steps (windows and other short axes) is straight code. Then the masks of the
// padding are computed once for all steps of the outer loops.
constexpr int64_t kStraight = 5;

// Vectors whose instructions are interleaved. Each of them needs some registers.
constexpr int kInTurns = 4;

// Upper bound of the steps after the unrolled loop: of remaining vectors, and of the masked remainder.
constexpr int kRestSteps = kFewVectors + 1;

}  // namespace

StageLoops::StageLoops(llvm::IRBuilderBase& b, const KernelPlan& plan, const Schedule& schedule,
                       const EmitTarget& target, const KernelFrame& frame, const Version& version)
    : b_(b), plan_(plan), schedule_(schedule), target_(target), across_rows_(tailor::LanesAcrossRows(plan, schedule)) {
  for (int i = 0; i < schedule_.interleaved_rows; ++i) {
    frames_.push_back(frame);
    ScalarEmitter& row = rows_.emplace_back(b_, target_, plan_, frames_.back());
    row.SetInterleavedRows(LanesAcrossRows() ? schedule_.lanes : 1);
    if (version.no_broadcast) row.AssumeNoBroadcast();
  }
}

std::vector<int> StageLoops::TaskAxes() const {
  std::vector<int> axes = AxesOf(plan_, AxisRole::kParallel);
  if (!LanesAcrossRows()) return axes;  // in order: a chain's tasks are the rows of its blocks (chain/emit_chain.cc)
  std::erase(axes, schedule_.lane_axis);
  axes = ReadingOrder(plan_, std::move(axes), schedule_.lane_axis);
  axes.push_back(schedule_.lane_axis);
  return axes;
}

llvm::Value* StageLoops::TasksAlong(int axis) {
  if (axis != schedule_.lane_axis) return DimSizeOf(axis);
  llvm::Value* rounded = b_.CreateAdd(DimSizeOf(axis), b_.getInt64(schedule_.lane_chunk - 1));
  return b_.CreateUDiv(rounded, b_.getInt64(schedule_.lane_chunk), "chunks");
}

llvm::Value* StageLoops::Place(ScalarEmitter& row, const std::vector<int>& axes,
                               const std::vector<llvm::Value*>& digits) const {
  for (size_t i = 0; i < axes.size(); ++i) row.SetAxis(axes[i], digits[i]);
  return LanesAcrossRows() ? digits[axes.size() - 1] : nullptr;
}

PartSpan StageLoops::ChunkSpan(llvm::Value* chunk) {
  llvm::Value* first = b_.CreateMul(chunk, b_.getInt64(schedule_.lane_chunk), "first");
  llvm::Value* next = b_.CreateAdd(first, b_.getInt64(schedule_.lane_chunk));
  llvm::Value* end =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, DimSizeOf(schedule_.lane_axis), next, nullptr, "end");
  return {first, end, schedule_.lane_chunk % schedule_.lanes == 0};
}

llvm::Value* StageLoops::PlaceBuffers(int i, llvm::Value* scratch) {
  return PlaceRowBuffers(b_, plan_, scratch, frames_[i], LanesAcrossRows() ? schedule_.lanes : 1);
}

void StageLoops::SetSpan(int axis, PartSpan span) {
  span_axis_ = axis;
  span_ = span;
}

PartSpan StageLoops::SpanOf(int axis) {
  return axis == span_axis_ ? span_ : PartSpan{b_.getInt64(0), DimSizeOf(axis), true};
}

void StageLoops::Forget() {
  ForEachRow([](ScalarEmitter& row) { row.Forget(); });
}

void StageLoops::Enter(ScalarEmitter& row, const Vectors& vectors, int u) {
  llvm::Value* x = b_.CreateAdd(vectors.first, b_.getInt64(int64_t{schedule_.lanes} * u), "x");
  row.SetLanes(schedule_.lane_axis, x, schedule_.lanes, vectors.mask, vectors.at_multiples);
}

llvm::Value* StageLoops::EmitStreamedVectors(PartSpan chunk) {
  ScalarEmitter& row = rows_[0];
  row.SetStreaming(true);
  llvm::Value* full = b_.CreateSub(chunk.end, b_.getInt64(schedule_.lanes - 1), "full.end");
  llvm::Value* end = EmitLoop(b_, chunk.begin, full, schedule_.lanes, "streamed", [&](llvm::Value* x) {
    Enter(row, {.first = x}, 0);
    EmitStages();
  });
  row.SetStreaming(false);
  row.SetLanes(schedule_.lane_axis, chunk.begin, 1, nullptr);
  return end;
}

void StageLoops::EmitRowVectors(PartSpan chunk, llvm::function_ref<void(const Vectors&)> body) {
  EmitVectors(chunk, schedule_.interleaved_rows, nullptr, [&](const Vectors& vectors) {
    if (IsScanOnly(plan_)) {  // one ordered loop carries all of them: adjacent cache lines are visited together
      across_ = vectors;
    } else {
      rows_end_ = vectors.count;
    }
    for (int row = 0; row < rows_end_; ++row) Enter(rows_[row], vectors, row);
    body(vectors);
    rows_end_ = 1;
  });
}

// Runs `body` over `span` of the lane axis: `unroll` vectors at a time, then kFewVectors if that is less, then one,
// then the masked remainder. Of rows whose many vectors are read side by side, two are, too: each pass down the rows
// brings their lines from memory.
void StageLoops::EmitVectors(PartSpan span, int unroll, BlockSums* blocks,
                             llvm::function_ref<void(const Vectors&)> body) {
  const int lanes = schedule_.lanes;
  const int axis = schedule_.lane_axis;
  llvm::Value* next = span.begin;
  const int least = LanesAcrossRows() && unroll > kFewVectors ? 2 : 1;
  const auto narrower = [&](int width) {
    return width > kFewVectors ? kFewVectors : width > least ? least : width > 1 ? 1 : 0;
  };
  for (int width = unroll; width > 0; width = narrower(width)) {
    llvm::Value* full = b_.CreateSub(span.end, b_.getInt64(int64_t{lanes} * width - 1), "full.end");
    const int64_t step = int64_t{lanes} * width;
    const char* name = width > 1 ? "unrolled" : "vector";
    const auto turn = [&](llvm::Value* x) { body({.first = x, .count = width, .at_multiples = span.at_multiples}); };
    next = blocks != nullptr && width == unroll ? blocks->EmitSteps(next, full, step, name, turn)
                                                : EmitLoop(b_, next, full, step, name, turn);
  }
  if (lanes > 1) {
    EmitIf(b_, b_.CreateICmpSLT(next, span.end, "rest"), "tail", [&] {
      body({.first = next,
            .mask = EmitFirstLanes(b_, schedule_.lanes, b_.CreateSub(span.end, next, "rest.count")),
            .at_multiples = span.at_multiples});
    });
  }
  ForEachRow([&](ScalarEmitter& row) { row.SetLanes(axis, span.begin, 1, nullptr); });
}

void StageLoops::EmitStages() {
  for (const Stage& stage : plan_.stages) {
    const bool reduces = std::any_of(stage.statements.begin(), stage.statements.end(),
                                     [](const Statement& s) { return !s.reduce_axes.empty(); });
    if (reduces || stage.axes.empty() || LanesAcrossRows()) {
      EmitStage(stage);
    } else {
      EmitRowByRow(stage);
    }
  }
}

// For stages without reductions: no later work waits for them, and stores are faster in the order of memory.
void StageLoops::EmitRowByRow(const Stage& stage) {
  const int rows = rows_end_;
  for (int row = 0; row < rows; ++row) EmitStageOf(stage, row);
}

void StageLoops::EmitStageOf(const Stage& stage, int row) {
  rows_begin_ = row;
  rows_end_ = row + 1;
  EmitStage(stage);
  rows_begin_ = 0;
}

void StageLoops::EmitFirstStage() { EmitStageOf(plan_.stages.front(), kNext); }

void StageLoops::EmitLastStage() { EmitStageOf(plan_.stages.back(), kBefore); }

void StageLoops::EmitOtherStages(bool with_next, bool with_before) {
  const int end = static_cast<int>(plan_.stages.size()) - (schedule_.defer_last_stage ? 1 : 0);
  for (int i = 1; i < end; ++i) {
    std::vector<Pass> passes = {{&plan_.stages[i], kHere}};
    if (i == schedule_.overlap_stage && with_next) passes.push_back({&plan_.stages.front(), kNext});
    if (i == schedule_.overlap_stage && with_before) passes.push_back({&plan_.stages.back(), kBefore});
    rows_end_ = passes.back().row + 1;
    EmitPasses(passes);
  }
}

void StageLoops::EmitStage(const Stage& stage) {
  std::vector<Pass> passes;
  for (int row = rows_begin_; row < rows_end_; ++row) passes.push_back({&stage, row});
  EmitPasses(passes);
}

// Emits stages with equal axes, of all rows being emitted, as one loop nest.
void StageLoops::EmitPasses(const std::vector<Pass>& passes) {
  const std::vector<int>& axes = passes[0].stage->axes;
  std::vector<int> scalar_axes;
  bool lanes_here = false;
  for (int axis : axes) {
    lanes_here |= axis == schedule_.lane_axis;
    if (axis != schedule_.lane_axis) scalar_axes.push_back(axis);
  }
  bool scans = false;
  for (const Pass& pass : passes) {
    for (const Statement& s : pass.stage->statements) scans |= IsScan(plan_, s);
  }
  const int unroll = lanes_here && !scans ? schedule_.unroll : across_.count;
  Sums sums;
  BlockSums blocks(b_, target_, scans ? 0 : MostSteps(axes, unroll));
  for (const Pass& pass : passes) {
    const int lanes = lanes_here ? schedule_.lanes : rows_[pass.row].lanes();
    for (std::vector<Accumulator>& of_pass = sums.emplace_back(); const Statement& s : pass.stage->statements) {
      const int partials = s.reduce_axes.empty() ? 0 : unroll;
      of_pass.emplace_back(b_, target_, s, IsScan(plan_, s), partials, lanes);
      for (int i = 0; i < partials; ++i) blocks.Add(s, of_pass.back().slot(i));
    }
  }
  const std::optional<PollPoint> poll = PollPointOf(plan_, *passes[0].stage);
  EmitScalarLoops(scalar_axes, 0, !lanes_here, poll, blocks, [&] {
    if (lanes_here) {
      EmitPolled(poll, schedule_.lane_axis, [&] {
        EmitVectors(SpanOf(schedule_.lane_axis), unroll, &blocks,
                    [&](const Vectors& vectors) { EmitStatements(passes, vectors, true, scans, sums); });
      });
      if (!scalar_axes.empty()) blocks.Count(kRestSteps);
    } else {
      EmitStatements(passes, across_, across_.count > 1, scans, sums);
    }
  });
  blocks.Close();
  if (!axes.empty()) Forget();
  for (size_t pass = 0; pass < passes.size(); ++pass) {
    const std::vector<Statement>& statements = passes[pass].stage->statements;
    for (size_t i = 0; i < statements.size(); ++i) {
      const Statement& s = statements[i];
      if (!s.reduce_axes.empty() && !IsScan(plan_, s)) {
        rows_[passes[pass].row].SetLocal(s.buffer, Stored(s, sums[pass][i].Close(lanes_here)));
      }
    }
  }
}

int64_t StageLoops::MostSteps(const std::vector<int>& axes, int unroll) const {
  int64_t steps = 1;
  for (int axis : axes) {
    const DimSize& dim_size = plan_.axes[axis].dim_size;
    int64_t most = MaxOf(plan_, dim_size);
    if (axis == schedule_.lane_axis) most = most / (int64_t{schedule_.lanes} * unroll) + kRestSteps;
    if (most <= 0) return 0;
    if (most > INT64_MAX / steps) return INT64_MAX;
    steps *= most;
  }
  return steps;
}

void StageLoops::EmitPolled(const std::optional<PollPoint>& poll, int axis, llvm::function_ref<void()> loops) {
  if (!poll || poll->axis != axis) return loops();
  EmitLoop(b_, b_.getInt64(0), DimSizeOf(axis), poll->steps, "block", [&](llvm::Value* first) {
    EmitUnlessInterrupted(b_, frames_[0], [&] {
      llvm::Value* next = b_.CreateAdd(first, b_.getInt64(poll->steps));
      SetSpan(axis,
              {first, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, DimSizeOf(axis), next, nullptr, "block.end")});
      loops();
    });
  });
  span_axis_ = -1;
  Forget();
}

void StageLoops::EmitScalarLoops(const std::vector<int>& axes, size_t depth, bool is_step,
                                 const std::optional<PollPoint>& poll, BlockSums& blocks,
                                 llvm::function_ref<void()> body) {
  if (depth == axes.size()) return body();
  const bool innermost = is_step && depth + 1 == axes.size();
  const DimSize& dim_size = plan_.axes[axes[depth]].dim_size;
  if (innermost && axes[depth] != span_axis_ && dim_size.is_constant() && dim_size.constant <= kStraight) {
    for (int64_t i = 0; i < dim_size.constant; ++i) {
      ForEachRow([&](ScalarEmitter& row) { row.SetAxis(axes[depth], b_.getInt64(i)); });
      body();
    }
    blocks.Count(dim_size.constant);
    return Forget();
  }
  const auto turn = [&](llvm::Value* index) {
    ForEachRow([&](ScalarEmitter& row) { row.SetAxis(axes[depth], index); });
    EmitScalarLoops(axes, depth + 1, is_step, poll, blocks, body);
  };
  EmitPolled(poll, axes[depth], [&] {
    const PartSpan span = SpanOf(axes[depth]);
    if (innermost) {
      blocks.EmitSteps(span.begin, span.end, 1, "tile", turn);
    } else {
      EmitLoop(b_, span.begin, span.end, 1, "tile", turn);
    }
  });
  Forget();
}

// Emits the statements of `passes` for each of `vectors`, some of them interleaved. `enters`: rows first move to their
// vector. Statements of a scan depend on each other and are not interleaved.
void StageLoops::EmitStatements(const std::vector<Pass>& passes, const Vectors& vectors, bool enters, bool scans,
                                Sums& sums) {
  const int side_by_side = static_cast<int>(passes.size()), chains = side_by_side * vectors.count;
  for (int first = 0, count = 0; first < chains; first += count) {
    count = scans ? 1 : std::min(kInTurns, chains - first);
    std::vector<std::vector<llvm::Value*>> reduced(count);
    EmitInTurns(b_, count, [&](int i) {
      const int pass = (first + i) % side_by_side, u = (first + i) / side_by_side;
      ScalarEmitter& row = rows_[passes[pass].row];
      if (enters) Enter(row, vectors, u);
      const std::vector<Statement>& statements = passes[pass].stage->statements;
      for (size_t j = 0; j < statements.size(); ++j) {
        reduced[i].push_back(EmitStatement(row, statements[j], sums[pass][j], u));
      }
    });
    for (int i = 0; i < count; ++i) {
      for (size_t j = 0; j < reduced[i].size(); ++j) {
        if (reduced[i][j] == nullptr) continue;
        sums[(first + i) % side_by_side][j].Add(reduced[i][j], (first + i) / side_by_side, vectors.mask);
      }
    }
  }
  for (std::vector<Accumulator>& of_pass : sums) {
    for (Accumulator& sum : of_pass) sum.EndStep();
  }
}

// Returns what vector `u` adds to `sum` in the row's active lanes; null for a store, and for a step of a scan, which is
// complete.
llvm::Value* StageLoops::EmitStatement(ScalarEmitter& row, const Statement& s, Accumulator& sum, int u) {
  if (s.reduce_axes.empty()) {
    llvm::Value* value = row.Emit(s.value);
    if (plan_.buffers[s.buffer].kind == BufferKind::kLocal) {
      row.SetLocal(s.buffer, value);
    } else {
      row.Store(s.buffer, s.indices, value);
    }
    return nullptr;
  }
  llvm::Value* value = row.EmitLanes(s.value);
  if (!IsScan(plan_, s)) return value;
  if (row.mask()) {
    llvm::Value* neutral = EmitNeutral(b_, s.combiner, s.accumulate, row.lanes());
    value = b_.CreateSelect(row.mask(), value, neutral, "active");
  }
  EmitScanStep(row, s, value, sum.slot(u));
  return nullptr;
}

// A reduction's result, cast to the dtype of its buffer.
llvm::Value* StageLoops::Stored(const Statement& s, llvm::Value* result) {
  assert(plan_.buffers[s.buffer].kind == BufferKind::kLocal);
  const DType stored = plan_.buffers[s.buffer].dtype;
  if (stored == s.accumulate) return result;
  return EmitScalarOp(b_, target_, OpKind::kCast, s.accumulate, stored, {result});
}

// `slot` holds the combination of all elements before, in every lane if lanes run along the scan. Then the lanes of
// `value` are first combined among themselves, so that the loop-carried dependency is one combination per step.
void StageLoops::EmitScanStep(ScalarEmitter& row, const Statement& s, llvm::Value* value, llvm::AllocaInst* slot) {
  const int lanes = row.lanes();
  const bool along = lanes > 1 && !LanesAcrossRows();
  llvm::Value* before = b_.CreateLoad(slot->getAllocatedType(), slot, "before");
  if (along) value = EmitLaneScan(b_, target_, s.combiner, s.accumulate, value);
  llvm::Value* result = EmitScalarOp(b_, target_, s.combiner, s.accumulate, s.accumulate, {before, value});
  llvm::Value* next = result;
  llvm::Value* seen = s.exclusive ? before : result;
  if (along) {
    next = b_.CreateShuffleVector(result, llvm::SmallVector<int>(lanes, lanes - 1), "last");
    if (s.exclusive) {
      llvm::SmallVector<int> shifted(lanes);
      std::iota(shifted.begin(), shifted.end(), lanes - 1);
      seen = b_.CreateShuffleVector(before, result, shifted, "shifted");
    }
  }
  b_.CreateStore(next, slot);
  row.SetLocal(s.buffer, seen);
}

}  // namespace tailor::cpu
