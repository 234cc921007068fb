#include "codegen/cpu/loops/part_loops.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/cpu/loops/stage_loops.h"
#include "codegen/ir/digits.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/row_parts.h"
#include "codegen/plan/stage_phases.h"
#include "codegen/scalar/partial_reductions.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::cpu {
namespace {

using llvm::Value;

// With more groups of rows, whole rows are enough tasks for any host (kFewGroups) or, where several phases read them,
// use its caches better (kFewReread).
constexpr int64_t kFewGroups = 64, kFewReread = 8;
// kMostParts: parts in all, one or two per thread of large hosts. kLeastSteps: steps of a loop over a part. Every part
// combines all parts of its row, which costs about one step per part.
constexpr int64_t kMostParts = 128, kLeastSteps = 256;
// Minimum size of a part, in chunks of tasks.
constexpr int64_t kPartChunks = 2;

// Chains that combine the results of parts side by side.
constexpr int kChains = 8;

// A group of rows: its vectors, and rows per vector.
struct GroupShape {
  int64_t vectors = 1, rows = 1;
  int64_t width() const { return vectors * rows; }
};

GroupShape ShapeOf(const KernelPlan& plan, const Schedule& schedule) {
  if (!LanesAcrossRows(plan, schedule)) return {};
  return {schedule.lane_chunk / schedule.lanes, schedule.lanes};
}

// Whether phases can pass on the statement's result: reductions, and stores to memory.
bool IsShared(const KernelPlan& plan, const Statement& s) {
  const Buffer& buffer = plan.buffers[s.buffer];
  if (buffer.kind != BufferKind::kLocal) return true;
  return !s.reduce_axes.empty() && !IsScan(plan, s) && buffer.dtype == s.accumulate;
}

class PartLoopEmitter {
 public:
  PartLoopEmitter(const KernelPlan& plan, const Schedule& schedule, const Version& version, const EmitTarget& target,
                  const std::string& name, llvm::Module& module)
      : plan_(plan),
        schedule_(schedule),
        axis_(version.parts->axis),
        target_(target),
        reduced_(ReducedLocals(plan)),
        group_(ShapeOf(plan, schedule)),
        b_(module.getContext()),
        frame_(OpenKernelFunction(b_, module, plan, KernelSignature::OnHost(plan, schedule), name)),
        scratch_(frame_.Get(KernelParameter::kLaunchScratch)),
        parts_(frame_.Get(KernelParameter::kParts)),
        function_(b_.GetInsertBlock()->getParent()),
        loops_(b_, plan, schedule, target, frame_, version),
        axes_(loops_.TaskAxes()) {}

  void Emit() {
    Value* groups = b_.getInt64(1);
    for (int axis : axes_) {
      dim_sizes_.push_back(loops_.TasksAlong(axis));
      groups = b_.CreateMul(groups, dim_sizes_.back(), "groups");
    }
    dim_sizes_.push_back(parts_);
    vector_bytes_ = b_.CreatePtrDiff(b_.getInt8Ty(), loops_.PlaceBuffers(0, scratch_), scratch_, "kept.bytes");
    Value* kept_bytes = b_.CreateMul(b_.CreateMul(groups, b_.getInt64(group_.vectors)), vector_bytes_);
    partials_.emplace(b_, b_.CreateInBoundsGEP(b_.getInt8Ty(), scratch_, kept_bytes, "cells"), groups, parts_,
                      static_cast<int>(group_.width()));

    const std::vector<Phase> phases = PhasesOf(plan_);
    llvm::LLVMContext& context = b_.getContext();
    auto* done = llvm::BasicBlock::Create(context, "done", function_);
    llvm::SwitchInst* choice = b_.CreateSwitch(frame_.Get(KernelParameter::kPhase), done, phases.size());
    for (size_t i = 0; i < phases.size(); ++i) {
      auto* begin = llvm::BasicBlock::Create(context, "phase", function_, done);
      choice->addCase(b_.getInt64(i), begin);
      b_.SetInsertPoint(begin);
      EmitPhase(phases[i]);
      b_.CreateBr(done);
    }
    b_.SetInsertPoint(done);
    b_.CreateRetVoid();
  }

 private:
  void EmitPhase(const Phase& phase) {
    Digits digits(b_, function_->getArg(1), dim_sizes_);
    EmitLoop(b_, function_->getArg(1), function_->getArg(2), 1, "part", [&](Value* task) {
      const std::vector<Value*> digit = digits.Emit();
      digits.EmitAdvance();
      place_ = {b_.CreateUDiv(task, parts_, "group"), digit.back(), b_.getInt64(0)};
      is_first_ = b_.CreateICmpEQ(place_.part, b_.getInt64(0), "is_first");
      if (phase.once) {
        EmitIf(b_, is_first_, "once", [&] { EmitTask(phase, digit); });
      } else {
        const int lanes = axis_ == schedule_.lane_axis ? schedule_.lanes * schedule_.unroll : 1;
        loops_.SetSpan(axis_, EmitPartSpan(b_, loops_.DimSizeOf(axis_), place_.part, parts_, lanes));
        EmitTask(phase, digit);
      }
      loops_.Forget();
    });
  }

  void EmitTask(const Phase& phase, const std::vector<Value*>& digit) {
    if (!loops_.LanesAcrossRows()) {
      loops_.Place(loops_.row(0), axes_, digit);
      loops_.PlaceBuffers(0, KeptAt(place_.group));
      EmitStages(phase);
      return;
    }
    Value* chunk = nullptr;
    for (int row = 0; row < schedule_.interleaved_rows; ++row) chunk = loops_.Place(loops_.row(row), axes_, digit);
    const PartSpan span = loops_.ChunkSpan(chunk);
    loops_.EmitRowVectors(span, [&](const StageLoops::Vectors& vectors) {
      place_.point = b_.CreateSub(vectors.first, span.begin, "point");
      Value* vector = b_.CreateUDiv(place_.point, b_.getInt64(schedule_.lanes));
      vector = b_.CreateAdd(b_.CreateMul(place_.group, b_.getInt64(group_.vectors)), vector, "vector");
      for (int row = 0; row < loops_.rows(); ++row) {
        loops_.PlaceBuffers(row, KeptAt(b_.CreateAdd(vector, b_.getInt64(row))));
      }
      EmitStages(phase);
    });
  }

  Value* KeptAt(Value* vector) {
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), scratch_, b_.CreateMul(vector, vector_bytes_), "kept");
  }

  void EmitStages(const Phase& phase) {
    const std::vector<bool> needed = LocalsNeeded(plan_, phase);
    for (int i = 0; i < phase.first; ++i) RestoreReductions(plan_.stages[i], needed);
    for (int i = phase.first; i < phase.end; ++i) {
      const Stage& stage = plan_.stages[i];
      if (stage.axes.empty() && !phase.once) {
        EmitIf(b_, is_first_, "for_all", [&] { loops_.EmitStage(stage); });
        loops_.Forget();
      } else {
        loops_.EmitStage(stage);
      }
      StoreReductions(stage);
    }
  }

  // The cell of row number `row` of the current rows.
  PartialReductions::Place PartialAt(int row, Value* part) {
    Value* point = b_.CreateAdd(place_.point, b_.getInt64(int64_t{row} * schedule_.lanes), "point");
    return {place_.group, part, point};
  }

  int NumberOf(const Statement& s) const {
    return static_cast<int>(std::find(reduced_.begin(), reduced_.end(), s.buffer) - reduced_.begin());
  }

  void StoreReductions(const Stage& stage) {
    for (const Statement& s : stage.statements) {
      if (s.reduce_axes.empty()) continue;
      for (int row = 0; row < loops_.rows(); ++row) {
        partials_->Store(NumberOf(s), PartialAt(row, place_.part), loops_.row(row).local(s.buffer));
      }
    }
  }

  // One reduction of a current row: the combination of some of its parts, finally of all.
  struct Total {
    const Statement& statement;
    int row;
    llvm::AllocaInst* slot;
  };

  // Combines the parts of the current rows. With few rows, several chains of parts are combined side by side.
  void RestoreReductions(const Stage& stage, const std::vector<bool>& needed) {
    const int chains = std::max(1, kChains / loops_.rows());
    std::vector<std::vector<Total>> totals(chains);
    for (const Statement& s : stage.statements) {
      if (s.reduce_axes.empty() || !needed[s.buffer]) continue;
      for (int row = 0; row < loops_.rows(); ++row) {
        for (std::vector<Total>& chain : totals) chain.push_back({s, row, OpenVariable(b_, Neutral(s), "total")});
      }
    }
    if (totals[0].empty()) return;
    Value* next = b_.getInt64(0);
    for (int width = chains; width > 0; width = width > 1 ? 1 : 0) {
      Value* end = b_.CreateSub(parts_, b_.getInt64(width - 1), "full.end");
      next = EmitLoop(b_, next, end, width, "others", [&](Value* part) {
        for (int chain = 0; chain < width; ++chain) {
          Value* at = b_.CreateAdd(part, b_.getInt64(chain));
          for (const Total& total : totals[chain]) {
            const PartialReductions::Place cell = PartialAt(total.row, at);
            Combine(total, partials_->Load(NumberOf(total.statement), cell, total.slot->getAllocatedType()));
          }
        }
      });
    }
    for (size_t i = 0; i < totals[0].size(); ++i) {
      const Total& all = totals[0][i];
      for (int chain = 1; chain < chains; ++chain) Combine(all, Load(totals[chain][i]));
      loops_.row(all.row).SetLocal(all.statement.buffer, Load(all));
    }
  }

  Value* Neutral(const Statement& s) {
    return EmitNeutral(b_, s.combiner, s.accumulate, static_cast<int>(group_.rows));
  }

  Value* Load(const Total& total) { return b_.CreateLoad(total.slot->getAllocatedType(), total.slot, "total.so_far"); }

  void Combine(const Total& total, Value* value) {
    const Statement& s = total.statement;
    Value* both = EmitScalarOp(b_, target_, s.combiner, s.accumulate, s.accumulate, {Load(total), value});
    b_.CreateStore(both, total.slot);
  }

  const KernelPlan& plan_;
  const Schedule& schedule_;
  const int axis_;
  const EmitTarget& target_;
  const std::vector<int> reduced_;
  const GroupShape group_;
  llvm::IRBuilder<> b_;
  KernelFrame frame_;
  Value *const scratch_, *const parts_;  // scratch of the launch; parts per row or chunk
  llvm::Function* function_;
  StageLoops loops_;
  const std::vector<int> axes_;  // of tasks; the digit after theirs is the part
  std::vector<Value*> dim_sizes_;
  std::optional<PartialReductions> partials_;
  Value* vector_bytes_ = nullptr;
  PartialReductions::Place place_ = {};
  Value* is_first_ = nullptr;
};

}  // namespace

void AddSplitVersion(const KernelPlan& plan, int64_t chunk_elements, Schedule& schedule) {
  for (const Stage& stage : plan.stages) {
    if (!std::all_of(stage.statements.begin(), stage.statements.end(),
                     [&](const Statement& s) { return IsShared(plan, s); })) {
      return;
    }
  }
  SlotExpr groups = 1, width = 1;
  for (int axis : AxesOf(plan, AxisRole::kParallel)) {
    const SlotExpr dim_size = OverSlots(plan.axes[axis].dim_size);
    if (axis == schedule.lane_axis) {
      groups = groups * SlotExpr::CeilDiv(dim_size, schedule.lane_chunk);
      width = SlotExpr::Min(SlotExpr::CeilDiv(dim_size, schedule.lanes) * schedule.lanes, schedule.lane_chunk);
    } else {
      groups = groups * dim_size;
    }
  }
  const std::vector<Phase> phases = PhasesOf(plan);
  const auto loops = std::count_if(phases.begin(), phases.end(), [](const Phase& phase) { return !phase.once; });
  const GroupShape group = ShapeOf(plan, schedule);
  const int64_t elements_per_part = std::max(kPartChunks * chunk_elements, kLeastSteps * group.width());
  const PartLimits limits{elements_per_part, loops > 1 ? kFewReread : kFewGroups, kMostParts};
  auto tiling = SplitRowsIntoParts(plan, groups, width, limits);
  if (!tiling || phases.size() > 32) return;

  Version version = BroadcastVersions(plan)[0];
  AddGuards(tiling->guards, version);
  const auto cells = static_cast<int64_t>(ReducedLocals(plan).size()) * group.width();
  version.parts = PartTasks{
      .count = tiling->parts,
      .tasks = groups * tiling->parts,
      .phases = static_cast<int>(phases.size()),
      .serial = PhasesWithoutLoops(phases),
      .scratch_bytes = groups * (group.vectors * RowBytes(plan, group.rows) + tiling->parts * (cells * kPartialBytes)),
      .axis = tiling->axis};
  if (version.guards.empty()) schedule.versions.clear();  // always taken
  schedule.versions.insert(schedule.versions.begin(), std::move(version));
}

void EmitPartLoops(const KernelPlan& plan, const Schedule& schedule, const Version& version, const EmitTarget& target,
                   const std::string& name, llvm::Module& module) {
  PartLoopEmitter(plan, schedule, version, target, name, module).Emit();
}

}  // namespace tailor::cpu
