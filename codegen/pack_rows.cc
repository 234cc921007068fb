#include "codegen/pack_rows.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "codegen/known_forms.h"
#include "codegen/plan_queries.h"

namespace tailor {
namespace {

constexpr int kElementAxis = PackedRows::kElementAxis, kRowAxis = PackedRows::kRowAxis;

// The axes of the plan that is packed.
struct RowAxes {
  int row = -1, tile = -1;
};

std::optional<RowAxes> AxesOf(const KernelPlan& plan, int lanes) {
  if (plan.contraction || !plan.links.empty() || plan.fault_count > 0 || plan.axes.size() != 2) return std::nullopt;
  RowAxes axes;
  for (int i = 0; i < 2; ++i) {
    if (plan.axes[i].role == AxisRole::kParallel) axes.row = i;
    if (plan.axes[i].role == AxisRole::kTile) axes.tile = i;
  }
  if (axes.row < 0 || axes.tile < 0 || !plan.axes[axes.tile].extent.is_constant()) return std::nullopt;
  const int64_t width = plan.axes[axes.tile].extent.constant;
  if (width < 2 || width >= lanes || !std::has_single_bit(static_cast<uint64_t>(width))) return std::nullopt;
  return axes;
}

bool Depend(const KernelPlan& plan, const std::vector<ExprId>& indices, int axis) {
  return std::any_of(indices.begin(), indices.end(), [&](ExprId id) { return DependsOn(plan, id, axis); });
}

// Whether each place along `axis` is that of its own element.
bool AtOwnElement(const KernelPlan& plan, const Buffer& buffer, const std::vector<ExprId>& indices, int axis) {
  for (size_t d = 0; d < indices.size(); ++d) {
    const Expr& index = plan.exprs[indices[d]];
    const bool own = index.kind == ExprKind::kAxis && index.ref == axis;
    if (!own && !(buffer.dims[d] == Extent{.constant = 1})) return false;
  }
  return true;
}

// Whether neighbours along the only axis that an index is lie side by side.
bool SideBySide(const KernelPlan& plan, const Buffer& buffer, const std::vector<ExprId>& indices) {
  if (buffer.layout != ConstantLayout::kRowMajor) return false;
  for (size_t d = indices.size(); d-- > 0;) {
    const Expr& index = plan.exprs[indices[d]];
    if (index.kind == ExprKind::kAxis && index.ref == kElementAxis) {
      return !Depend(plan, {indices.begin(), indices.begin() + static_cast<int64_t>(d)}, kElementAxis);
    }
    if (!(buffer.dims[d] == Extent{.constant = 1})) return false;
  }
  return false;
}

class RowPacker {
 public:
  RowPacker(const KernelPlan& from, const RowAxes& axes)
      : from_(from), axes_(axes), memo_(from.exprs.size(), -1), memo_of_row_(memo_), known_of_row_(memo_) {
    packed_.width = static_cast<int>(from.axes[axes.tile].extent.constant);
    KernelPlan& to = packed_.plan;
    to.name = from.name;
    to.axes = {from.axes[axes.row], from.axes[axes.row]};
    to.dims = from.dims;
    to.buffers = from.buffers;
    for (Buffer& buffer : to.buffers) {
      if (buffer.kind == BufferKind::kRow) buffer = {.kind = BufferKind::kLocal, .dtype = buffer.dtype};
    }
    packed_.of_row.resize(to.buffers.size());
    for (const Stage& stage : from.stages) {
      for (const Statement& s : stage.statements) {
        const bool one = !s.reduce_axes.empty() || stage.axes.empty();
        packed_.of_row[s.buffer] = one && from.buffers[s.buffer].kind == BufferKind::kLocal;
      }
    }
    const ExprId element = to.Add({.kind = ExprKind::kAxis, .ref = kElementAxis});
    const ExprId width = to.Add({.kind = ExprKind::kExtent, .extent = {.constant = packed_.width}});
    row_ = to.Add({.kind = ExprKind::kIndexFloorDiv, .args = {element, width}});
    tile_ = to.Add({.kind = ExprKind::kIndexMod, .args = {element, width}});
    other_row_ = to.Add({.kind = ExprKind::kAxis, .ref = kRowAxis});
  }

  std::optional<PackedRows> Run() {
    std::vector<Stage>& stages = packed_.plan.stages;
    for (const Stage& stage : from_.stages) {
      std::vector<Statement> statements;
      for (const Statement& s : stage.statements) statements.push_back(Pack(s, stage.axes.empty()));
      if (!of_rows_.empty()) stages.push_back({.statements = std::exchange(of_rows_, {})});
      stages.push_back({.statements = std::move(statements)});
    }
    if (!fits_) return std::nullopt;
    return std::move(packed_);
  }

 private:
  Statement Pack(const Statement& s, bool once) {
    Statement result = s;
    result.value = Copy(s.value);
    if (!s.reduce_axes.empty()) result.reduce_axes = {kElementAxis};
    const Buffer& buffer = from_.buffers[s.buffer];
    if (buffer.kind == BufferKind::kRow) {
      fits_ &= AtOwnElement(from_, buffer, s.indices, axes_.tile);
      result.indices.clear();
    } else if (once) {
      result.indices = OfRow(s.indices);
      fits_ &= !Depend(from_, s.indices, axes_.tile);
    } else if (buffer.kind == BufferKind::kOutput) {
      result.indices = Copied(s.indices);
      packed_.plan.FoldSplitIndices(buffer, result.indices);
      fits_ &= SideBySide(packed_.plan, buffer, result.indices);
    }
    return result;
  }

  std::vector<ExprId> Copied(std::vector<ExprId> ids) {
    for (ExprId& id : ids) id = Copy(id);
    return ids;
  }

  // The same along kRowAxis.
  std::vector<ExprId> OfRow(const std::vector<ExprId>& ids) {
    const auto exchange = [&] {
      std::swap(memo_, memo_of_row_);
      std::swap(row_, other_row_);
    };
    exchange();
    std::vector<ExprId> copied = Copied(ids);
    exchange();
    return copied;
  }

  ExprId Copy(ExprId id) {
    if (memo_[id] >= 0) return memo_[id];
    Expr e = from_.exprs[id];
    if (e.kind == ExprKind::kAxis) return memo_[id] = e.ref == axes_.row ? row_ : tile_;
    if (IsShareOfPowers(from_, e)) return memo_[id] = Share(e);
    if (e.kind == ExprKind::kLoad && from_.buffers[e.ref].kind == BufferKind::kRow) {
      fits_ &= e.predicate < 0 && AtOwnElement(from_, from_.buffers[e.ref], e.args, axes_.tile);
      e.args.clear();
    }
    const bool of_element =
        e.kind == ExprKind::kLoad && Depend(from_, e.args, axes_.row) && Depend(from_, e.args, axes_.tile);
    e.args = Copied(std::move(e.args));
    if (e.predicate >= 0) e.predicate = Copy(e.predicate);
    ExprId copy = packed_.plan.Add(std::move(e));
    if (of_element) fits_ &= ReadsSideBySide(copy);
    if (from_.exprs[id].kind == ExprKind::kOp && ScalarCost(from_.exprs[id].op) > 1 && IsOfRow(id)) copy = Once(copy);
    return memo_[id] = copy;
  }

  bool ReadsSideBySide(ExprId load) const {
    const Expr& e = packed_.plan.exprs[load];
    return e.kind == ExprKind::kLoad && SideBySide(packed_.plan, from_.buffers[e.ref], e.args);
  }

  // Whether an expression follows from what rows have in locals.
  bool IsOfRow(ExprId id) {
    if (known_of_row_[id] >= 0) return known_of_row_[id] > 0;
    const Expr& e = from_.exprs[id];
    bool result = e.kind == ExprKind::kLiteral || e.kind == ExprKind::kExtent;
    if (e.kind == ExprKind::kLoad) result = packed_.of_row[e.ref];
    if (e.kind == ExprKind::kOp) {
      result = std::all_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return IsOfRow(arg); });
    }
    known_of_row_[id] = result ? 1 : 0;
    return result;
  }

  // Has `value` computed once for each row, before the stage at hand.
  ExprId Once(ExprId value) {
    KernelPlan& to = packed_.plan;
    const DType dtype = to.exprs[value].dtype;
    const auto local = static_cast<int>(to.buffers.size());
    to.buffers.push_back({.kind = BufferKind::kLocal, .dtype = dtype});
    packed_.of_row.push_back(true);
    of_rows_.push_back({.buffer = local, .value = value});
    return to.Add({.kind = ExprKind::kLoad, .dtype = dtype, .ref = local});
  }

  // A product by the inverse of the sum, as ScalarEmitter has it.
  ExprId Share(const Expr& quotient) {
    const DType dtype = quotient.dtype;
    const uint64_t one = dtype == DType::kF32 ? std::bit_cast<uint32_t>(1.0f) : std::bit_cast<uint64_t>(1.0);
    KernelPlan& to = packed_.plan;
    const ExprId literal = to.Add({.kind = ExprKind::kLiteral, .dtype = dtype, .bits = one});
    const auto op = [&](OpKind kind, ExprId lhs, ExprId rhs) {
      return to.Add({.kind = ExprKind::kOp, .dtype = dtype, .op = kind, .args = {lhs, rhs}});
    };
    const ExprId inverse = op(OpKind::kDiv, literal, Copy(quotient.args[1]));
    return op(OpKind::kMul, Copy(quotient.args[0]), Once(inverse));
  }

  const KernelPlan& from_;
  const RowAxes axes_;
  PackedRows packed_;
  std::vector<ExprId> memo_, memo_of_row_;        // by expression of `from_`: its copy, and that along kRowAxis
  ExprId row_ = -1, other_row_ = -1, tile_ = -1;  // what stands for the axes
  std::vector<int> known_of_row_;                 // likewise: whether IsOfRow; -1: not known yet
  std::vector<Statement> of_rows_;                // of Once
  bool fits_ = true;
};

}  // namespace

std::optional<PackedRows> PackRows(const KernelPlan& plan, int lanes) {
  const std::optional<RowAxes> axes = AxesOf(plan, lanes);
  if (!axes) return std::nullopt;
  return RowPacker(plan, *axes).Run();
}

}  // namespace tailor
