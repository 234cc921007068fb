// Emits loop and row kernels. A task is a whole row or several, and runs all stages of the plan.
#include <algorithm>
#include <cassert>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cpu/loops/emit_loops.h"
#include "codegen/cpu/loops/part_loops.h"
#include "codegen/cpu/loops/pipelined_rows.h"
#include "codegen/cpu/loops/short_rows.h"
#include "codegen/cpu/loops/stage_loops.h"
#include "codegen/cpu/loops/transposed_loops.h"
#include "codegen/cpu/loops/window_loops.h"
#include "codegen/ir/digits.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace tailor::cpu {
namespace {

// In elements: half of an L2 cache of 1 MiB.
constexpr int64_t kLargeLaunch = 1 << 17;

// `frame` with constants for the slots that have one value in `version`.
KernelFrame WithConstants(llvm::IRBuilderBase& b, const Version& version, KernelFrame frame) {
  for (const Guard& guard : version.guards) {
    if (guard.kind == Guard::Kind::kEqual && guard.other < 0) frame.dims[guard.slot] = b.getInt64(guard.number);
  }
  return frame;
}

class LoopKernelEmitter {
 public:
  // `may_stream`: the function has one more parameter, i1: whether to use streaming stores.
  LoopKernelEmitter(const KernelPlan& plan, const Schedule& schedule, const Version& version, const EmitTarget& target,
                    llvm::Module& module, const std::string& name, bool may_stream)
      : plan_(plan),
        schedule_(schedule),
        b_(module.getContext()),
        frame_(WithConstants(b_, version,
                             OpenKernelFunction(b_, module, plan, KernelSignature::OnHost(plan, schedule), name,
                                                may_stream ? b_.getInt1Ty() : nullptr))),
        function_(b_.GetInsertBlock()->getParent()),
        streams_(may_stream ? function_->getArg(4) : nullptr),
        loops_(b_, plan, schedule, target, frame_, version) {
    if (may_stream) streams_->setName("streams");
  }

  llvm::Function* Emit() {
    llvm::Value* scratch = frame_.scratch;
    for (int row = 0; row < schedule_.interleaved_rows && scratch != nullptr; ++row)
      scratch = loops_.PlaceBuffers(row, scratch);
    EmitTaskLoop();
    b_.CreateRetVoid();
    return function_;
  }

 private:
  void EmitTaskLoop() {
    if (loops_.LanesAcrossRows()) return EmitTasksAcrossRows();
    const std::vector<int> axes = loops_.TaskAxes();
    std::vector<llvm::Value*> dim_sizes;
    for (int axis : axes) dim_sizes.push_back(loops_.TasksAlong(axis));
    Digits digits(b_, function_->getArg(1), dim_sizes);
    llvm::Value* next = function_->getArg(1);
    llvm::Value* end = function_->getArg(2);
    const LaunchElements size = schedule_.interleaved_rows > 1 ? SizeOfLaunch() : LaunchElements{};
    for (int rows = schedule_.interleaved_rows; rows > 0; rows = rows > 1 ? 1 : 0) {
      if (rows == 1 && schedule_.overlap_stage > 0) {
        llvm::Value* is_near = b_.CreateICmpSLE(size.launch, b_.getInt64(kLargestLaunchInFlight), "is_near");
        if (const int64_t most = schedule_.max_overlap_elements; most > 0) {
          is_near = b_.CreateAnd(is_near, b_.CreateICmpSLE(size.row, b_.getInt64(most), "row.fits"), "is_near");
        }
        next = EmitRowsInFlight(b_, plan_, schedule_, frame_.scratch, next, end, is_near, digits, loops_);
      }
      llvm::Value* full = rows > 1 ? InterleavedTaskEnd(rows, size) : end;
      loops_.SetRows(rows);
      next = EmitLoop(b_, next, full, rows, rows > 1 ? "tasks" : "task", [&](llvm::Value*) {
        loops_.Forget();
        for (int row = 0; row < rows; ++row) {
          loops_.Place(loops_.row(row), axes, digits.Emit());
          digits.EmitAdvance();
          if (schedule_.lane_axis >= 0) loops_.row(row).ChooseSources(schedule_.lane_axis, schedule_.lanes);
        }
        loops_.EmitStages();
        for (int row = 0; row < rows; ++row) loops_.row(row).ForgetSources();
      });
    }
  }

  // The last axis is that of the lanes, in chunks. Runs of tasks go along the one before where there is one chunk, else
  // along the chunks.
  void EmitTasksAcrossRows() {
    const std::vector<int> axes = loops_.TaskAxes();
    std::vector<llvm::Value*> dim_sizes;
    for (int axis : axes) dim_sizes.push_back(loops_.TasksAlong(axis));
    const bool has_rows = axes.size() > 1;
    const size_t last = axes.size() - 1;
    llvm::Value* one_chunk = b_.CreateICmpEQ(dim_sizes[last], b_.getInt64(1), "one.chunk");
    if (has_rows) {
      llvm::Value* rows = dim_sizes[last - 1];
      dim_sizes[last - 1] = b_.CreateSelect(one_chunk, b_.getInt64(1), rows);
      dim_sizes[last] = b_.CreateSelect(one_chunk, rows, dim_sizes[last], "run");
    }
    Digits digits(b_, function_->getArg(1), dim_sizes);
    digits.EmitRuns(function_->getArg(1), function_->getArg(2), [&](std::vector<llvm::Value*> task) {
      if (has_rows) {
        task[last - 1] = b_.CreateSelect(one_chunk, task[last], task[last - 1], "row");
        task[last] = b_.CreateSelect(one_chunk, b_.getInt64(0), task[last], "chunk");
      }
      for (int row = 0; row < schedule_.interleaved_rows; ++row) loops_.Place(loops_.row(row), axes, task);
      EmitAcrossRows(loops_.ChunkSpan(task[last]));
    });
  }

  // Elements of a row, and of all rows of a launch, or of a chain's block.
  struct LaunchElements {
    llvm::Value *row = nullptr, *launch = nullptr;
  };

  LaunchElements SizeOfLaunch() {
    llvm::Value *row = b_.getInt64(1), *rows = b_.getInt64(1);
    for (size_t i = 0; i < plan_.axes.size(); ++i) {
      llvm::Value*& product = plan_.axes[i].role == AxisRole::kParallel ? rows : row;
      product = b_.CreateMul(product, loops_.DimSizeOf(i), "elements");
    }
    if (schedule_.block_rows > 0) rows = b_.getInt64(schedule_.block_rows);
    return {row, b_.CreateMul(rows, row, "elements")};
  }

  // End of the tasks that can run `rows` at a time, side by side.
  llvm::Value* InterleavedTaskEnd(int rows, const LaunchElements& size) {
    constexpr int64_t kShortest = 64;
    llvm::Value* large = b_.CreateICmpSGT(size.launch, b_.getInt64(kLargeLaunch), "large");
    llvm::Value* limit = b_.CreateSelect(large, b_.getInt64(std::min(kShortest, schedule_.max_interleaved_elements)),
                                         b_.getInt64(schedule_.max_interleaved_elements), "short.row");
    llvm::Value* end = b_.CreateSub(function_->getArg(2), b_.getInt64(rows - 1), "full.end");
    llvm::Value* is_short = b_.CreateICmpSLE(size.row, limit, "row.is_short");
    return b_.CreateSelect(is_short, end, function_->getArg(1), "side_by_side.end");
  }

  // A task whose lanes run along a parallel axis.
  void EmitAcrossRows(PartSpan chunk) {
    loops_.row(0).ChooseSources(schedule_.lane_axis, schedule_.lanes);
    for (int row = 1; row < schedule_.interleaved_rows; ++row) loops_.row(row).ChooseSourcesAs(loops_.row(0));
    if (streams_ != nullptr) {  // the loops after it then find no whole vector
      chunk.begin = EmitChoice(
          b_, streams_, "streams", [&] { return EmitStreamed(chunk); }, [&] { return chunk.begin; });
      chunk.at_multiples = false;
    }
    loops_.EmitRowVectors(chunk, [&](const StageLoops::Vectors&) { loops_.EmitStages(); });
  }

  llvm::Value* EmitStreamed(PartSpan chunk) {
    chunk.begin = EmitUntilAligned(plan_.stages[0].statements.back(), chunk, [&](const StageLoops::Vectors& vectors) {
      loops_.Enter(loops_.row(0), vectors, 0);
      loops_.EmitStages();
    });
    return loops_.EmitStreamedVectors(chunk);
  }

  // Runs `body` for the elements of `chunk` before the first one that is vector-aligned in the output of `store`.
  // Returns that element, or the end.
  llvm::Value* EmitUntilAligned(const Statement& store, PartSpan chunk,
                                llvm::function_ref<void(const StageLoops::Vectors&)> body) {
    ScalarEmitter& row = loops_.row(0);
    const int64_t width = SizeOf(plan_.buffers[store.buffer].dtype), vector = width * schedule_.lanes;
    row.SetLanes(schedule_.lane_axis, chunk.begin, 1, nullptr);
    llvm::Value* address = b_.CreatePtrToInt(row.AddressOf(store.buffer, store.indices), b_.getInt64Ty());
    llvm::Value* bytes = b_.CreateAnd(b_.CreateNeg(address), b_.getInt64(vector - 1), "unaligned.bytes");
    llvm::Value* count = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateUDiv(bytes, b_.getInt64(width)),
                                                  b_.CreateSub(chunk.end, chunk.begin), nullptr, "unaligned");
    EmitIf(b_, b_.CreateICmpSGT(count, b_.getInt64(0)), "head",
           [&] { body({.first = chunk.begin, .mask = EmitFirstLanes(b_, schedule_.lanes, count)}); });
    return b_.CreateAdd(chunk.begin, count, "aligned");
  }

  const KernelPlan& plan_;
  const Schedule& schedule_;
  llvm::IRBuilder<> b_;
  KernelFrame frame_;
  llvm::Function* function_;
  llvm::Argument* streams_;
  StageLoops loops_;
};

// The version that also runs where `streaming` does: a later one with no other guards. The last version has none.
size_t VersionBehind(const Schedule& schedule, size_t streaming) {
  const std::vector<Guard>& guards = schedule.versions[streaming].guards;
  for (size_t v = streaming + 1;; ++v) {
    assert(v < schedule.versions.size() && "the last version is no general one");
    const Version& version = schedule.versions[v];
    const bool runs = std::all_of(version.guards.begin(), version.guards.end(), [&](const Guard& guard) {
      return std::find(guards.begin(), guards.end(), guard) != guards.end();
    });
    if (runs && !version.streams && !version.parts && !version.short_rows) return v;
  }
}

// The kernel function `name`, which calls `body`.
void EmitCall(llvm::Module& module, const std::string& name, llvm::Function* body, bool streams) {
  llvm::IRBuilder<> b(module.getContext());
  llvm::SmallVector<llvm::Type*> types(body->getFunctionType()->params().drop_back());
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  llvm::SmallVector<llvm::Value*> arguments;
  for (llvm::Argument& argument : function->args()) arguments.push_back(&argument);
  arguments.push_back(b.getInt1(streams));
  b.CreateCall(body, arguments)->setTailCallKind(streams ? llvm::CallInst::TCK_None : llvm::CallInst::TCK_Tail);
  if (streams) b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});  // order stores before completion
  b.CreateRetVoid();
}

// Version `v` and those that differ from it in streaming stores alone: they share a function, since a loop for each
// would take twice the time to compile.
void EmitVersions(const KernelPlan& plan, const Schedule& schedule, size_t v, const EmitTarget& target,
                  const std::string& name, llvm::Module& module) {
  std::vector<size_t> streaming;
  for (size_t s = 0; s < v; ++s) {
    if (schedule.versions[s].streams && VersionBehind(schedule, s) == v) streaming.push_back(s);
  }
  const std::string symbol = absl::StrCat(name, "_v", v);
  const bool shares = !streaming.empty();
  LoopKernelEmitter emitter(plan, schedule, schedule.versions[v], target, module,
                            shares ? absl::StrCat(symbol, "_body") : symbol, shares);
  llvm::Function* body = emitter.Emit();
  if (!shares) return;
  body->setLinkage(llvm::GlobalValue::InternalLinkage);
  body->addFnAttr(llvm::Attribute::NoInline);
  EmitCall(module, symbol, body, false);
  for (size_t s : streaming) EmitCall(module, absl::StrCat(name, "_v", s), body, true);
}

}  // namespace

absl::Status EmitLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module) {
  if (schedule.cross_axis >= 0) {
    EmitTransposedLoops(plan, schedule, target, name, module);
    return absl::OkStatus();
  }
  if (schedule.windows) {
    EmitWindowLoops(plan, schedule, target, name, module);
    return absl::OkStatus();
  }
  for (size_t v = 0; v < schedule.versions.size(); ++v) {
    const Version& version = schedule.versions[v];
    const std::string symbol = absl::StrCat(name, "_v", v);
    if (version.parts) {
      EmitPartLoops(plan, schedule, version, target, symbol, module);
    } else if (version.short_rows) {
      absl::Status emitted = EmitShortRows(plan, schedule, version, target, symbol, module);
      if (!emitted.ok()) return emitted;
    } else if (!version.streams) {
      EmitVersions(plan, schedule, v, target, name, module);
    }
  }
  return absl::OkStatus();
}

}  // namespace tailor::cpu
