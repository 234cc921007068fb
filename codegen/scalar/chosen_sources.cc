// Selects among sources by their place, as concat makes them (docs/decisions/concat-chooses-its-source.md).
#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor {

int ScalarEmitter::MaskedLoads(ExprId id) const {
  if (auto it = masked_loads_.find(id); it != masked_loads_.end()) return it->second;
  const Expr& e = plan_.exprs[id];
  int count = e.kind == ExprKind::kLoad && e.predicate >= 0 ? 1 : 0;
  for (ExprId arg : e.args) count = std::min(count + MaskedLoads(arg), kMostMaskedLoads);
  masked_loads_[id] = count;
  return count;
}

bool ScalarEmitter::ChoosesSource(const Expr& e) const {
  if (e.op != OpKind::kSelect || uniform_predicates_hold_) return false;
  // By place, not by data: what the arms share is emitted in both, and an index that no lane wants is not checked.
  if (plan_.exprs[e.args[0]].kind != ExprKind::kIndexLess) return false;
  const int first = MaskedLoads(e.args[1]), second = MaskedLoads(e.args[2]);
  if (first == 0 || second == 0) return false;
  return !VariesByLane(e.args[0]) || first + second > 2;  // two masked loads cost less than two branches
}

llvm::Value* ScalarEmitter::EmitChosenSource(const Expr& e) {
  const ExprId choice = e.args[0], first = e.args[1], second = e.args[2];
  llvm::Value* condition = Emit(choice);
  if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) return Emit(known->isOne() ? first : second);
  const bool vector = VariesByLane(choice) || VariesByLane(first) || VariesByLane(second);
  // What is emitted in an arm does not dominate later code. `known`: the condition there, or null if lanes differ.
  const auto arm = [&](ExprId id, llvm::Value* known) {
    const auto memo = memo_, first_memo = first_memo_;
    if (known != nullptr) memo_[choice] = known;
    llvm::Value* value = vector ? EmitLanes(id) : Emit(id);
    memo_ = memo;
    first_memo_ = first_memo;
    return value;
  };
  if (!VariesByLane(choice)) {
    return EmitChoice(
        b_, condition, "source", [&] { return arm(first, b_.getTrue()); }, [&] { return arm(second, b_.getFalse()); });
  }
  const auto if_any = [&](llvm::Value* lanes, ExprId id) {
    if (mask_ != nullptr) lanes = b_.CreateAnd(lanes, mask_, "source.lanes");
    llvm::Value* value = nullptr;
    return EmitChoice(
        b_, b_.CreateOrReduce(lanes), "source", [&] { return value = arm(id, nullptr); },
        [&] { return llvm::Constant::getNullValue(value->getType()); });
  };
  llvm::Value* of_first = if_any(condition, first);
  llvm::Value* of_second = if_any(b_.CreateNot(condition), second);
  return b_.CreateSelect(condition, of_first, of_second, "chosen");
}

// ---- Sources chosen before a loop ------------------------------------------------------------------

void ScalarEmitter::ChooseSources(int axis, int lanes) {
  sources_.clear();
  if (uniform_predicates_hold_) return;
  SetLanes(axis, b_.getInt64(0), lanes, nullptr);
  const std::vector<ExprId> ids = ReachableExprs(plan_);
  std::vector<bool> inside(plan_.exprs.size());
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {  // operands have smaller ids
    const Expr& e = plan_.exprs[*id];
    if (e.kind != ExprKind::kOp || e.op != OpKind::kSelect) continue;
    Choices choices;
    if (inside[*id] || VariesInRow(*id) || !IsSource(*id, e.dtype, choices)) continue;
    for (ExprId arm : choices.arms) inside[arm] = true;
    Source source{.dtype = e.dtype};
    for (int buffer : choices.buffers)
      source.scopes = llvm::MDNode::concatenate(source.scopes, frame_.alias_scope[buffer]);
    source.first = EmitSourceAddress(*id);
    sources_.emplace(*id, source);
  }
  SetLanes(axis, b_.getInt64(0), 1, nullptr);
}

// Whether loops inside the row set an axis that `id` depends on, other than that of the lanes.
bool ScalarEmitter::VariesInRow(ExprId id) const {
  for (int axis = 0; axis < static_cast<int>(plan_.axes.size()); ++axis) {
    if (axis != lane_axis_ && plan_.axes[axis].role != AxisRole::kParallel && DependsOn(plan_, id, axis)) return true;
  }
  return false;
}

// Whether `id` is computed from axes and dim sizes alone. Indices that are data are checked where elements are read.
bool ScalarEmitter::IsPlace(ExprId id) const {
  const Expr& e = plan_.exprs[id];
  if (e.kind == ExprKind::kLoad || e.kind == ExprKind::kGatherIndex || e.kind == ExprKind::kOp) return false;
  return std::all_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return IsPlace(arg); });
}

// Whether `id` is a load of contiguous lanes that only `made` guard, or a choice among such, the same for all lanes.
bool ScalarEmitter::IsSource(ExprId id, DType dtype, Choices& choices) const {
  const Expr& e = plan_.exprs[id];
  if (e.kind == ExprKind::kLoad) {
    const Buffer& buffer = plan_.buffers[e.ref];
    if (buffer.kind != BufferKind::kInput || buffer.dtype != dtype || buffer.layout != ConstantLayout::kRowMajor)
      return false;
    if (!std::all_of(e.args.begin(), e.args.end(), [&](ExprId index) { return IsPlace(index); })) return false;
    choices.buffers.push_back(e.ref);
    return LaneStep(buffer, e.args) == 1 && (e.predicate < 0 || choices.Imply(plan_, e.predicate));
  }
  if (e.kind != ExprKind::kOp || e.op != OpKind::kSelect) return false;
  if (plan_.exprs[e.args[0]].kind != ExprKind::kIndexLess || !IsPlace(e.args[0]) || VariesByLane(e.args[0]))
    return false;
  for (const bool holds : {true, false}) {
    const ExprId arm = e.args[holds ? 1 : 2];
    choices.made.emplace_back(e.args[0], holds);
    choices.arms.push_back(arm);
    if (!IsSource(arm, dtype, choices)) return false;
    choices.made.pop_back();
  }
  return true;
}

bool ScalarEmitter::Choices::Imply(const KernelPlan& plan, ExprId predicate) const {
  const Expr& e = plan.exprs[predicate];
  if (e.kind == ExprKind::kOp && e.op == OpKind::kAnd) return Imply(plan, e.args[0]) && Imply(plan, e.args[1]);
  const bool negated = e.kind == ExprKind::kOp && e.op == OpKind::kNot;
  return std::find(made.begin(), made.end(), std::pair(negated ? e.args[0] : predicate, !negated)) != made.end();
}

// The address of lane 0 in the source that `id` chooses.
llvm::Value* ScalarEmitter::EmitSourceAddress(ExprId id) {
  const Expr& e = plan_.exprs[id];
  if (e.kind == ExprKind::kLoad) return ElementPointer(e.ref, EmitAddress(plan_.buffers[e.ref], e.args).offset);
  // What is emitted in an arm does not dominate later code.
  const auto arm = [&](ExprId source) {
    const auto memo = memo_, first_memo = first_memo_;
    llvm::Value* address = EmitSourceAddress(source);
    memo_ = memo;
    first_memo_ = first_memo;
    return address;
  };
  return EmitChoice(
      b_, Emit(e.args[0]), "source", [&] { return arm(e.args[1]); }, [&] { return arm(e.args[2]); });
}

llvm::Value* ScalarEmitter::EmitFromSource(const Source& source) {
  const llvm::Align align(SizeOf(source.dtype));
  llvm::Type* type = MemoryType(b_.getContext(), source.dtype, lanes_);
  llvm::Value* address =
      b_.CreateGEP(MemoryType(b_.getContext(), source.dtype, 1), source.first, axes_.at(lane_axis_), "element");
  llvm::Instruction* load =
      mask_ == nullptr || lanes_ == 1
          ? static_cast<llvm::Instruction*>(b_.CreateAlignedLoad(type, address, align, "chosen"))
          : b_.CreateMaskedLoad(type, address, align, mask_, llvm::Constant::getNullValue(type), "chosen");
  load->setMetadata(llvm::LLVMContext::MD_alias_scope, source.scopes);
  return FromMemory(b_, source.dtype, load);
}

}  // namespace tailor
