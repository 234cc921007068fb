// Emits loop and row kernels: a nest over tasks, and within each the plan's stages. Lanes run either
// along a parallel axis (every stage handles a vector of rows' elements at once: elementwise kernels,
// reductions over outer dims) or along an axis of a stage (each row's loops are vectorized: softmax, layer norm,
// scans of rows).
#include <algorithm>
#include <cassert>
#include <deque>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/accumulator.h"
#include "codegen/emit_cpu.h"
#include "codegen/emit_loop.h"
#include "codegen/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tailor {
namespace {

// Vectors of rows that one scan carries along; a task has as many.
constexpr int kRowVectors = 4;

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
    for (const KernelFrame& frame : frames_) rows_.emplace_back(b_, target_, plan_, frame);
  }

  void Emit(const Version& version) {
    for (ScalarEmitter& row : rows_) {
      if (version.no_broadcast) row.AssumeNoBroadcast();
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

  // The row buffers of each row lie behind those of the row before.
  void PlaceRows() {
    llvm::Value* scratch = frames_[0].scratch;
    for (int row = 0; row < schedule_.rows; ++row) {
      if (row > 0) frames_.push_back(frames_[0]);
      if (scratch != nullptr) scratch = PlaceRowBuffers(b_, plan_, scratch, frames_[row]);
    }
  }

  template <typename F>
  void ForEachRow(F f) {
    for (int row = rows_begin_; row < rows_end_; ++row) f(rows_[row]);
  }
  void Forget() {
    ForEachRow([](ScalarEmitter& row) { row.Forget(); });
  }

  // A task number is read as digits: one per parallel axis, the lane axis counting chunks last. The
  // first task is decoded by division, the following ones by carrying.
  void EmitTaskLoop() {
    std::vector<int> digit_axes;
    std::vector<llvm::Value*> extents;
    for (int i = 0; i < static_cast<int>(plan_.axes.size()); ++i) {
      if (plan_.axes[i].role != AxisRole::kParallel || i == schedule_.lane_axis) continue;
      digit_axes.push_back(i);
      extents.push_back(ExtentOf(i));
    }
    if (LanesAcrossRows()) {
      digit_axes.push_back(schedule_.lane_axis);
      llvm::Value* rounded = b_.CreateAdd(ExtentOf(schedule_.lane_axis), b_.getInt64(schedule_.lane_chunk - 1));
      extents.push_back(b_.CreateUDiv(rounded, b_.getInt64(schedule_.lane_chunk), "chunks"));
    }
    std::vector<llvm::AllocaInst*> digits;
    llvm::Value* rest = function_->getArg(1);
    for (size_t i = 0; i < digit_axes.size(); ++i) digits.push_back(b_.CreateAlloca(b_.getInt64Ty(), nullptr, "digit"));
    for (size_t i = digit_axes.size(); i-- > 0;) {
      if (i == 0) {
        b_.CreateStore(rest, digits[i]);
      } else {
        b_.CreateStore(b_.CreateURem(rest, extents[i], "first.digit"), digits[i]);
        rest = b_.CreateUDiv(rest, extents[i], "first.rest");
      }
    }
    llvm::Value* next = function_->getArg(1);
    llvm::Value* end = function_->getArg(2);
    for (int rows = schedule_.rows; rows > 0; rows = rows > 1 ? 1 : 0) {
      llvm::Value* full = rows > 1 ? SideBySideEnd(rows) : end;
      rows_end_ = rows;
      next = EmitLoop(b_, next, full, rows, rows > 1 ? "tasks" : "task", [&](llvm::Value*) {
        ForEachRow([&](ScalarEmitter& row) {
          for (size_t i = 0; i < digit_axes.size(); ++i) {
            row.SetAxis(digit_axes[i], b_.CreateLoad(b_.getInt64Ty(), digits[i], "index"));
            if (digit_axes[i] == schedule_.lane_axis) chunk_ = b_.CreateLoad(b_.getInt64Ty(), digits[i], "chunk");
          }
          AdvanceDigits(digits, extents);
        });
        EmitTask();
      });
    }
  }

  // Below this task `rows` tasks can run side by side.
  llvm::Value* SideBySideEnd(int rows) {
    llvm::Value* elements = b_.getInt64(1);
    for (size_t i = 0; i < plan_.axes.size(); ++i) {
      if (plan_.axes[i].role != AxisRole::kParallel) elements = b_.CreateMul(elements, ExtentOf(i), "row.elements");
    }
    llvm::Value* end = b_.CreateSub(function_->getArg(2), b_.getInt64(rows - 1), "full.end");
    llvm::Value* is_short = b_.CreateICmpSLE(elements, b_.getInt64(kSideBySideElements), "row.is_short");
    return b_.CreateSelect(is_short, end, function_->getArg(1), "side_by_side.end");
  }

  void AdvanceDigits(const std::vector<llvm::AllocaInst*>& digits, const std::vector<llvm::Value*>& extents) {
    llvm::Value* carry = b_.getTrue();
    for (size_t i = digits.size(); i-- > 0;) {
      llvm::Value* next =
          b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), digits[i]), b_.CreateZExt(carry, b_.getInt64Ty()), "digit.next");
      carry = b_.CreateICmpEQ(next, extents[i], "carry");
      b_.CreateStore(b_.CreateSelect(carry, b_.getInt64(0), next), digits[i]);
    }
  }

  void EmitTask() {
    if (!LanesAcrossRows()) {
      EmitStages();
      return;
    }
    llvm::Value* first = b_.CreateMul(chunk_, b_.getInt64(schedule_.lane_chunk), "first");
    llvm::Value* end = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ExtentOf(schedule_.lane_axis),
                                                b_.CreateAdd(first, b_.getInt64(schedule_.lane_chunk)), nullptr, "end");
    if (streams_) first = EmitUntilAligned(first, end);
    rows_[0].SetStreaming(streams_);
    EmitVectors(first, end, ScansAlone() ? kRowVectors : 1, [&](const Vectors& vectors) {
      across_ = vectors;
      Enter(across_, 0);
      EmitStages();
    });
  }

  // Computes the elements of [first, end) before the first whose place in the output is a multiple of a vector; returns
  // that one, or `end`.
  llvm::Value* EmitUntilAligned(llvm::Value* first, llvm::Value* end) {
    const Statement& store = plan_.stages[0].statements[0];
    const int64_t width = SizeOf(plan_.buffers[store.buffer].dtype), vector = width * schedule_.lanes;
    rows_[0].SetLanes(schedule_.lane_axis, first, 1, nullptr);
    llvm::Value* address = b_.CreatePtrToInt(rows_[0].AddressOf(store.buffer, store.indices), b_.getInt64Ty());
    llvm::Value* bytes = b_.CreateAnd(b_.CreateNeg(address), b_.getInt64(vector - 1), "unaligned.bytes");
    llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateUDiv(bytes, b_.getInt64(width)),
                                                  b_.CreateSub(end, first), nullptr, "unaligned");
    EmitIf(b_, b_.CreateICmpSGT(count, b_.getInt64(0)), "head", [&] {
      across_ = {.first = first, .mask = TailMask(count)};
      Enter(across_, 0);
      EmitStages();
    });
    return b_.CreateAdd(first, count, "aligned");
  }

  // One ordered loop can carry several vectors of rows along: neighbouring lines of memory are then met together.
  bool ScansAlone() const { return plan_.stages.size() == 1 && IsScan(plan_, plan_.stages[0].statements.front()); }

  // Vectors side by side on the lane axis.
  struct Vectors {
    llvm::Value* first = nullptr;
    int count = 1;
    llvm::Value* mask = nullptr;
  };

  // Moves the lanes to vector number `u`.
  void Enter(const Vectors& vectors, int u) {
    llvm::Value* x = b_.CreateAdd(vectors.first, b_.getInt64(int64_t{schedule_.lanes} * u), "x");
    ForEachRow([&](ScalarEmitter& row) { row.SetLanes(schedule_.lane_axis, x, schedule_.lanes, vectors.mask); });
  }

  // Runs `body` over [first, end) of the lane axis: `unroll` vectors at a time, then one, then a masked rest.
  void EmitVectors(llvm::Value* first, llvm::Value* end, int unroll, llvm::function_ref<void(const Vectors&)> body) {
    const int lanes = schedule_.lanes;
    const int axis = schedule_.lane_axis;
    llvm::Value* next = first;
    for (int width : {unroll, 1}) {
      if (width == 1 && unroll == 1 && next != first) break;
      llvm::Value* full = b_.CreateSub(end, b_.getInt64(int64_t{lanes} * width - 1), "full.end");
      next = EmitLoop(b_, next, full, int64_t{lanes} * width, width > 1 ? "unrolled" : "vector",
                      [&](llvm::Value* x) { body({.first = x, .count = width}); });
    }
    if (lanes > 1) {
      EmitIf(b_, b_.CreateICmpSLT(next, end, "rest"), "tail",
             [&] { body({.first = next, .mask = TailMask(b_.CreateSub(end, next, "rest.count"))}); });
    }
    ForEachRow([&](ScalarEmitter& row) { row.SetLanes(axis, first, 1, nullptr); });
  }

  llvm::Value* TailMask(llvm::Value* count) {
    std::vector<llvm::Constant*> steps;
    for (int i = 0; i < schedule_.lanes; ++i) steps.push_back(b_.getInt32(i));
    llvm::Value* splat = b_.CreateVectorSplat(schedule_.lanes, b_.CreateTrunc(count, b_.getInt32Ty()), "rest.splat");
    return b_.CreateICmpULT(llvm::ConstantVector::get(steps), splat, "tail.mask");
  }

  void EmitStages() {
    for (const Stage& stage : plan_.stages) {
      const bool reduces = std::any_of(stage.statements.begin(), stage.statements.end(),
                                       [](const Statement& s) { return !s.reduce_axes.empty(); });
      if (reduces || stage.axes.empty()) {
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
    std::vector<std::vector<Accumulator>> accumulators;  // by row and statement
    ForEachRow([&](ScalarEmitter& row) {
      const int lanes = lanes_here ? schedule_.lanes : row.lanes();
      for (std::vector<Accumulator>& of_row = accumulators.emplace_back(); const Statement& s : stage.statements) {
        of_row.emplace_back(b_, target_, s, IsScan(plan_, s), s.reduce_axes.empty() ? 0 : unroll, lanes);
      }
    });
    auto end_step = [&] {
      for (std::vector<Accumulator>& of_row : accumulators) {
        for (Accumulator& accumulator : of_row) accumulator.EndStep();
      }
    };
    EmitScalarLoops(scalar_axes, 0, [&] {
      auto statements = [&](int u) {
        for (int row = rows_begin_; row < rows_end_; ++row) {
          for (size_t i = 0; i < stage.statements.size(); ++i) {
            EmitStatement(rows_[row], stage.statements[i], accumulators[row - rows_begin_][i], u);
          }
        }
      };
      if (lanes_here) {
        EmitVectors(b_.getInt64(0), ExtentOf(schedule_.lane_axis), unroll, [&](const Vectors& vectors) {
          for (int u = 0; u < vectors.count; ++u) {
            Enter(vectors, u);
            statements(u);
          }
          end_step();
        });
      } else {
        for (int u = 0; u < across_.count; ++u) {
          if (across_.count > 1) Enter(across_, u);
          statements(u);
        }
        end_step();
      }
    });
    if (!stage.axes.empty()) Forget();
    for (int row = rows_begin_; row < rows_end_; ++row) {
      for (size_t i = 0; i < stage.statements.size(); ++i) {
        const Statement& s = stage.statements[i];
        if (!s.reduce_axes.empty() && !IsScan(plan_, s)) {
          rows_[row].SetLocal(s.buffer, Stored(s, accumulators[row - rows_begin_][i].Close(lanes_here)));
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

  void EmitStatement(ScalarEmitter& row, const Statement& s, Accumulator& accumulator, int u) {
    if (s.reduce_axes.empty()) {
      llvm::Value* value = row.Emit(s.value);
      if (plan_.buffers[s.buffer].kind == BufferKind::kLocal) {
        row.SetLocal(s.buffer, value);
      } else {
        row.Store(s.buffer, s.indices, value);
      }
      return;
    }
    llvm::Value* value = row.EmitLanes(s.value);
    if (row.mask()) {
      llvm::Value* neutral = EmitNeutral(b_, s.combiner, s.accumulate, row.lanes());
      value = b_.CreateSelect(row.mask(), value, neutral, "active");
    }
    if (IsScan(plan_, s)) return EmitScanStep(row, s, value, accumulator.slot(u));
    accumulator.Add(value, u);
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
  std::deque<ScalarEmitter> rows_;     // of those that run side by side
  int rows_begin_ = 0, rows_end_ = 1;  // those that are emitted now
  llvm::Value* chunk_ = nullptr;
  bool streams_ = false;
  Vectors across_;  // where lanes run across rows: those at hand
};

}  // namespace

absl::Status EmitLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module) {
  for (size_t v = 0; v < schedule.versions.size(); ++v) {
    LoopKernelEmitter emitter(plan, schedule, target, module, absl::StrCat(name, "_v", v));
    emitter.Emit(schedule.versions[v]);
  }
  return absl::OkStatus();
}

}  // namespace tailor
