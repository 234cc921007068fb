#include "codegen/lower/join_attention.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/plan/plan_copier.h"
#include "codegen/plan/plan_rewrites.h"
#include "graph/status_macros.h"

namespace tailor::lower {
namespace {

absl::Status Refuse(absl::string_view reason) { return absl::FailedPreconditionError(reason); }

class Joiner {
 public:
  explicit Joiner(const std::vector<LoweredKernel>& links) : links_(links) {
    const int rows = static_cast<int>(links[1].plan.axes.size()) - 1;
    m_ = rows - 1;
    v_ = rows;
    n_ = rows + 1;
    d_ = rows + 2;
  }

  absl::StatusOr<LoweredKernel> Run() {
    plan_.form = AttentionForm{.m = m_, .v = v_, .n = n_, .d = d_};
    AddAxes();
    AddBound(BufferKind::kInput);
    AddBound(BufferKind::kOutput);
    TAILOR_RETURN_IF_ERROR(AddScores());
    TAILOR_RETURN_IF_ERROR(AddRows());
    TAILOR_RETURN_IF_ERROR(AddResult());
    for (size_t i = 0; i < links_.size(); ++i) {
      absl::StrAppend(&plan_.name, i == 0 ? "" : "+", links_[i].plan.name);
      plan_.fault_count += links_[i].plan.fault_count;
      joined_.faults.insert(joined_.faults.end(), links_[i].faults.begin(), links_[i].faults.end());
    }
    for (int old : Canonicalize(plan_)) {
      if (old < static_cast<int>(operands_.size())) joined_.operands.push_back(operands_[old]);
    }
    joined_.plan = std::move(plan_);
    return std::move(joined_);
  }

 private:
  // ---- Axes and buffers ----

  std::vector<int> AxesOf(size_t link) const {
    std::vector<int> axes;
    for (int i = 0; i <= m_; ++i) axes.push_back(i);
    if (link == 0) axes.insert(axes.end(), {n_, d_});
    if (link == 1) axes.push_back(n_);
    if (link == 2) axes.insert(axes.end(), {v_, n_});
    return axes;
  }

  void AddAxes() {
    plan_.axes.resize(d_ + 1);
    for (size_t link : {0, 2}) {
      const KernelPlan& from = links_[link].plan;
      const std::vector<int> axes = AxesOf(link);
      for (size_t i = 0; i < axes.size(); ++i) {
        DimSize dim_size = from.axes[i].dim_size;
        if (!dim_size.is_constant()) dim_size = plan_.AddDim(from.dims[dim_size.slot]);
        plan_.axes[axes[i]] = {dim_size, axes[i] >= n_ ? AxisRole::kContract : AxisRole::kParallel};
      }
    }
  }

  bool IsHandedOn(size_t link, size_t operand) const {
    const auto result = [&](size_t l) { return links_[l].operands.back().value; };
    if (operand + 1 == links_[link].operands.size()) return link + 1 < links_.size();
    return link > 0 && links_[link].operands[operand].value == result(link - 1);
  }

  void AddBound(BufferKind kind) {
    for (size_t link = 0; link < links_.size(); ++link) {
      const LoweredKernel& from = links_[link];
      buffers_[link].resize(from.plan.buffers.size(), -1);
      for (size_t i = 0; i < from.operands.size(); ++i) {
        Buffer buffer = from.plan.buffers[i];
        if (buffer.kind != kind || IsHandedOn(link, i)) continue;
        for (DimSize& dim_size : buffer.dims) {
          if (!dim_size.is_constant()) dim_size = plan_.AddDim(from.plan.dims[dim_size.slot]);
        }
        buffers_[link][i] = static_cast<int>(plan_.buffers.size());
        plan_.buffers.push_back(std::move(buffer));
        operands_.push_back(from.operands[i]);
      }
    }
  }

  PlanCopier CopierOf(size_t link) {
    int first_fault = 0;
    for (size_t before = 0; before < link; ++before) first_fault += links_[before].plan.fault_count;
    const auto axis = [this, axes = AxesOf(link)](int number) {
      return plan_.Add({.kind = ExprKind::kAxis, .ref = axes[number]});
    };
    return {links_[link].plan, plan_, axis, buffers_[link], first_fault};
  }

  // The buffer of `link` that holds the previous link's result.
  int TakenBy(size_t link) const {
    for (size_t i = 0; i + 1 < links_[link].operands.size(); ++i) {
      if (IsHandedOn(link, i)) return static_cast<int>(i);
    }
    return -1;
  }

  std::vector<ExprId> ScorePoint() {
    std::vector<ExprId> point;
    for (int axis : AxesOf(1)) point.push_back(plan_.Add({.kind = ExprKind::kAxis, .ref = axis}));
    return point;
  }

  // An f32 local: its buffer and a load of it.
  struct Local {
    int buffer = -1;
    ExprId load = -1;
  };
  Local AddLocal() {
    plan_.buffers.push_back({.kind = BufferKind::kLocal, .dtype = DType::kF32});
    const int buffer = static_cast<int>(plan_.buffers.size()) - 1;
    return {buffer, plan_.Add({.kind = ExprKind::kLoad, .dtype = DType::kF32, .ref = buffer})};
  }

  // ---- Expressions ----

  ExprId Op(OpKind op, DType dtype, std::vector<ExprId> args) {
    return plan_.Add({.kind = ExprKind::kOp, .dtype = dtype, .op = op, .args = std::move(args)});
  }
  ExprId Cast(ExprId id, DType dtype) { return plan_.exprs[id].dtype == dtype ? id : Op(OpKind::kCast, dtype, {id}); }

  // The operand inside the float-to-float casts around `id`: only widening casts, or all.
  ExprId Inside(ExprId id, bool only_widening) const {
    while (true) {
      const Expr& e = plan_.exprs[id];
      if (e.kind != ExprKind::kOp || e.op != OpKind::kCast) return id;
      const DType from = plan_.exprs[e.args[0]].dtype;
      if (!IsFloat(from) || !IsFloat(e.dtype)) return id;
      if (only_widening && SizeOf(from) >= SizeOf(e.dtype)) return id;
      id = e.args[0];
    }
  }

  bool Uses(ExprId id, ExprId part) const {
    if (id == part) return true;
    const Expr& e = plan_.exprs[id];
    return std::any_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return Uses(arg, part); });
  }

  bool IsBelowTop(ExprId id) const {
    const Expr& e = plan_.exprs[id];
    return e.kind == ExprKind::kOp && e.op == OpKind::kSub && Inside(e.args[0], true) == Inside(score_, true) &&
           Inside(e.args[1], false) == row_max_.load;
  }

  // `id` with its exponentials replaced by loads of local `e`.
  ExprId WithExponentials(ExprId id) {
    if (row_max_.load < 0) return id;
    const auto [known, added] = replaced_.try_emplace(id, id);
    if (!added) return known->second;
    Expr e = plan_.exprs[id];
    if (e.kind != ExprKind::kOp) return id;
    if (e.op == OpKind::kExp && IsBelowTop(Inside(e.args[0], true))) return replaced_[id] = Cast(e_.load, e.dtype);
    for (ExprId& arg : e.args) arg = WithExponentials(arg);
    return replaced_[id] = plan_.Add(std::move(e));
  }

  // ---- Stages ----

  absl::Status AddScores() {
    const KernelPlan& from = links_[0].plan;
    PlanCopier copier = CopierOf(0);
    const Statement& sum = from.stages[0].statements[0];
    if (sum.accumulate != DType::kF32) return Refuse("the scores are not summed in f32");
    const Local scores = AddLocal();
    plan_.stages.push_back({.axes = {d_}, .statements = {CopySum(copier, sum, scores, d_)}});
    copier.ForwardLoads(sum.buffer, {}, scores.load);
    const std::vector<Statement>& stores = from.stages[1].statements;
    if (from.stages.size() != 2 || stores.size() != 1 || copier.Copy(stores[0].indices) != ScorePoint()) {
      return Refuse("the scores are not stored where they are computed");
    }
    made_ = copier.Copy(stores[0].value);
    return absl::OkStatus();
  }

  // A matmul's sum as a statement that stores to `local`.
  Statement CopySum(PlanCopier& copier, const Statement& sum, const Local& local, int axis) {
    return {.buffer = local.buffer,
            .value = copier.Copy(sum.value),
            .reduce_axes = {axis},
            .combiner = OpKind::kAdd,
            .accumulate = DType::kF32};
  }

  absl::Status AddRows() {
    PlanCopier copier = CopierOf(1);
    copier.ForwardLoads(TakenBy(1), ScorePoint(), made_);
    e_ = AddLocal();
    for (const Stage& stage : links_[1].plan.stages) {
      for (const Statement& s : stage.statements) {
        const ExprId value = WithExponentials(copier.Copy(s.value));
        if (copier.forwarding_failed()) return Refuse("the rows read other scores than their own");
        if (s.reduce_axes.empty()) {
          const std::vector<ExprId> at = copier.Copy(s.indices);
          if (links_[1].plan.buffers[s.buffer].kind == BufferKind::kRow) {
            copier.ForwardLoads(s.buffer, at, value);
          } else if (at != ScorePoint()) {
            return Refuse("the rows are not handed on in place");
          } else {
            TAILOR_RETURN_IF_ERROR(Split(value));
          }
        } else {
          TAILOR_ASSIGN_OR_RETURN(const Local result, ReadReduction(s, value));
          copier.ForwardLoads(s.buffer, {}, result.load);
        }
      }
    }
    if (row_sum_.load < 0) return Refuse("the rows do not sum exp(x - max(x))");
    return absl::OkStatus();
  }

  absl::StatusOr<Local> ReadReduction(const Statement& s, ExprId value) {
    if (s.accumulate == DType::kF32 && s.combiner == OpKind::kMax && row_max_.load < 0) {
      score_ = value;
      return row_max_ = AddLocal();
    }
    if (s.accumulate == DType::kF32 && s.combiner == OpKind::kAdd && row_sum_.load < 0 && row_max_.load >= 0 &&
        Inside(value, false) == e_.load) {
      return row_sum_ = AddLocal();
    }
    return Refuse("the rows reduce more than max(x) and the sum of exp(x - max(x))");
  }

  // Factors the result of the rows into e * weight * scale.
  absl::Status Split(ExprId id) {
    const Expr e = plan_.exprs[id];
    if (id == e_.load) {
      weight_ = id;
      scale_ = plan_.Add({.kind = ExprKind::kLiteral, .dtype = DType::kF32, .bits = std::bit_cast<uint32_t>(1.0f)});
      return absl::OkStatus();
    }
    if (Inside(id, false) != id) return Split(Inside(id, false));
    const bool is_factor = e.kind == ExprKind::kOp && (e.op == OpKind::kMul || e.op == OpKind::kDiv);
    if (!is_factor || Uses(e.args[0], e_.load) == Uses(e.args[1], e_.load)) return NotLinear();
    const int linear = Uses(e.args[0], e_.load) ? 0 : 1;
    if (linear == 1 && e.op == OpKind::kDiv) return NotLinear();
    TAILOR_RETURN_IF_ERROR(Split(e.args[linear]));
    ExprId factor = e.args[1 - linear];
    if (row_sum_.load >= 0 && Inside(factor, false) == row_sum_.load) factor = row_sum_.load;
    if (!DependsOn(plan_, factor, n_)) {
      scale_ = Op(e.op, DType::kF32, {scale_, Cast(factor, DType::kF32)});
      return absl::OkStatus();
    }
    if (Uses(factor, row_max_.load) || (row_sum_.load >= 0 && Uses(factor, row_sum_.load))) return NotLinear();
    weight_ = Op(e.op, DType::kF32, {weight_, Cast(factor, DType::kF32)});
    return absl::OkStatus();
  }

  static absl::Status NotLinear() {
    return Refuse("the result of the rows is not exp(x - max(x)) times factors of elements or rows");
  }

  absl::Status AddResult() {
    const KernelPlan& from = links_[2].plan;
    PlanCopier copier = CopierOf(2);
    const Statement& sum = from.stages[0].statements[0];
    if (weight_ < 0 || from.stages.size() != 2) return Refuse("the rows hand on nothing");
    const int taken = TakenBy(2);
    copier.ForwardLoads(taken, ScorePoint(), Cast(weight_, from.buffers[taken].dtype));
    const Local mixed = AddLocal(), result = AddLocal();
    const Statement mix = CopySum(copier, sum, mixed, n_);
    if (copier.forwarding_failed()) return Refuse("the second matmul reads other rows than its own");
    copier.ForwardLoads(sum.buffer, {}, result.load);

    const ExprId below = Op(OpKind::kSub, DType::kF32, {Cast(score_, DType::kF32), row_max_.load});
    const auto reduce = [&](const Local& local, OpKind combiner, ExprId value) -> Statement {
      return {
          .buffer = local.buffer, .value = value, .reduce_axes = {n_}, .combiner = combiner, .accumulate = DType::kF32};
    };
    const Statement exponential = {.buffer = e_.buffer, .value = Op(OpKind::kExp, DType::kF32, {below})};
    plan_.stages.push_back({.axes = {n_}, .statements = {reduce(row_max_, OpKind::kMax, score_)}});
    plan_.stages.push_back({.axes = {n_}, .statements = {exponential, reduce(row_sum_, OpKind::kAdd, e_.load), mix}});
    const ExprId scaled = Op(OpKind::kMul, DType::kF32, {mixed.load, scale_});
    plan_.stages.push_back({.statements = {{.buffer = result.buffer, .value = scaled}}});
    Stage epilogue;
    for (const Statement& s : from.stages[1].statements) {
      epilogue.statements.push_back(
          {.buffer = buffers_[2][s.buffer], .indices = copier.Copy(s.indices), .value = copier.Copy(s.value)});
    }
    plan_.stages.push_back(std::move(epilogue));
    return absl::OkStatus();
  }

  const std::vector<LoweredKernel>& links_;
  int m_, v_, n_, d_;  // axes of the joined plan
  KernelPlan plan_;
  std::vector<LoweredKernel::Operand> operands_;  // by bound buffer
  std::vector<int> buffers_[3];                   // by link and buffer: the buffer of the joined plan
  LoweredKernel joined_;
  ExprId made_ = -1;  // the first matmul's result
  ExprId score_ = -1, weight_ = -1, scale_ = -1;
  Local row_max_, e_, row_sum_;
  std::map<ExprId, ExprId> replaced_;
};

}  // namespace

absl::StatusOr<LoweredKernel> JoinAttention(const std::vector<LoweredKernel>& links) { return Joiner(links).Run(); }

}  // namespace tailor::lower
