#include "codegen/cpu/loops/pipelined_rows.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <vector>

#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/stage_phases.h"

namespace tailor::cpu {
namespace {

using llvm::Value;

// One turn per row, and the state between turns: locals of the stages, positions of the rows, and their row buffers.
class PipelinedRows {
 public:
  PipelinedRows(llvm::IRBuilderBase& b, const KernelPlan& plan, const Schedule& schedule, Value* scratch,
                Digits& digits, StageLoops& loops)
      : b_(b),
        plan_(plan),
        behind_(schedule.defer_last_stage),
        digits_(digits),
        loops_(loops),
        axes_(loops.TaskAxes()) {
    assert(schedule.interleaved_rows > StageLoops::kBefore);
    if (RowBufferSets(plan, schedule) == 1) return;
    if (behind_) sets_.push_back({StageLoops::kBefore});
    sets_.push_back({StageLoops::kHere});
    if (KeepsAhead(plan)) sets_.push_back({StageLoops::kNext});
    for (BufferSet& set : sets_) {
      set.address = OpenVariable(b_, scratch, "row_buffers");
      scratch = loops_.PlaceBuffers(set.row, scratch);
    }
  }

  // The first stage of the first row.
  void EmitPrologue() {
    Begin();
    loops_.Place(loops_.row(StageLoops::kNext), axes_, digits_.Emit());
    loops_.EmitFirstStage();
    Leave(StageLoops::kNext, 1, first_stage_);
  }

  // The stages of the next row after its first. In the loops of one of them run the first stage of the row after it
  // (`with_next`) and the last stage of the row before it (`with_before`).
  void EmitIteration(bool with_next, bool with_before) {
    Advance();
    Take(StageLoops::kHere, first_stage_);
    if (with_before) TakeRowBefore();
    const std::vector<Value*> here = digits_.Emit();
    loops_.Place(loops_.row(StageLoops::kHere), axes_, here);
    digits_.EmitAdvance();
    if (with_next) loops_.Place(loops_.row(StageLoops::kNext), axes_, digits_.Emit());
    loops_.EmitOtherStages(with_next, with_before);
    if (with_next) Leave(StageLoops::kNext, 1, first_stage_);
    if (!behind_) return;
    Leave(StageLoops::kHere, plan_.stages.size() - 1, stages_);
    place_.resize(here.size());
    for (size_t i = 0; i < here.size(); ++i) Keep(here[i], place_[i]);
  }

  // The last stage of the last row, with Schedule::defer_last_stage.
  void EmitEpilogue() {
    Advance();
    TakeRowBefore();
    loops_.EmitLastStage();
  }

 private:
  using Variables = std::map<int, llvm::AllocaInst*>;

  // A set of row buffers. In each turn entry i of `sets_` takes over the buffers of entry i + 1, cyclically.
  struct BufferSet {
    int row;
    llvm::AllocaInst* address = nullptr;
  };

  void Begin() {
    loops_.SetRows(StageLoops::kBefore + 1);
    loops_.Forget();
  }

  void Advance() {
    Begin();
    std::vector<Value*> addresses;
    for (const BufferSet& set : sets_) addresses.push_back(b_.CreateLoad(b_.getPtrTy(), set.address, "buffers"));
    for (size_t i = 0; i < sets_.size(); ++i) {
      Value* address = addresses[(i + 1) % sets_.size()];
      b_.CreateStore(address, sets_[i].address);
      loops_.PlaceBuffers(sets_[i].row, address);
    }
  }

  void Keep(Value* value, llvm::AllocaInst*& variable) {
    if (variable == nullptr) {
      variable = OpenVariable(b_, value, "kept");
    } else {
      b_.CreateStore(value, variable);
    }
  }

  Value* Kept(llvm::AllocaInst* variable) { return b_.CreateLoad(variable->getAllocatedType(), variable, "kept"); }

  // Saves the locals of `row`, which has run its first `stages` stages.
  void Leave(int row, size_t stages, Variables& variables) {
    for (size_t i = 0; i < stages; ++i) {
      const Stage& stage = plan_.stages[i];
      for (const Statement& s : stage.statements) {
        const bool once = stage.axes.empty() || IsReduction(plan_, s);
        if (once && plan_.buffers[s.buffer].kind == BufferKind::kLocal) {
          Keep(loops_.row(row).local(s.buffer), variables[s.buffer]);
        }
      }
    }
  }

  void Take(int row, const Variables& variables) {
    for (const auto& [buffer, variable] : variables) loops_.row(row).SetLocal(buffer, Kept(variable));
  }

  void TakeRowBefore() {
    Take(StageLoops::kBefore, stages_);
    std::vector<Value*> place;
    for (llvm::AllocaInst* variable : place_) place.push_back(Kept(variable));
    loops_.Place(loops_.row(StageLoops::kBefore), axes_, place);
  }

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const bool behind_;
  Digits& digits_;
  StageLoops& loops_;
  const std::vector<int> axes_;
  std::vector<BufferSet> sets_;
  Variables first_stage_, stages_;        // locals by buffer: of the next row, of the row before
  std::vector<llvm::AllocaInst*> place_;  // of the row before, by digit
};

}  // namespace

int StageToOverlap(const KernelPlan& plan, int lane_axis) {
  const Stage& first = plan.stages[0];  // scans never share a stage with reductions
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

bool CanDeferLastStage(const KernelPlan& plan, int overlap_stage) {
  const Stage& last = plan.stages.back();
  return overlap_stage > 0 && overlap_stage + 1 < static_cast<int>(plan.stages.size()) &&
         last.axes == plan.stages[overlap_stage].axes &&
         std::all_of(last.statements.begin(), last.statements.end(),
                     [](const Statement& s) { return s.reduce_axes.empty(); });
}

bool KeepsAhead(const KernelPlan& plan) {
  const std::vector<Statement>& statements = plan.stages[0].statements;
  return std::any_of(statements.begin(), statements.end(),
                     [&](const Statement& s) { return plan.buffers[s.buffer].kind == BufferKind::kRow; });
}

int RowBufferSets(const KernelPlan& plan, const Schedule& schedule) {
  if (schedule.overlap_stage == 0 || !HasScratch(plan)) return 1;
  return 1 + (KeepsAhead(plan) ? 1 : 0) + (schedule.defer_last_stage ? 1 : 0);
}

Value* EmitRowsInFlight(llvm::IRBuilderBase& b, const KernelPlan& plan, const Schedule& schedule, Value* scratch,
                        Value* first, Value* end, Value* allowed, Digits& digits, StageLoops& loops) {
  Value* one = b.getInt64(1);
  Value* last = b.CreateSub(end, one, "last");
  Value* in_flight = b.CreateAnd(allowed, b.CreateICmpSLT(first, last, "several"), "in_flight");
  EmitIf(b, in_flight, "rows", [&] {
    PipelinedRows rows(b, plan, schedule, scratch, digits, loops);
    rows.EmitPrologue();
    if (schedule.defer_last_stage) rows.EmitIteration(/*with_next=*/true, /*with_before=*/false);
    EmitLoop(b, schedule.defer_last_stage ? b.CreateAdd(first, one) : first, last, 1, "task",
             [&](Value*) { rows.EmitIteration(/*with_next=*/true, schedule.defer_last_stage); });
    rows.EmitIteration(/*with_next=*/false, schedule.defer_last_stage);
    if (schedule.defer_last_stage) rows.EmitEpilogue();
  });
  if (HasScratch(plan)) loops.PlaceBuffers(StageLoops::kHere, scratch);  // for rows that are not pipelined
  return b.CreateSelect(in_flight, end, first, "left");
}

}  // namespace tailor::cpu
