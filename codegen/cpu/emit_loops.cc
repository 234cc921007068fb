// Emits loop and row kernels: a nest over tasks, and within each the plan's stages. Lanes run either
// along a parallel axis (every stage handles a vector of rows' elements at once: elementwise kernels,
// reductions over outer dims) or along an axis of a stage (each row's loops are vectorized: softmax, layer norm,
// scans of rows).
#include <algorithm>
#include <cassert>
#include <deque>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/accumulator.h"
#include "codegen/cpu/interleave.h"
#include "codegen/cpu/task_digits.h"
#include "codegen/cpu/transposed_loops.h"
#include "codegen/emit_cpu.h"
#include "codegen/emit_loop.h"
#include "codegen/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tailor {
namespace {

// Vectors of rows that one scan carries along; a task has as many.
constexpr int kRowVectors = 4;

// Of many vectors side by side, how many are taken where not so many are left.
constexpr int kFewVectors = 4;

// Vectors that are computed in turns. Each of them needs some registers of its own.
constexpr int kInTurns = 4;

class LoopKernelEmitter {
 public:
  LoopKernelEmitter(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target, llvm::Module& module,
                    const std::string& name)
      : plan_(plan),
        schedule_(schedule),
        target_(target),
        b_(module.getContext()),
        frames_{OpenKernelFunction(b_, module, plan, name)},
        function_(b_.GetInsertBlock()->getParent()) {
    PlaceRows();
    for (const KernelFrame& frame : frames_) {
      rows_.emplace_back(b_, target_, plan_, frame).SetRowsHeld(LanesAcrossRows() ? schedule_.lanes : 1);
    }
  }

  void Emit(const Version& version) {
    for (ScalarEmitter& row : rows_) {
      if (version.no_broadcast) row.AssumeNoBroadcast();
      row.SetStreaming(version.streams);
    }
    streams_ = version.streams;
    b_.SetInsertPoint(b_.GetInsertBlock());
    EmitTaskLoop();
    if (streams_) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});  // whoever is told of the task sees them
    b_.CreateRetVoid();
  }

 private:
  bool LanesAcrossRows() const {
    return schedule_.lane_axis >= 0 && plan_.axes[schedule_.lane_axis].role == AxisRole::kParallel;
  }
  llvm::Value* ExtentOf(int axis) { return frames_[0].ExtentValue(b_, plan_.axes[axis].extent); }

  // The row buffers of each row, or of a vector of rows, lie behind those of the one before.
  void PlaceRows() {
    llvm::Value* scratch = frames_[0].scratch;
    for (int row = 0; row < schedule_.rows; ++row) {
      if (row > 0) frames_.push_back(frames_[0]);
      if (scratch != nullptr)
        scratch = PlaceRowBuffers(b_, plan_, scratch, frames_[row], LanesAcrossRows() ? schedule_.lanes : 1);
    }
  }

  template <typename F>
  void ForEachRow(F f) {
    for (int row = rows_begin_; row < rows_end_; ++row) f(rows_[row]);
  }
  void Forget() {
    ForEachRow([](ScalarEmitter& row) { row.Forget(); });
  }

  // A task has a digit per parallel axis, the lane axis counting chunks last.
  void EmitTaskLoop() {
    std::vector<int> digit_axes;
    for (int i = 0; i < static_cast<int>(plan_.axes.size()); ++i) {
      if (plan_.axes[i].role == AxisRole::kParallel && i != schedule_.lane_axis) digit_axes.push_back(i);
    }
    // Rows stay in order: a chain has the rows of its blocks as tasks (codegen/chain/emit_chain.cc).
    if (LanesAcrossRows()) digit_axes = ReadingOrder(plan_, std::move(digit_axes), schedule_.lane_axis);
    std::vector<llvm::Value*> extents;
    extents.reserve(digit_axes.size() + 1);
    for (int axis : digit_axes) extents.push_back(ExtentOf(axis));
    if (LanesAcrossRows()) {
      digit_axes.push_back(schedule_.lane_axis);
      llvm::Value* rounded = b_.CreateAdd(ExtentOf(schedule_.lane_axis), b_.getInt64(schedule_.lane_chunk - 1));
      extents.push_back(b_.CreateUDiv(rounded, b_.getInt64(schedule_.lane_chunk), "chunks"));
    }
    TaskDigits digits(b_, function_->getArg(1), extents);
    llvm::Value* next = function_->getArg(1);
    llvm::Value* end = function_->getArg(2);
    if (LanesAcrossRows()) {
      EmitLoop(b_, next, end, 1, "task", [&](llvm::Value*) {
        for (ScalarEmitter& row : rows_) PlaceTask(row, digit_axes, digits);
        digits.EmitAdvance();
        EmitAcrossRows();
      });
      return;
    }
    for (int rows = schedule_.rows; rows > 0; rows = rows > 1 ? 1 : 0) {
      llvm::Value* full = rows > 1 ? SideBySideEnd(rows) : end;
      rows_end_ = rows;
      next = EmitLoop(b_, next, full, rows, rows > 1 ? "tasks" : "task", [&](llvm::Value*) {
        ForEachRow([&](ScalarEmitter& row) {
          PlaceTask(row, digit_axes, digits);
          digits.EmitAdvance();
        });
        EmitStages();
      });
    }
  }

  // Sets the parallel axes of `row` to those of the task at hand.
  void PlaceTask(ScalarEmitter& row, const std::vector<int>& axes, TaskDigits& digits) {
    const std::vector<llvm::Value*> indices = digits.Emit();
    for (size_t i = 0; i < axes.size(); ++i) {
      row.SetAxis(axes[i], indices[i]);
      if (axes[i] == schedule_.lane_axis) chunk_ = indices[i];
    }
  }

  // Below this task `rows` tasks can run side by side.
  llvm::Value* SideBySideEnd(int rows) {
    constexpr int64_t kLargeLaunch = 1 << 17;  // elements; half of an L2 cache of 1 MiB
    constexpr int64_t kShortest = 64;
    llvm::Value *row = b_.getInt64(1), *launch = b_.getInt64(1);
    for (size_t i = 0; i < plan_.axes.size(); ++i) {
      llvm::Value*& product = plan_.axes[i].role == AxisRole::kParallel ? launch : row;
      product = b_.CreateMul(product, ExtentOf(i), "elements");
    }
    llvm::Value* large = b_.CreateICmpSGT(b_.CreateMul(launch, row), b_.getInt64(kLargeLaunch), "large");
    llvm::Value* limit = b_.CreateSelect(large, b_.getInt64(std::min(kShortest, schedule_.short_row)),
                                         b_.getInt64(schedule_.short_row), "short.row");
    llvm::Value* end = b_.CreateSub(function_->getArg(2), b_.getInt64(rows - 1), "full.end");
    llvm::Value* is_short = b_.CreateICmpSLE(row, limit, "row.is_short");
    return b_.CreateSelect(is_short, end, function_->getArg(1), "side_by_side.end");
  }

  // Vectors side by side on the lane axis.
  struct Vectors {
    llvm::Value* first = nullptr;
    int count = 1;
    llvm::Value* mask = nullptr;
  };

  // A task whose lanes are neighbours on a parallel axis.
  void EmitAcrossRows() {
    llvm::Value* first = b_.CreateMul(chunk_, b_.getInt64(schedule_.lane_chunk), "first");
    llvm::Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ExtentOf(schedule_.lane_axis),
                                                b_.CreateAdd(first, b_.getInt64(schedule_.lane_chunk)), nullptr, "end");
    if (streams_) {
      first = EmitUntilAligned(rows_[0], plan_.stages[0].statements.back(), first, end, [&](const Vectors& vectors) {
        Enter(rows_[0], vectors, 0);
        EmitStages();
      });
    }
    EmitVectors(first, end, ScansAlone() ? kRowVectors : schedule_.rows, [&](const Vectors& vectors) {
      if (ScansAlone()) {
        across_ = vectors;
      } else {
        rows_end_ = vectors.count;
      }
      for (int row = 0; row < rows_end_; ++row) Enter(rows_[row], vectors, row);
      EmitStages();
      rows_end_ = 1;
    });
  }

  // Hands `body` the elements of [first, end) before the first whose place in the output of `store` is a multiple of a
  // vector; returns that one, or `end`.
  llvm::Value* EmitUntilAligned(ScalarEmitter& row, const Statement& store, llvm::Value* first, llvm::Value* end,
                                llvm::function_ref<void(const Vectors&)> body) {
    const int64_t width = SizeOf(plan_.buffers[store.buffer].dtype), vector = width * schedule_.lanes;
    row.SetLanes(schedule_.lane_axis, first, 1, nullptr);
    llvm::Value* address = b_.CreatePtrToInt(row.AddressOf(store.buffer, store.indices), b_.getInt64Ty());
    llvm::Value* bytes = b_.CreateAnd(b_.CreateNeg(address), b_.getInt64(vector - 1), "unaligned.bytes");
    llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateUDiv(bytes, b_.getInt64(width)),
                                                  b_.CreateSub(end, first), nullptr, "unaligned");
    EmitIf(b_, b_.CreateICmpSGT(count, b_.getInt64(0)), "head",
           [&] { body({.first = first, .mask = EmitFirstLanes(b_, schedule_.lanes, count)}); });
    return b_.CreateAdd(first, count, "aligned");
  }

  // One ordered loop can carry several vectors of rows along: neighbouring lines of memory are then met together.
  bool ScansAlone() const { return plan_.stages.size() == 1 && IsScan(plan_, plan_.stages[0].statements.front()); }

  // Moves the lanes of `row` to vector number `u`.
  void Enter(ScalarEmitter& row, const Vectors& vectors, int u) {
    llvm::Value* x = b_.CreateAdd(vectors.first, b_.getInt64(int64_t{schedule_.lanes} * u), "x");
    row.SetLanes(schedule_.lane_axis, x, schedule_.lanes, vectors.mask);
  }

  // Runs `body` over [first, end) of the lane axis: `unroll` vectors at a time, a few where those are many, then one,
  // then a masked rest.
  void EmitVectors(llvm::Value* first, llvm::Value* end, int unroll, llvm::function_ref<void(const Vectors&)> body) {
    const int lanes = schedule_.lanes;
    const int axis = schedule_.lane_axis;
    llvm::Value* next = first;
    for (int width = unroll; width > 0; width = width > kFewVectors ? kFewVectors : width > 1 ? 1 : 0) {
      llvm::Value* full = b_.CreateSub(end, b_.getInt64(int64_t{lanes} * width - 1), "full.end");
      next = EmitLoop(b_, next, full, int64_t{lanes} * width, width > 1 ? "unrolled" : "vector",
                      [&](llvm::Value* x) { body({.first = x, .count = width}); });
    }
    if (lanes > 1) {
      EmitIf(b_, b_.CreateICmpSLT(next, end, "rest"), "tail", [&] {
        body({.first = next, .mask = EmitFirstLanes(b_, schedule_.lanes, b_.CreateSub(end, next, "rest.count"))});
      });
    }
    ForEachRow([&](ScalarEmitter& row) { row.SetLanes(axis, first, 1, nullptr); });
  }

  void EmitStages() {
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

  // Nothing waits for what such a stage computes, and stores go faster where one follows another in memory.
  void EmitRowByRow(const Stage& stage) {
    const int rows = rows_end_;
    for (int row = 0; row < rows; ++row) {
      rows_begin_ = row;
      rows_end_ = row + 1;
      EmitStage(stage);
    }
    rows_begin_ = 0;
  }

  void EmitStage(const Stage& stage) {
    std::vector<int> scalar_axes;
    bool lanes_here = false;
    for (int axis : stage.axes) {
      lanes_here |= axis == schedule_.lane_axis;
      if (axis != schedule_.lane_axis) scalar_axes.push_back(axis);
    }
    bool scans = false;
    for (const Statement& s : stage.statements) scans |= IsScan(plan_, s);
    const int unroll = lanes_here && !scans ? schedule_.unroll : across_.count;
    Sums sums;
    ForEachRow([&](ScalarEmitter& row) {
      const int lanes = lanes_here ? schedule_.lanes : row.lanes();
      for (std::vector<Accumulator>& of_row = sums.emplace_back(); const Statement& s : stage.statements) {
        of_row.emplace_back(b_, target_, s, IsScan(plan_, s), s.reduce_axes.empty() ? 0 : unroll, lanes);
      }
    });
    EmitScalarLoops(scalar_axes, 0, [&] {
      if (lanes_here) {
        EmitVectors(b_.getInt64(0), ExtentOf(schedule_.lane_axis), unroll,
                    [&](const Vectors& vectors) { EmitStatements(stage, vectors, true, scans, sums); });
      } else {
        EmitStatements(stage, across_, across_.count > 1, scans, sums);
      }
    });
    if (!stage.axes.empty()) Forget();
    for (int row = rows_begin_; row < rows_end_; ++row) {
      for (size_t i = 0; i < stage.statements.size(); ++i) {
        const Statement& s = stage.statements[i];
        if (!s.reduce_axes.empty() && !IsScan(plan_, s)) {
          rows_[row].SetLocal(s.buffer, Stored(s, sums[row - rows_begin_][i].Close(lanes_here)));
        }
      }
    }
  }

  void EmitScalarLoops(const std::vector<int>& axes, size_t depth, llvm::function_ref<void()> body) {
    if (depth == axes.size()) return body();
    EmitLoop(b_, b_.getInt64(0), ExtentOf(axes[depth]), 1, "tile", [&](llvm::Value* index) {
      ForEachRow([&](ScalarEmitter& row) { row.SetAxis(axes[depth], index); });
      EmitScalarLoops(axes, depth + 1, body);
    });
    Forget();
  }

  using Sums = std::vector<std::vector<Accumulator>>;  // by row and statement

  // The statements of `stage` for each of `vectors` of each row, which it `enters`, some in turns. Those of a scan
  // depend on each other.
  void EmitStatements(const Stage& stage, const Vectors& vectors, bool enters, bool scans, Sums& sums) {
    const int rows = rows_end_ - rows_begin_, chains = rows * vectors.count;
    for (int first = 0, count = 0; first < chains; first += count) {
      count = scans ? 1 : std::min(kInTurns, chains - first);
      std::vector<std::vector<llvm::Value*>> reduced(count);
      EmitInTurns(b_, count, [&](int i) {
        ScalarEmitter& row = rows_[rows_begin_ + (first + i) % rows];
        const int u = (first + i) / rows;
        if (enters) Enter(row, vectors, u);
        for (size_t j = 0; j < stage.statements.size(); ++j) {
          reduced[i].push_back(EmitStatement(row, stage.statements[j], sums[(first + i) % rows][j], u));
        }
      });
      for (int i = 0; i < count; ++i) {
        for (size_t j = 0; j < stage.statements.size(); ++j) {
          if (reduced[i][j] != nullptr) sums[(first + i) % rows][j].Add(reduced[i][j], (first + i) / rows);
        }
      }
    }
    for (std::vector<Accumulator>& of_row : sums) {
      for (Accumulator& sum : of_row) sum.EndStep();
    }
  }

  // Returns what vector number `u` adds to `sum`: null for a store and for a step of a scan, which is done.
  llvm::Value* EmitStatement(ScalarEmitter& row, const Statement& s, Accumulator& sum, int u) {
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
    if (row.mask()) {
      llvm::Value* neutral = EmitNeutral(b_, s.combiner, s.accumulate, row.lanes());
      value = b_.CreateSelect(row.mask(), value, neutral, "active");
    }
    if (!IsScan(plan_, s)) return value;
    EmitScanStep(row, s, value, sum.slot(u));
    return nullptr;
  }

  // A reduction's result in the type of its buffer.
  llvm::Value* Stored(const Statement& s, llvm::Value* result) {
    assert(plan_.buffers[s.buffer].kind == BufferKind::kLocal);
    const DType stored = plan_.buffers[s.buffer].dtype;
    if (stored == s.accumulate) return result;
    return EmitScalarOp(b_, target_, OpKind::kCast, s.accumulate, stored, {result});
  }

  // `slot` holds what the elements before combine to, in every lane where lanes run along the scan. Then the lanes
  // of `value` are combined among themselves first, so that the way from step to step is one combination.
  void EmitScanStep(ScalarEmitter& row, const Statement& s, llvm::Value* value, llvm::AllocaInst* slot) {
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

  const KernelPlan& plan_;
  const Schedule& schedule_;
  const EmitTarget& target_;
  llvm::IRBuilder<> b_;
  std::deque<KernelFrame> frames_;  // by row; where they differ is in the addresses of row buffers
  llvm::Function* function_;
  std::deque<ScalarEmitter> rows_;     // of those that run side by side, or of vectors of them
  int rows_begin_ = 0, rows_end_ = 1;  // those that are emitted now
  llvm::Value* chunk_ = nullptr;
  bool streams_ = false;
  Vectors across_;  // where lanes run across rows: those at hand
};

}  // namespace

absl::Status EmitLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module) {
  if (schedule.cross_axis >= 0) {
    EmitTransposedLoops(plan, schedule, target, name, module);
    return absl::OkStatus();
  }
  for (size_t v = 0; v < schedule.versions.size(); ++v) {
    LoopKernelEmitter emitter(plan, schedule, target, module, absl::StrCat(name, "_v", v));
    emitter.Emit(schedule.versions[v]);
  }
  return absl::OkStatus();
}

}  // namespace tailor
