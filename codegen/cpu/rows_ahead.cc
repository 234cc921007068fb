#include "codegen/cpu/rows_ahead.h"

#include <algorithm>
#include <map>
#include <vector>

#include "codegen/emit_loop.h"
#include "codegen/stage_phases.h"

namespace tailor {
namespace {

using llvm::Value;

// What the first stage leaves of the next row, row 1 of the loops, for when it is row 0.
class NextRow {
 public:
  NextRow(llvm::IRBuilderBase& b, const KernelPlan& plan, Value* scratch, StageLoops& loops)
      : b_(b), plan_(plan), loops_(loops) {
    if (!KeepsAhead(plan)) return;
    here_ = scratch;
    there_ = loops_.PlaceBuffers(1, scratch);
    buffers_ = OpenVariable(b_, here_, "next_row.buffers");
  }

  // Row 1 has been through the first stage.
  void Leave() {
    for (const Statement& s : plan_.stages[0].statements) {
      if (s.reduce_axes.empty()) continue;
      Value* result = loops_.row(1).local(s.buffer);
      auto& slot = results_[s.buffer];
      if (slot == nullptr) {
        slot = OpenVariable(b_, result, "next_row");
      } else {
        b_.CreateStore(result, slot);
      }
    }
  }

  // It is row 0 now.
  void Take() {
    for (const auto& [buffer, slot] : results_) {
      loops_.row(0).SetLocal(buffer, b_.CreateLoad(slot->getAllocatedType(), slot, "left"));
    }
    if (buffers_ == nullptr) return;
    Value* taken = b_.CreateLoad(b_.getPtrTy(), buffers_, "buffers");
    Value* other = b_.CreateSelect(b_.CreateICmpEQ(taken, here_), there_, here_, "buffers.next");
    b_.CreateStore(other, buffers_);
    loops_.PlaceBuffers(0, taken);
    loops_.PlaceBuffers(1, other);
  }

 private:
  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  StageLoops& loops_;
  std::map<int, llvm::AllocaInst*> results_;  // by buffer
  Value *here_ = nullptr, *there_ = nullptr;  // two sets of row buffers
  llvm::AllocaInst* buffers_ = nullptr;       // the next row's
};

}  // namespace

int StageToLookAheadIn(const KernelPlan& plan, int lane_axis) {
  const Stage& first = plan.stages[0];  // no scan is beside reductions
  const auto is_left = [&](const Statement& s) {
    return IsReduction(plan, s) || (s.reduce_axes.empty() && plan.buffers[s.buffer].kind != BufferKind::kLocal);
  };
  if (std::find(first.axes.begin(), first.axes.end(), lane_axis) == first.axes.end()) return 0;
  if (!std::all_of(first.statements.begin(), first.statements.end(), is_left)) return 0;
  for (int i = 1; i < static_cast<int>(plan.stages.size()); ++i) {
    if (plan.stages[i].axes == first.axes) return i;
  }
  return 0;
}

bool KeepsAhead(const KernelPlan& plan) {
  const std::vector<Statement>& statements = plan.stages[0].statements;
  return std::any_of(statements.begin(), statements.end(),
                     [&](const Statement& s) { return plan.buffers[s.buffer].kind == BufferKind::kRow; });
}

void EmitRowsAhead(llvm::IRBuilderBase& b, const KernelPlan& plan, Value* scratch, Value* first, Value* end,
                   Value* looks_ahead, TaskDigits& digits, StageLoops& loops) {
  const std::vector<int> axes = loops.TaskAxes();
  const auto place = [&](int row) { loops.Place(loops.row(row), axes, digits.Emit()); };
  Value* run = b.CreateSelect(looks_ahead, b.CreateSub(end, first), b.getInt64(1), "run");
  EmitLoop(b, first, end, run, "run", [&](Value* task) {
    NextRow next(b, plan, scratch, loops);
    const auto begin = [&] {
      next.Take();
      loops.SetRows(2);
      loops.Forget();
      place(0);
      digits.EmitAdvance();
    };
    loops.SetRows(2);
    loops.Forget();
    place(1);
    loops.EmitFirstStage(1);
    next.Leave();
    Value* last = b.CreateSub(b.CreateAdd(task, run), b.getInt64(1), "last");
    EmitLoop(b, task, last, 1, "task", [&](Value*) {
      begin();
      place(1);
      loops.EmitOtherStages(true);
      next.Leave();
    });
    begin();
    loops.EmitOtherStages(false);
  });
}

}  // namespace tailor
