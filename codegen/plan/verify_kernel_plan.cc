#include "codegen/plan/verify_kernel_plan.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/plan/contraction.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

bool IsIndexKind(ExprKind kind) {
  return kind == ExprKind::kIndexAdd || kind == ExprKind::kIndexSub || kind == ExprKind::kIndexMul ||
         kind == ExprKind::kIndexFloorDiv || kind == ExprKind::kIndexMod || kind == ExprKind::kIndexLess;
}

bool IsOp(OpKind op) {
  static const auto* const known = [] {
    auto* ops = new std::set<OpKind>;
    for (const OpInfo& info : AllOps()) ops->insert(info.kind);
    return ops;
  }();
  return known->contains(op);
}

bool IsCombiner(OpKind op) {
  return op == OpKind::kAdd || op == OpKind::kMul || op == OpKind::kMax || op == OpKind::kMin;
}

bool IsBound(const Buffer& buffer) { return buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput; }

// The closed range of an index, if constants bound it.
struct IndexRange {
  int64_t min, max;
};

class PlanVerifier {
 public:
  explicit PlanVerifier(const KernelPlan& plan) : plan_(plan), is_attention_(plan.IsAttention()) {}

  absl::Status Verify() {
    TAILOR_RETURN_IF_ERROR(VerifySlots());
    TAILOR_RETURN_IF_ERROR(VerifyAxes());
    TAILOR_RETURN_IF_ERROR(VerifyBuffers());
    for (size_t i = 0; i < plan_.exprs.size(); ++i) TAILOR_RETURN_IF_ERROR(VerifyExpr(static_cast<ExprId>(i)));
    if (plan_.IsChain()) return VerifyChain();
    if (plan_.fault_count < 0 || plan_.fault_count > kMostFaults)
      return Wrong("faults", "their number is out of range");
    stored_.resize(plan_.buffers.size());
    loads_stored_.resize(plan_.exprs.size());
    for (size_t i = 0; i < plan_.stages.size(); ++i) TAILOR_RETURN_IF_ERROR(VerifyStage(i));
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].kind != BufferKind::kInput && !stored_[i])
        return Wrong(absl::StrCat("b", i), "nothing stores it");
    }
    return VerifyForm();
  }

 private:
  static constexpr int kMostFaults = 1 << 20;

  absl::Status Wrong(absl::string_view where, absl::string_view what) const {
    return absl::InternalError(absl::StrCat("kernel plan ", plan_.name, ": ", where, ": ", what));
  }

  bool HasDimSize(const DimSize& dim_size) const {
    if (dim_size.slot == -1) return true;
    return dim_size.slot >= 0 && static_cast<size_t>(dim_size.slot) < plan_.dims.size() && dim_size.constant == 0;
  }
  // A valid dim size of an axis or a buffer: not negative.
  bool IsSize(const DimSize& dim_size) const { return HasDimSize(dim_size) && dim_size.constant >= 0; }
  bool IsAxis(int axis) const { return axis >= 0 && static_cast<size_t>(axis) < plan_.axes.size(); }
  bool IsBuffer(int buffer) const { return buffer >= 0 && static_cast<size_t>(buffer) < plan_.buffers.size(); }
  bool IsExpr(ExprId id) const { return id >= 0 && static_cast<size_t>(id) < plan_.exprs.size(); }

  absl::Status VerifySlots() const {
    for (size_t i = 0; i < plan_.dims.size(); ++i) {
      const DimSlot& slot = plan_.dims[i];
      if (slot.divisor < 1 || slot.max < 0)
        return Wrong(absl::StrCat("d", i), "its divisor or maximum is out of range");
      if (std::any_of(slot.likely.begin(), slot.likely.end(), [](int64_t value) { return value < 0; }))
        return Wrong(absl::StrCat("d", i), "a likely value is negative");
    }
    return absl::OkStatus();
  }

  absl::Status VerifyAxes() const {
    bool inner = false;
    for (size_t i = 0; i < plan_.axes.size(); ++i) {
      const Axis& axis = plan_.axes[i];
      const std::string name = absl::StrCat("a", i);
      if (!IsSize(axis.dim_size)) return Wrong(name, "there is no such dim size");
      if (axis.role > AxisRole::kOrdered) return Wrong(name, "there is no such role");
      if (axis.role == AxisRole::kParallel && inner) return Wrong(name, "a parallel axis lies inside another");
      inner |= axis.role != AxisRole::kParallel;
    }
    return absl::OkStatus();
  }

  absl::Status VerifyBuffers() const {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      const std::string name = absl::StrCat("b", i);
      if (buffer.kind > BufferKind::kStaging) return Wrong(name, "there is no such kind of buffer");
      if (!IsValid(buffer.dtype)) return Wrong(name, "there is no such dtype");
      for (const DimSize& dim_size : buffer.dims) {
        if (!IsSize(dim_size)) return Wrong(name, "there is no such dim size");
      }
      if (buffer.layout > ConstantLayout::kWinogradPanels16) return Wrong(name, "there is no such layout");
      if (buffer.layout != ConstantLayout::kRowMajor && (!IsBound(buffer) || buffer.dims.size() < 2)) {
        return Wrong(name, "panels are matrices in memory");
      }
      if ((buffer.layout == ConstantLayout::kWordPanels16 && PanelLayout(buffer.dtype) != buffer.layout) ||
          (buffer.layout == ConstantLayout::kWinogradPanels16 && buffer.dtype != DType::kF32)) {
        return Wrong(name, "its dtype has no such panels");
      }
      if (buffer.kind == BufferKind::kLocal && !buffer.dims.empty()) return Wrong(name, "a local has dims");
      if (buffer.kind == BufferKind::kBlock && !plan_.IsChain()) return Wrong(name, "only chains have blocks");
      if (buffer.kind == BufferKind::kStaging && !plan_.IsContraction())
        return Wrong(name, "only contractions have staging buffers");
      if (i > 0 && std::min(buffer.kind, BufferKind::kRow) < std::min(plan_.buffers[i - 1].kind, BufferKind::kRow)) {
        return Wrong(name, "inputs come first, then outputs");
      }
    }
    return absl::OkStatus();
  }

  // Whether the fields that `e`'s kind does not use are empty.
  static bool IsTidy(const Expr& e) {
    const bool has_ref = e.kind == ExprKind::kAxis || e.kind == ExprKind::kGatherIndex || e.kind == ExprKind::kLoad;
    const bool has_dim_size = e.kind == ExprKind::kDimSize || e.kind == ExprKind::kParameter ||
                              e.kind == ExprKind::kBcastIndex || e.kind == ExprKind::kGatherIndex;
    const bool has_predicate = e.kind == ExprKind::kLoad || e.kind == ExprKind::kGatherIndex;
    return (has_ref || e.ref == -1) && (has_dim_size || e.dim_size == DimSize{}) &&
           (has_predicate || e.predicate == -1) && (e.kind == ExprKind::kLiteral || e.bits == 0) &&
           (e.kind == ExprKind::kOp || e.op == OpKind{});
  }

  size_t Arity(const Expr& e) const {
    switch (e.kind) {
      case ExprKind::kLiteral:
      case ExprKind::kAxis:
      case ExprKind::kDimSize:
      case ExprKind::kParameter:
        return 0;
      case ExprKind::kBcastIndex:
      case ExprKind::kGatherIndex:
        return 1;
      case ExprKind::kLoad:
        return plan_.buffers[e.ref].dims.size();
      case ExprKind::kOp:
        return InfoOf(e.op).operands.size();
      default:
        return 2;
    }
  }

  absl::Status VerifyExpr(ExprId id) {
    const Expr& e = plan_.exprs[id];
    const std::string name = absl::StrCat("expression ", id);
    if (e.kind > ExprKind::kOp) return Wrong(name, "there is no such kind of expression");
    if (!IsValid(e.dtype)) return Wrong(name, "there is no such dtype");
    if (!IsTidy(e)) return Wrong(name, "a field has a value that its kind does not use");
    if (e.kind == ExprKind::kOp && !IsOp(e.op)) return Wrong(name, "there is no such op");
    if (e.kind == ExprKind::kLoad && !IsBuffer(e.ref)) return Wrong(name, "there is no such buffer");
    if (e.kind == ExprKind::kAxis && !IsAxis(e.ref)) return Wrong(name, "there is no such axis");
    if (!HasDimSize(e.dim_size)) return Wrong(name, "there is no such dim size");
    if (e.args.size() != Arity(e)) return Wrong(name, "it has another number of operands");
    for (ExprId arg : e.args) {
      if (arg < 0 || arg >= id) return Wrong(name, "an operand does not come before it");
    }
    if (e.predicate != -1) {
      if (e.predicate < 0 || e.predicate >= id) return Wrong(name, "its predicate does not come before it");
      if (plan_.exprs[e.predicate].dtype != DType::kBool) return Wrong(name, "its predicate is not bool");
    }
    return VerifyType(e, name);
  }

  absl::Status VerifyType(const Expr& e, const std::string& name) {
    const auto operand = [&](size_t i) { return plan_.exprs[e.args[i]].dtype; };
    const auto all_are = [&](DType dtype) {
      return std::all_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return plan_.exprs[arg].dtype == dtype; });
    };
    if (IsIndexKind(e.kind) || e.kind == ExprKind::kBcastIndex) {
      const DType result = e.kind == ExprKind::kIndexLess ? DType::kBool : DType::kI64;
      if (!all_are(DType::kI64) || e.dtype != result) return Wrong(name, "indices are i64");
      return absl::OkStatus();
    }
    switch (e.kind) {
      case ExprKind::kLiteral:
        if (SizeOf(e.dtype) < 8 && e.bits >> (8 * SizeOf(e.dtype)) != 0)
          return Wrong(name, "its bits exceed its dtype");
        if (e.dtype == DType::kBool && e.bits > 1) return Wrong(name, "its bits are no bool");
        return absl::OkStatus();
      case ExprKind::kAxis:
      case ExprKind::kDimSize:
        return e.dtype == DType::kI64 ? absl::OkStatus() : Wrong(name, "indices are i64");
      case ExprKind::kParameter:
        if (e.dim_size.is_constant()) return Wrong(name, "parameters are dim slots");
        return MayBeParameter(e.dtype) ? absl::OkStatus() : Wrong(name, "parameters are f32, i32 or i16");
      case ExprKind::kGatherIndex:
        if (e.ref < 0 || e.ref >= plan_.fault_count) return Wrong(name, "there is no such fault");
        if (e.dtype != DType::kI64 || (operand(0) != DType::kI32 && operand(0) != DType::kI64)) {
          return Wrong(name, "indices are i32 or i64");
        }
        return absl::OkStatus();
      case ExprKind::kLoad:
        if (!all_are(DType::kI64)) return Wrong(name, "indices are i64");
        if (e.dtype != plan_.buffers[e.ref].dtype) return Wrong(name, "its dtype is not the buffer's");
        return e.predicate >= 0 ? absl::OkStatus() : VerifyBounds(e.ref, e.args, name);
      default:
        return VerifyOp(e, name);
    }
  }

  absl::Status VerifyOp(const Expr& e, const std::string& name) const {
    const OpInfo& op = InfoOf(e.op);
    if (op.fusion != FusionClass::kElementwise || e.args.empty()) return Wrong(name, "its op is not elementwise");
    const DType first = plan_.exprs[e.args[0]].dtype;
    const bool multiplies_bytes =
        e.op == OpKind::kMul && first == DType::kU8 && e.args.size() == 2 && plan_.exprs[e.args[1]].dtype == DType::kI8;
    for (size_t i = 1; i < e.args.size() && !multiplies_bytes; ++i) {
      const DType expected = op.dtype == DTypeRule::kSelect ? plan_.exprs[e.args[1]].dtype : first;
      if (plan_.exprs[e.args[i]].dtype != expected) return Wrong(name, "its operands have different dtypes");
    }
    if (op.dtype == DTypeRule::kSelect && first != DType::kBool) return Wrong(name, "its condition is not bool");
    if (op.dtype == DTypeRule::kFloat && !IsFloat(first)) return Wrong(name, "its operands are not floats");
    if (op.dtype == DTypeRule::kInteger && !IsInteger(first)) return Wrong(name, "its operands are not integers");
    if (op.dtype == DTypeRule::kLogic && IsFloat(first)) return Wrong(name, "its operands are floats");
    if (op.dtype == DTypeRule::kNumeric && first == DType::kBool) return Wrong(name, "its operands are bool");
    if (op.dtype == DTypeRule::kBitcast && SizeOf(first) != SizeOf(e.dtype)) return Wrong(name, "its size changes");
    const DType implied = ImpliedType(plan_, e);
    const bool widens =
        e.op == OpKind::kMul && ((e.dtype == DType::kF32 && IsFloat(first) && SizeOf(first) < SizeOf(e.dtype)) ||
                                 (e.dtype == DType::kI32 && (first == DType::kI16 || multiplies_bytes)));
    if (implied != DType::kInvalid && implied != e.dtype && !widens)
      return Wrong(name, "its dtype is not the result dtype of its op");
    return absl::OkStatus();
  }

  // The range of `id`, if constants bound it. Requires verified operands.
  std::optional<IndexRange> RangeOf(ExprId id) {
    ranges_.resize(plan_.exprs.size());
    if (!ranges_[id].known) ranges_[id] = {true, ComputeRange(plan_.exprs[id])};
    return ranges_[id].range;
  }

  std::optional<IndexRange> ComputeRange(const Expr& e) {
    constexpr int64_t kMost = int64_t{1} << 31;  // sums and products of two such values do not overflow
    const auto small = [](const std::optional<IndexRange>& r) { return r && r->min >= 0 && r->max < kMost; };
    switch (e.kind) {
      case ExprKind::kDimSize:
        if (!e.dim_size.is_constant()) return std::nullopt;
        return IndexRange{e.dim_size.constant, e.dim_size.constant};
      case ExprKind::kAxis: {
        const DimSize& dim_size = plan_.axes[e.ref].dim_size;
        if (!dim_size.is_constant() || dim_size.constant == 0) return std::nullopt;
        return IndexRange{0, dim_size.constant - 1};
      }
      case ExprKind::kIndexAdd:
      case ExprKind::kIndexMul: {
        const auto a = RangeOf(e.args[0]), b = RangeOf(e.args[1]);
        if (!small(a) || !small(b)) return std::nullopt;
        if (e.kind == ExprKind::kIndexAdd) return IndexRange{a->min + b->min, a->max + b->max};
        return IndexRange{a->min * b->min, a->max * b->max};
      }
      default:
        return std::nullopt;
    }
  }

  // An index may exceed its own dim (KernelPlan::FoldSplitIndices), never the buffer.
  absl::Status VerifyBounds(int buffer, const std::vector<ExprId>& indices, const std::string& name) {
    constexpr int64_t kMost = int64_t{1} << 30;
    int64_t elements = 1, last = 0;
    for (size_t d = indices.size(); d-- > 0;) {
      const DimSize& dim_size = plan_.buffers[buffer].dims[d];
      const auto range = RangeOf(indices[d]);
      if (range && range->min < 0) return Wrong(name, "an index is below 0");
      if (!range || !dim_size.is_constant() || dim_size.constant == 0 || elements > kMost) return absl::OkStatus();
      if (range->max > kMost || dim_size.constant > kMost) return absl::OkStatus();
      last += range->max * elements;
      elements *= dim_size.constant;
    }
    return last < elements ? absl::OkStatus() : Wrong(name, "an index lies beyond the buffer");
  }

  // Whether all axes that `id` depends on are parallel or in `scope`. Visits each expression once per stage.
  bool IsInScope(ExprId id, const std::vector<int>& scope, std::vector<int8_t>& seen) const {
    if (seen[id] != 0) return seen[id] > 0;
    const Expr& e = plan_.exprs[id];
    bool in = e.kind != ExprKind::kAxis || plan_.axes[e.ref].role == AxisRole::kParallel || is_attention_ ||
              std::find(scope.begin(), scope.end(), e.ref) != scope.end();
    for (ExprId arg : e.args) in = in && IsInScope(arg, scope, seen);
    if (e.predicate >= 0) in = in && IsInScope(e.predicate, scope, seen);
    seen[id] = in ? 1 : -1;
    return in;
  }

  // Whether every internal buffer that `id` loads has been stored.
  bool IsStored(ExprId id) {
    if (loads_stored_[id]) return true;
    const Expr& e = plan_.exprs[id];
    bool stored = e.kind != ExprKind::kLoad || IsBound(plan_.buffers[e.ref]) || stored_[e.ref];
    for (ExprId arg : e.args) stored = stored && IsStored(arg);
    if (e.predicate >= 0) stored = stored && IsStored(e.predicate);
    return loads_stored_[id] = stored;
  }

  absl::Status VerifyStage(size_t index) {
    const Stage& stage = plan_.stages[index];
    const std::string name = absl::StrCat("stage ", index);
    if (stage.statements.empty()) return Wrong(name, "it has no statement");
    for (size_t i = 0; i < stage.axes.size(); ++i) {
      if (!IsAxis(stage.axes[i])) return Wrong(name, "there is no such axis");
      if (plan_.axes[stage.axes[i]].role == AxisRole::kParallel) return Wrong(name, "it runs over a parallel axis");
      if (std::count(stage.axes.begin(), stage.axes.end(), stage.axes[i]) > 1)
        return Wrong(name, "it has an axis twice");
    }
    std::vector<int8_t> in_scope(plan_.exprs.size());
    for (size_t i = 0; i < stage.statements.size(); ++i) {
      TAILOR_RETURN_IF_ERROR(
          VerifyStatement(stage, stage.statements[i], in_scope, absl::StrCat(name, ", statement ", i)));
    }
    return absl::OkStatus();
  }

  absl::Status VerifyStatement(const Stage& stage, const Statement& s, std::vector<int8_t>& in_scope,
                               const std::string& name) {
    if (!IsBuffer(s.buffer)) return Wrong(name, "there is no such buffer");
    const Buffer& buffer = plan_.buffers[s.buffer];
    if (buffer.kind == BufferKind::kInput) return Wrong(name, "it stores to an input");
    if (!IsExpr(s.value)) return Wrong(name, "there is no such value");
    if (s.indices.size() != buffer.dims.size())
      return Wrong(name, "it has another number of indices than the buffer dims");
    for (ExprId index : s.indices) {
      if (!IsExpr(index) || plan_.exprs[index].dtype != DType::kI64) return Wrong(name, "an index is not i64");
    }
    TAILOR_RETURN_IF_ERROR(VerifyReduction(stage, s, name));
    const DType value = plan_.exprs[s.value].dtype;
    const DType expected = s.reduce_axes.empty() ? value : s.accumulate;
    if (buffer.dtype != expected) return Wrong(name, "the buffer's dtype differs from that of the stored value");
    if (!s.reduce_axes.empty() && value != s.accumulate &&
        !(SizeOf(value) < SizeOf(s.accumulate) || IsInteger(value))) {
      return Wrong(name, "its accumulator is narrower than the value");
    }
    if (!IsStored(s.value)) return Wrong(name, "a value is read before it is stored");
    if (!IsInScope(s.value, stage.axes, in_scope)) return Wrong(name, "an axis is out of scope");
    const bool reduces = !s.reduce_axes.empty() && !IsScan(plan_, s);
    std::vector<int> kept;
    for (int axis : stage.axes) {
      if (std::find(s.reduce_axes.begin(), s.reduce_axes.end(), axis) == s.reduce_axes.end()) kept.push_back(axis);
    }
    std::vector<int8_t> in_kept(reduces && !s.indices.empty() ? plan_.exprs.size() : 0);
    for (ExprId index : s.indices) {
      if (!(reduces ? IsInScope(index, kept, in_kept) : IsInScope(index, stage.axes, in_scope))) {
        return Wrong(name, "an index depends on an axis that is out of scope");
      }
    }
    if (buffer.kind != BufferKind::kStaging) TAILOR_RETURN_IF_ERROR(VerifyBounds(s.buffer, s.indices, name));
    stored_[s.buffer] = true;
    return absl::OkStatus();
  }

  absl::Status VerifyReduction(const Stage& stage, const Statement& s, const std::string& name) const {
    if (s.reduce_axes.empty()) {
      const bool plain = s.combiner == OpKind::kAdd && s.accumulate == DType::kInvalid && !s.exclusive;
      return plain ? absl::OkStatus() : Wrong(name, "it combines nothing");
    }
    if (!IsCombiner(s.combiner)) return Wrong(name, "its combiner is not add, mul, max or min");
    if (!IsValid(s.accumulate)) return Wrong(name, "its accumulator has no dtype");
    int ordered = 0;
    for (size_t i = 0; i < s.reduce_axes.size(); ++i) {
      const int axis = s.reduce_axes[i];
      if (std::find(stage.axes.begin(), stage.axes.end(), axis) == stage.axes.end()) {
        return Wrong(name, "it reduces over an axis that is not the stage's");
      }
      if (std::count(s.reduce_axes.begin(), s.reduce_axes.end(), axis) > 1) return Wrong(name, "it has an axis twice");
      ordered += plan_.axes[axis].role == AxisRole::kOrdered;
    }
    if (ordered > 0 && s.reduce_axes.size() > 1) return Wrong(name, "a scan runs over one axis");
    if (s.exclusive && ordered == 0) return Wrong(name, "only scans are exclusive");
    return absl::OkStatus();
  }

  absl::Status VerifyForm() const {
    if (plan_.stages.empty()) return Wrong("stages", "there is none");
    if (const auto* contraction = std::get_if<ContractionForm>(&plan_.form)) return VerifyContraction(*contraction);
    if (const auto* attention = std::get_if<AttentionForm>(&plan_.form)) return VerifyAttention(*attention);
    const auto contracts = [](const Axis& axis) { return axis.role == AxisRole::kContract; };
    if (std::any_of(plan_.axes.begin(), plan_.axes.end(), contracts)) {
      return Wrong("axes", "only contractions and attention contract an axis");
    }
    return absl::OkStatus();
  }

  // Whether `id` is the index of `axis`; an axis of dim size 1 has index 0.
  bool IsAxisIndex(ExprId id, int axis) const {
    const Expr& e = plan_.exprs[id];
    if (plan_.axes[axis].dim_size == DimSize{.constant = 1}) {
      return e.kind == ExprKind::kDimSize && e.dim_size == DimSize{.constant = 0};
    }
    return e.kind == ExprKind::kAxis && e.ref == axis;
  }

  bool IsPlainLoad(ExprId id) const { return plan_.exprs[id].kind == ExprKind::kLoad && plan_.exprs[id].predicate < 0; }

  bool IsOneStatement(int stage) const {
    return stage >= 0 && static_cast<size_t>(stage) < plan_.stages.size() && plan_.stages[stage].statements.size() == 1;
  }

  // The factors of the products that `s` sums over `axis`; empty if it is not such a sum.
  std::vector<ExprId> FactorsOfSum(const Statement& s, int axis) const {
    const Expr& product = plan_.exprs[s.value];
    const bool is_sum = s.reduce_axes == std::vector<int>{axis} && s.combiner == OpKind::kAdd && !s.exclusive &&
                        product.dtype == s.accumulate && plan_.buffers[s.buffer].kind == BufferKind::kLocal;
    return is_sum && product.kind == ExprKind::kOp && product.op == OpKind::kMul ? product.args : std::vector<ExprId>();
  }

  // The panels of a factor that is a choice between the tensor and its panels (InPlaceRhs), else the factor.
  absl::StatusOr<ExprId> RhsOf(ExprId factor, const ContractionForm& form) const {
    const Expr& choice = plan_.exprs[factor];
    if (choice.kind != ExprKind::kOp) return factor;
    if (choice.op != OpKind::kSelect) return Wrong("contraction", "a factor is not a load");
    const Expr& condition = plan_.exprs[choice.args[0]];
    const bool of_sizes = condition.kind == ExprKind::kIndexLess &&
                          std::all_of(condition.args.begin(), condition.args.end(),
                                      [&](ExprId arg) { return plan_.exprs[arg].kind == ExprKind::kDimSize; });
    if (!of_sizes) return Wrong("contraction", "the choice of its rhs is not a comparison of dim sizes");
    if (!IsPlainLoad(choice.args[1])) return Wrong("contraction", "its rhs in memory is not a load");
    if (!IsPlainLoad(choice.args[2])) return Wrong("contraction", "the alternative to its rhs in memory is not a load");
    const DType dtype = plan_.exprs[choice.args[1]].dtype;
    if (SizeOf(dtype) != 4 || plan_.exprs[choice.args[2]].dtype != dtype)
      return Wrong("contraction", "its rhs in memory and its panels are not of one type of 32 bits");
    if (form.fill >= 0) return Wrong("contraction", "it stages its lhs and reads its rhs in place");
    if (plan_.buffers[plan_.exprs[choice.args[2]].ref].layout != ConstantLayout::kPanels16)
      return Wrong("contraction", "the alternative to its rhs in memory is not panels");
    if (!IsMatrix(plan_.exprs[choice.args[1]], form)) return Wrong("contraction", "its rhs in memory is not a matrix");
    return choice.args[2];
  }

  bool IsMatrix(const Expr& load, const ContractionForm& form) const {
    return MatrixRowsOf(plan_, load, form.n, form.k) != MatrixRows::kNone;
  }

  absl::Status VerifyContraction(const ContractionForm& form) const {
    const int axes = static_cast<int>(plan_.axes.size());
    if (form.m < 0 || form.n != form.m + 1 || form.k != form.n + 1 || form.k >= axes) {
      return Wrong("contraction", "m, n and k are not consecutive axes");
    }
    for (int axis = 0; axis < axes; ++axis) {
      const AxisRole role = axis < form.k    ? AxisRole::kParallel
                            : axis == form.k ? AxisRole::kContract
                                             : AxisRole::kTile;
      if (plan_.axes[axis].role != role) return Wrong("contraction", absl::StrCat("a", axis, " has another role"));
    }
    if (form.sum != form.fill + 1 || form.fill < -1 || !IsOneStatement(form.sum)) {
      return Wrong("contraction", "no stage is one sum");
    }
    const Statement& sum = plan_.stages[form.sum].statements[0];
    const std::vector<ExprId> factors = FactorsOfSum(sum, form.k);
    if (factors.empty()) return Wrong("contraction", "no stage is a sum of products over k");
    if (SizeOf(sum.accumulate) < 4) return Wrong("contraction", "sums are not of 32 or 64 bits");
    TAILOR_ASSIGN_OR_RETURN(const ExprId read_rhs, RhsOf(factors[1], form));
    if (!IsPlainLoad(factors[0]) || !IsPlainLoad(read_rhs)) return Wrong("contraction", "a factor is not a load");
    const Expr &lhs = plan_.exprs[factors[0]], &rhs = plan_.exprs[read_rhs];
    const size_t rank = rhs.args.size();
    const auto reads_at = [&](int row, int column) {
      return rank >= 2 && IsAxisIndex(rhs.args[rank - 2], row) && IsAxisIndex(rhs.args[rank - 1], column);
    };
    const bool row_major = plan_.buffers[rhs.ref].layout == ConstantLayout::kRowMajor;
    const bool matrix = reads_at(form.n, form.k) || IsMatrix(rhs, form);
    if (!reads_at(form.k, form.n) && !(row_major && matrix)) {
      return Wrong("contraction", row_major ? "the rhs is not a matrix" : "the rhs is not panels read at (k, n)");
    }
    const bool winograd = plan_.buffers[rhs.ref].layout == ConstantLayout::kWinogradPanels16;
    if (winograd && (form.fill < 0 || lhs.args.size() < 4)) {
      return Wrong("contraction", "Winograd's lhs is not a staged image");
    }
    if (form.dilation != 1 && !(winograd && (form.dilation == 2 || form.dilation == 4))) {
      return Wrong("contraction", "its windows have no such dilation");
    }
    if (form.channels_last && !winograd) {
      return Wrong("contraction", "only Winograd's images are channels last");
    }
    if (winograd) {
      const std::vector<DimSize>& image = plan_.buffers[lhs.ref].dims;
      const DimSize &channels = image[image.size() - (form.channels_last ? 1 : 3)], &k = plan_.axes[form.k].dim_size;
      constexpr int64_t kTaps = int64_t{kWinogradWindow} * kWinogradWindow;
      if (!channels.is_constant() || !k.is_constant() || k.constant != kTaps * channels.constant) {
        return Wrong("contraction", "K is not nine times the channels of Winograd's image");
      }
    }
    if (form.fill < 0) return absl::OkStatus();
    const bool fills = IsOneStatement(form.fill) && plan_.stages[form.fill].statements[0].reduce_axes.empty() &&
                       plan_.stages[form.fill].statements[0].buffer == lhs.ref;
    return fills ? absl::OkStatus() : Wrong("contraction", "the staging buffer is not the lhs");
  }

  // Checks the assumptions of AttentionOf.
  absl::Status VerifyAttention(const AttentionForm& form) const {
    const int axes = static_cast<int>(plan_.axes.size());
    if (form.m < 0 || form.v != form.m + 1 || form.n != form.v + 1 || form.d != form.n + 1 || form.d + 1 != axes) {
      return Wrong("attention", "m, v, n and d are not the last axes");
    }
    for (int axis = 0; axis < axes; ++axis) {
      if (plan_.axes[axis].role != (axis < form.n ? AxisRole::kParallel : AxisRole::kContract)) {
        return Wrong("attention", absl::StrCat("a", axis, " has another role"));
      }
    }
    const bool has_stages = plan_.stages.size() >= 5 && IsOneStatement(0) && IsOneStatement(1) && IsOneStatement(3) &&
                            plan_.stages[2].statements.size() == 3;
    if (!has_stages) return Wrong("attention", "its stages are not scores, maximum, sums, result and epilogue");
    const Statement& row_max = plan_.stages[1].statements[0];
    const std::vector<Statement>& sums = plan_.stages[2].statements;
    if (FactorsOfSum(plan_.stages[0].statements[0], form.d).size() != 2) {
      return Wrong("attention", "the scores are no sum of products over d");
    }
    if (row_max.reduce_axes != std::vector<int>{form.n} || row_max.combiner != OpKind::kMax) {
      return Wrong("attention", "there is no maximum over n");
    }
    if (!sums[0].reduce_axes.empty() || sums[1].reduce_axes != std::vector<int>{form.n} ||
        sums[1].combiner != OpKind::kAdd || FactorsOfSum(sums[2], form.n).size() != 2) {
      return Wrong("attention", "there are no exponentials, their sum and sums of products over n");
    }
    const Expr& result = plan_.exprs[plan_.stages[3].statements[0].value];
    if (result.kind != ExprKind::kOp || result.op != OpKind::kMul)
      return Wrong("attention", "its result is not scaled");
    return absl::OkStatus();
  }

  absl::Status VerifyChain() const {
    if (!plan_.stages.empty() || !plan_.exprs.empty()) return Wrong("chain", "it has stages");
    int faults = 0;
    for (size_t i = 0; i < plan_.links().size(); ++i) {
      const ChainLink& link = plan_.links()[i];
      const std::string name = absl::StrCat("link ", i);
      if (link.plan.IsChain()) return Wrong(name, "it is a chain");
      TAILOR_RETURN_IF_ERROR(VerifyKernelPlan(link.plan));
      faults += link.plan.fault_count;
      const size_t bound = std::count_if(link.plan.buffers.begin(), link.plan.buffers.end(), IsBound);
      if (link.buffers.size() != bound || link.dims.size() != link.plan.dims.size()) {
        return Wrong(name, "its buffers or slots are not as many as its plan's");
      }
      for (int slot : link.dims) {
        if (slot < 0 || static_cast<size_t>(slot) >= plan_.dims.size()) return Wrong(name, "there is no such slot");
      }
      for (size_t b = 0; b < bound; ++b) {
        if (!IsBuffer(link.buffers[b])) return Wrong(name, "there is no such buffer");
        const Buffer &own = link.plan.buffers[b], &chains = plan_.buffers[link.buffers[b]];
        if (own.dtype != chains.dtype || own.layout != chains.layout) return Wrong(name, "a buffer is not the chain's");
        const bool writes = own.kind == BufferKind::kOutput;
        if (writes && chains.kind == BufferKind::kInput) return Wrong(name, "it stores to an input");
        if (chains.kind != BufferKind::kBlock && chains.dims.size() != own.dims.size()) {
          return Wrong(name, "a buffer has other dims than the chain's");
        }
      }
    }
    return faults == plan_.fault_count ? absl::OkStatus() : Wrong("chain", "its faults are not its links'");
  }

  struct Remembered {
    bool known = false;
    std::optional<IndexRange> range;
  };

  const KernelPlan& plan_;
  const bool is_attention_;         // a local has a value per point of the axes it depends on: all axes are in scope
  std::vector<bool> stored_;        // by buffer: stored by an earlier statement
  std::vector<bool> loads_stored_;  // by expression: all buffers that it loads are stored
  std::vector<Remembered> ranges_;
};

}  // namespace

absl::Status VerifyKernelPlan(const KernelPlan& plan) { return PlanVerifier(plan).Verify(); }

}  // namespace tailor
