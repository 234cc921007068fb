// A kernel is a grid-stride loop over the points of the parallel axes: points of threads, or of blocks whose
// threads share the loops inside. In both the plan's stages run in order, one scalar element at a time.
#include "codegen/cuda/emit_cuda_loops.h"

#include <cassert>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/block_reduce.h"
#include "codegen/cuda/cuda_frame.h"
#include "codegen/cuda/device_intrinsics.h"
#include "codegen/emit_loop.h"
#include "codegen/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {
namespace {

using llvm::Value;

class CudaLoopEmitter {
 public:
  CudaLoopEmitter(const KernelPlan& plan, const CudaVersion& version, llvm::Module& module, const std::string& name)
      : plan_(plan),
        version_(version),
        b_(module.getContext()),
        frame_(OpenCudaKernel(b_, module, plan, version, name)),
        function_(b_.GetInsertBlock()->getParent()),
        emitter_(b_, target_, plan_, frame_),
        thread_(b_.CreateZExt(device::EmitThreadId(b_), b_.getInt64Ty(), "thread")) {}

  void Emit() {
    Value* first = b_.CreateZExt(device::EmitBlockId(b_), b_.getInt64Ty(), "block");
    Value* step = b_.CreateZExt(device::EmitGridDim(b_), b_.getInt64Ty(), "blocks");
    if (!SharesRows()) {
      Value* threads = b_.getInt64(version_.threads);
      first = b_.CreateAdd(b_.CreateMul(first, threads, "first.of_block"), thread_, "first");
      step = b_.CreateMul(step, threads, "stride");
    }
    EmitLoop(b_, first, PointCount(), step, "point", [&](Value* point) {
      SetPoint(point);
      bool writes_rows = false;
      for (const Stage& stage : plan_.stages) {
        EmitStage(stage);
        writes_rows |= WritesRows(stage);
      }
      // The next point writes the row buffers that slower threads may still read.
      if (SharesRows() && writes_rows) device::EmitBarrier(b_);
      emitter_.Forget();
    });
    b_.CreateRetVoid();
  }

 private:
  bool SharesRows() const { return version_.shape == CudaVersion::Shape::kBlockPerRow; }
  Value* ExtentOf(int axis) { return frame_.ExtentValue(b_, plan_.axes[axis].extent); }

  Value* PointCount() {
    Value* count = b_.getInt64(1);
    for (int i = 0; i < static_cast<int>(plan_.axes.size()); ++i) {
      if (plan_.axes[i].role == AxisRole::kParallel) count = b_.CreateMul(count, ExtentOf(i), "points");
    }
    return count;
  }

  // Reads the point's number as digits, one per parallel axis, the last axis fastest.
  void SetPoint(Value* point) {
    std::vector<int> axes;
    for (int i = 0; i < static_cast<int>(plan_.axes.size()); ++i) {
      if (plan_.axes[i].role == AxisRole::kParallel) axes.push_back(i);
    }
    for (size_t i = axes.size(); i-- > 0;) {
      if (i == 0) {
        emitter_.SetAxis(axes[i], point);
      } else {
        emitter_.SetAxis(axes[i], b_.CreateURem(point, ExtentOf(axes[i]), "index"));
        point = b_.CreateUDiv(point, ExtentOf(axes[i]), "rest");
      }
    }
  }

  // Accumulators are stack slots that SROA turns into registers; null for statements that only store.
  void EmitStage(const Stage& stage) {
    std::vector<llvm::AllocaInst*> accumulators = OpenAccumulators(stage);
    EmitStageLoops(stage, 0, [&] {
      for (size_t i = 0; i < stage.statements.size(); ++i) EmitStatement(stage, stage.statements[i], accumulators[i]);
    });
    CloseAccumulators(stage, accumulators);
    if (SharesRows() && WritesRows(stage)) device::EmitBarrier(b_);
  }

  // Loops of one thread, but for the last, which the threads of a block share.
  void EmitStageLoops(const Stage& stage, size_t depth, llvm::function_ref<void()> body) {
    if (depth == stage.axes.size()) return body();
    const int axis = stage.axes[depth];
    const bool shared = SharesRows() && depth + 1 == stage.axes.size();
    Value* from = shared ? thread_ : b_.getInt64(0);
    Value* step = b_.getInt64(shared ? version_.threads : 1);
    EmitLoop(b_, from, ExtentOf(axis), step, shared ? "shared" : "tile", [&](Value* index) {
      emitter_.SetAxis(axis, index);
      EmitStageLoops(stage, depth + 1, body);
    });
    emitter_.Forget();
  }

  bool WritesRows(const Stage& stage) const {
    for (const Statement& s : stage.statements) {
      if (plan_.buffers[s.buffer].kind == BufferKind::kRow) return true;
    }
    return false;
  }

  bool Reduces(const Statement& s) const { return !s.reduce_axes.empty() && !IsScan(plan_, s); }

  std::vector<llvm::AllocaInst*> OpenAccumulators(const Stage& stage) {
    std::vector<llvm::AllocaInst*> slots;
    for (const Statement& s : stage.statements) {
      if (s.reduce_axes.empty()) {
        slots.push_back(nullptr);
        continue;
      }
      llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
      slots.push_back(entry.CreateAlloca(RegisterType(b_.getContext(), s.accumulate, 1), nullptr, "accumulator"));
      b_.CreateStore(EmitNeutral(b_, s.combiner, s.accumulate, 1), slots.back());
    }
    return slots;
  }

  void EmitStatement(const Stage& stage, const Statement& s, llvm::AllocaInst* accumulator) {
    Value* value = emitter_.Emit(s.value);
    if (IsScan(plan_, s)) {
      EmitScanStep(s, value, accumulator);
    } else if (accumulator != nullptr) {
      Value* partial = b_.CreateLoad(accumulator->getAllocatedType(), accumulator, "partial");
      Value* sum = EmitScalarOp(b_, target_, s.combiner, s.accumulate, s.accumulate, {partial, value});
      b_.CreateStore(sum, accumulator);
    } else if (plan_.buffers[s.buffer].kind == BufferKind::kLocal) {
      emitter_.SetLocal(s.buffer, value);
    } else if (SharesRows() && stage.axes.empty()) {
      // Once per row: every thread has the value, one writes it.
      EmitIf(b_, b_.CreateICmpEQ(thread_, b_.getInt64(0), "is_first"), "once",
             [&] { emitter_.Store(s.buffer, s.indices, value); });
      emitter_.Forget();
    } else {
      emitter_.Store(s.buffer, s.indices, value);
    }
  }

  void EmitScanStep(const Statement& s, Value* value, llvm::AllocaInst* slot) {
    Value* before = b_.CreateLoad(slot->getAllocatedType(), slot, "before");
    Value* result = EmitScalarOp(b_, target_, s.combiner, s.accumulate, s.accumulate, {before, value});
    b_.CreateStore(result, slot);
    emitter_.SetLocal(s.buffer, s.exclusive ? before : result);
  }

  void CloseAccumulators(const Stage& stage, const std::vector<llvm::AllocaInst*>& accumulators) {
    std::vector<PartialResult> partials;
    for (size_t i = 0; i < accumulators.size(); ++i) {
      if (!Reduces(stage.statements[i])) continue;
      const Statement& s = stage.statements[i];
      Value* own = b_.CreateLoad(accumulators[i]->getAllocatedType(), accumulators[i], "own");
      partials.push_back({s.combiner, s.accumulate, own});
    }
    std::vector<Value*> results;
    if (SharesRows()) {
      results = EmitBlockReduce(b_, target_, version_.threads, partials);
    } else {
      for (const PartialResult& p : partials) results.push_back(p.value);
    }
    size_t next = 0;
    for (size_t i = 0; i < accumulators.size(); ++i) {
      if (!Reduces(stage.statements[i])) continue;
      const Statement& s = stage.statements[i];
      assert(plan_.buffers[s.buffer].kind == BufferKind::kLocal);
      const DType stored = plan_.buffers[s.buffer].dtype;
      Value* result = results[next++];
      emitter_.SetLocal(s.buffer, EmitScalarOp(b_, target_, OpKind::kCast, s.accumulate, stored, {result}));
    }
  }

  const EmitTarget target_{.fma = true};
  const KernelPlan& plan_;
  const CudaVersion& version_;
  llvm::IRBuilder<> b_;
  KernelFrame frame_;
  llvm::Function* function_;
  ScalarEmitter emitter_;
  Value* thread_;
};

}  // namespace

absl::Status EmitCudaLoops(const KernelPlan& plan, const CudaSchedule& schedule, const std::string& name,
                           llvm::Module& module) {
  if (plan.contraction || !plan.links.empty()) {
    return absl::UnimplementedError(absl::StrCat("kernel ", name, ": products have no GPU form"));
  }
  for (size_t i = 0; i < schedule.versions.size(); ++i) {
    CudaLoopEmitter(plan, schedule.versions[i], module, absl::StrCat(name, "_v", i)).Emit();
  }
  return absl::OkStatus();
}

}  // namespace tailor
