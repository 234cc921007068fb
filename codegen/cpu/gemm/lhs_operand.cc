#include "codegen/cpu/gemm/lhs_operand.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/copy_rows.h"
#include "codegen/cpu/gemm/pack_rows.h"
#include "codegen/cpu/gemm/row_runs.h"
#include "codegen/cpu/gemm/staging_dims.h"
#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

// Row offsets per vector store; the last store may write past the last row's entry.
constexpr int kTableLanes = 8;

bool IsDimSize(const KernelPlan& plan, ExprId id) { return plan.exprs[id].kind == ExprKind::kDimSize; }

// Whether the value is a part in m plus a part in k, and simple enough to bound.
bool IsSeparable(const KernelPlan& plan, const Contraction& c, ExprId id) {
  const bool of_m = DependsOn(plan, id, c.m), of_k = DependsOn(plan, id, c.k);
  if (!of_m && !of_k) return true;
  const Expr& e = plan.exprs[id];
  switch (e.kind) {
    case ExprKind::kAxis:
      return true;
    case ExprKind::kIndexAdd:
    case ExprKind::kIndexSub:
      return IsSeparable(plan, c, e.args[0]) && IsSeparable(plan, c, e.args[1]);
    case ExprKind::kIndexMul:
      return (IsDimSize(plan, e.args[1]) && IsSeparable(plan, c, e.args[0])) ||
             (IsDimSize(plan, e.args[0]) && IsSeparable(plan, c, e.args[1]));
    case ExprKind::kIndexFloorDiv:
    case ExprKind::kIndexMod:
      return !(of_m && of_k) && IsDimSize(plan, e.args[1]) && IsSeparable(plan, c, e.args[0]);
    case ExprKind::kBcastIndex:
      return IsSeparable(plan, c, e.args[0]);
    default:
      return false;
  }
}

// The slope of an index along K within words of `steps` steps; nullopt: it is not affine there.
std::optional<int64_t> SlopeInWords(const KernelPlan& plan, int k, int steps, ExprId id) {
  if (!DependsOn(plan, id, k)) return 0;
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kAxis) return 1;
  if (e.args.size() != 2) return std::nullopt;
  const std::optional<int64_t> a = SlopeInWords(plan, k, steps, e.args[0]), b = SlopeInWords(plan, k, steps, e.args[1]);
  if (!a || !b) return std::nullopt;
  if (e.kind == ExprKind::kIndexAdd) return *a + *b;
  if (e.kind == ExprKind::kIndexSub) return *a - *b;
  // A digit of K: words lie within its period.
  if (e.kind != ExprKind::kIndexFloorDiv && e.kind != ExprKind::kIndexMod) return std::nullopt;
  if (*a == 0 && *b == 0) return 0;
  const Expr& divisor = plan.exprs[e.args[1]];
  const bool whole =
      divisor.kind == ExprKind::kDimSize && divisor.dim_size.is_constant() && divisor.dim_size.constant % steps == 0;
  if (!whole || plan.exprs[e.args[0]].kind != ExprKind::kAxis) return std::nullopt;
  return e.kind == ExprKind::kIndexMod ? 1 : 0;
}

constexpr int kMostContiguousSteps = 16;  // bytes of a register that copies rows

int ContiguousSteps(const KernelPlan& plan, const Contraction& c) {
  const auto are_contiguous = [&](int steps) {
    for (size_t d = 0; d < c.lhs.args.size(); ++d) {
      if (SlopeInWords(plan, c.k, steps, c.lhs.args[d]) != (d + 1 < c.lhs.args.size() ? 0 : 1)) return false;
    }
    return true;
  };
  for (int steps = kMostContiguousSteps; steps >= 4; steps /= 2) {
    if (are_contiguous(steps)) return steps;
  }
  return 1;
}

struct SlotArithmetic {
  using Number = SlotExpr;
  static SlotExpr Constant(int64_t value) { return value; }
  static SlotExpr Of(const DimSize& dim_size) { return OverSlots(dim_size); }
  static SlotExpr Add(const SlotExpr& a, const SlotExpr& b) { return a + b; }
  static SlotExpr Mul(const SlotExpr& a, const SlotExpr& b) { return a * b; }
  static SlotExpr CeilDiv(const SlotExpr& a, const SlotExpr& b) {
    return SlotExpr::FloorDiv(a + b - 1, SlotExpr::Max(b, 1));  // 0 in an empty tensor
  }
  static SlotExpr Min(const SlotExpr& a, const SlotExpr& b) { return SlotExpr::Min(a, b); }
};

struct EmittedArithmetic {
  using Number = Value*;
  llvm::IRBuilderBase& b;
  const KernelFrame& frame;
  Value* Constant(int64_t value) const { return b.getInt64(value); }
  Value* Of(const DimSize& dim_size) const { return frame.DimSizeValue(b, dim_size); }
  Value* Add(Value* x, Value* y) const { return b.CreateAdd(x, y, "dim.size"); }
  Value* Mul(Value* x, Value* y) const { return b.CreateMul(x, y, "dim.size"); }
  Value* CeilDiv(Value* x, Value* y) const {
    Value* divisor = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, y, b.getInt64(1), nullptr, "divisor");
    return EmitCeilDiv(b, x, divisor, "dim.size");
  }
  Value* Min(Value* x, Value* y) const {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y, nullptr, "dim.size");
  }
};

// Bytes of a task's packed rows, and of the vector that reaches beyond them.
SlotExpr PackedBytes(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile) {
  const SlotExpr row = SlotExpr::Min(OverSlots(plan.axes[c.k].dim_size), tile.depth) + kPanelColumns;
  return SlotExpr::CeilDiv((row * tile.task_rows + kPanelColumns) * SizeOf(plan.buffers[c.lhs.ref].dtype), 64) * 64;
}

}  // namespace

absl::StatusOr<LhsForm> FormOfLhs(KernelPlan& plan, const Contraction& c) {
  LhsForm form;
  form.rows = MapOf(plan, c.lhs, c.m);
  form.depth = MapOf(plan, c.lhs, c.k);
  form.tables = c.fill >= 0 || !form.rows.IsAffine() || !form.depth.IsAffine();
  const Buffer& rhs = plan.buffers[c.rhs.ref];
  const int word = StepsPerWord(rhs.layout, rhs.dtype);
  if (form.tables) {
    form.contiguous_steps = ContiguousSteps(plan, c);
  } else if (form.depth.IsUnitInLastDim()) {
    form.contiguous_steps = kMostContiguousSteps;
  }
  form.unit_depth_stride = form.tables ? word > 1 && form.contiguous_steps >= word : form.depth.IsUnitInLastDim();
  const bool separable =
      std::all_of(c.lhs.args.begin(), c.lhs.args.end(), [&](ExprId index) { return IsSeparable(plan, c, index); });
  if (form.tables && !separable) {
    return absl::InternalError(absl::StrCat("contraction ", plan.name, ": an index of the lhs mixes m and k"));
  }
  return form;
}

SlotExpr LhsScratchBytes(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile) {
  if (tile.packs_rows()) return PackedBytes(plan, c, tile);
  // Copied rows come first: their number of bytes is a constant.
  const int64_t copied = tile.copies_rows ? CopiedRowsOf(plan, c, tile).bytes : 0;
  if (c.fill < 0) return copied;
  SlotExpr elements = 1;
  const SlotArithmetic arithmetic;
  for (const SlotExpr& dim_size : StagingDims(arithmetic, plan, c, tile).DimSizes()) elements = elements * dim_size;
  elements = elements + 2 * kPanelColumns;  // whole vectors are stored (EmitFillStaging) and read (RowsInLanes)
  return SlotExpr::CeilDiv(elements * SizeOf(plan.buffers[c.lhs.ref].dtype), 64) * 64 + copied;
}

LhsOperand::LhsOperand(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                       const LhsForm& form, const Schedule& schedule, bool depth_blocks, const KernelFrame& frame,
                       ScalarEmitter& scalars)
    : b_(b),
      plan_(plan),
      c_(contraction),
      form_(form),
      schedule_(schedule),
      depth_blocks_(depth_blocks),
      frame_(frame),
      scalars_(scalars),
      buffer_(plan.buffers[contraction.lhs.ref]),
      starts_(contraction.lhs.args.size(), b.getInt64(0)),
      base_(contraction.fill >= 0 ? frame.scratch : frame.buffers[contraction.lhs.ref]) {
  if (HasStaging() && schedule.tile.copies_rows) {
    base_ = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base_, CopiedRowsOf(plan, c_, schedule.tile).bytes, "staging");
  }
  EmitStrides();
  if (schedule.tile.rows_in_lanes) {
    vector_rows_ = Table(schedule.tile.task_rows + 2, "vector.rows");
    vector_offsets_ = Table(schedule.tile.task_rows + 1, "vector.offsets");
  }
  if (!form_.tables) return;
  // Packing reads whole vectors of offsets.
  if (!schedule.tile.rows_in_lanes && !schedule.tile.copies_rows) {
    row_table_ = Table(schedule.tile.task_rows + kPanelColumns - 1, "row.offsets");
  }
  depth_table_ = Table(schedule.tile.depth + 1, "depth.offsets");
  if (depth_blocks_) return;
  for (int axis : c_.batch) scalars_.SetAxis(axis, I64(0));
  if (odd_columns_ != nullptr) {  // parity is relative to the first staged column
    Value* last_step = b_.CreateSub(frame_.DimSizeValue(b_, plan_.axes[c_.k].dim_size), I64(1), "last.step");
    starts_.back() = EmitRange(c_.lhs.args.back(), {I64(0), I64(0)}, {I64(0), last_step}).low;
  }
  EmitDepthTable(frame_.DimSizeValue(b_, plan_.axes[c_.k].dim_size), I64(0));
}

llvm::AllocaInst* LhsOperand::Table(int64_t entries, const char* name) {
  llvm::AllocaInst* table = b_.CreateAlloca(b_.getInt64Ty(), I64(entries), name);
  table->setAlignment(llvm::Align(64));
  return table;
}

void LhsOperand::EmitStrides() {
  std::vector<Value*> dim_sizes;
  if (HasStaging()) {
    const EmittedArithmetic arithmetic{b_, frame_};
    dim_sizes = StagingDims(arithmetic, plan_, c_, schedule_.tile).DimSizes();
  } else {
    for (const DimSize& dim_size : buffer_.dims) dim_sizes.push_back(frame_.DimSizeValue(b_, dim_size));
  }
  strides_.resize(dim_sizes.size());
  Value* stride = I64(1);
  for (size_t d = dim_sizes.size(); d-- > 0;) {
    strides_[d] = stride;
    stride = b_.CreateMul(stride, dim_sizes[d], "stride");
  }
  if (SplitsColumns(plan_, c_, schedule_.tile)) odd_columns_ = b_.CreateLShr(dim_sizes.back(), 1, "odd.columns");
}

Value* LhsOperand::EmitStride(const AccessMap& map) {
  Value* sum = I64(0);
  for (size_t d = map.steps().size(); d-- > 0;) {
    sum = b_.CreateAdd(sum, b_.CreateMul(scalars_.Emit(map.steps()[d].expr), strides_[d]), "stride");
  }
  return sum;
}

// Offset in elements from base_.
Value* LhsOperand::EmitOffset(Value* m, Value* k) {
  scalars_.SetAxis(c_.m, m);
  scalars_.SetAxis(c_.k, k);
  Value* offset = I64(0);
  for (size_t d = 0; d < c_.lhs.args.size(); ++d) {
    Value* index = b_.CreateSub(scalars_.Emit(c_.lhs.args[d]), starts_[d], "within");
    if (odd_columns_ != nullptr && d + 1 == c_.lhs.args.size()) {
      Value* odd = b_.CreateMul(b_.CreateAnd(index, 1), odd_columns_, "odd");
      index = b_.CreateAdd(b_.CreateAShr(index, 1), odd, "within.split");
    }
    offset = b_.CreateAdd(offset, b_.CreateMul(index, strides_[d]), "offset");
  }
  return offset;
}

Value* LhsOperand::Shorter(Value* a, Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b, nullptr, "run");
}

// A run of rows ends where a digit of m carries, so divisions are emitted once per run.
LhsOperand::Run LhsOperand::EmitRunOfRows(ExprId id) {
  const Expr& e = plan_.exprs[id];
  if (!DependsOn(plan_, id, c_.m)) return {I64(0), nullptr};
  if (e.kind == ExprKind::kAxis) return {I64(1), nullptr};
  const Run a = EmitRunOfRows(e.args[0]);
  if (e.kind == ExprKind::kBcastIndex) {
    Value* present = b_.CreateICmpNE(frame_.DimSizeValue(b_, e.dim_size), I64(1), "present");
    return {b_.CreateSelect(present, a.slope, I64(0), "slope"), a.remaining};
  }
  const Run c = EmitRunOfRows(e.args[1]);
  switch (e.kind) {
    case ExprKind::kIndexAdd:
      return {b_.CreateAdd(a.slope, c.slope, "slope"), Shorter(a.remaining, c.remaining)};
    case ExprKind::kIndexSub:
      return {b_.CreateSub(a.slope, c.slope, "slope"), Shorter(a.remaining, c.remaining)};
    case ExprKind::kIndexMul: {  // one factor is a dim size
      const bool first = DependsOn(plan_, e.args[0], c_.m);
      return {b_.CreateMul(first ? a.slope : c.slope, scalars_.Emit(e.args[first ? 1 : 0]), "slope"),
              Shorter(a.remaining, c.remaining)};
    }
    default:
      break;
  }
  // A digit of m: within a run the quotient is constant, and the remainder grows until it wraps.
  const auto* slope = llvm::dyn_cast<llvm::ConstantInt>(a.slope);
  if (slope != nullptr && slope->isZero()) return {I64(0), a.remaining};
  Value* slope_of_digit = e.kind == ExprKind::kIndexMod ? a.slope : I64(0);
  if (slope == nullptr || !slope->isOne()) return {slope_of_digit, I64(1)};
  Value* divisor =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, scalars_.Emit(e.args[1]), I64(1), nullptr, "divisor");
  Value* remaining = b_.CreateSub(divisor, b_.CreateURem(scalars_.Emit(e.args[0]), divisor), "left");
  return {slope_of_digit, Shorter(a.remaining, remaining)};
}

// Calls `body` for each run of rows: its first row, counted from `first`, and that row's offset at `k`.
void LhsOperand::EmitRuns(Value* first, Value* count, Value* k,
                          llvm::function_ref<void(Value*, Value*, const Run&)> body) {
  EmitLoop(b_, I64(0), count, "row.run", [&](Value* i) -> Value* {
    Value* offset = EmitOffset(b_.CreateAdd(first, i), k);
    Run run{I64(0), b_.CreateSub(count, i, "rows.left")};
    for (size_t d = 0; d < c_.lhs.args.size(); ++d) {
      const Run of_dim = EmitRunOfRows(c_.lhs.args[d]);
      run.remaining = Shorter(run.remaining, of_dim.remaining);
      // A slope along the last dim alone stays a constant.
      if (of_dim.slope == I64(0)) continue;
      Value* slope = strides_[d] == I64(1) ? of_dim.slope : b_.CreateMul(of_dim.slope, strides_[d], "slope");
      if (odd_columns_ != nullptr && d + 1 == c_.lhs.args.size()) slope = b_.CreateAShr(slope, 1, "slope.split");
      run.slope = run.slope == I64(0) ? slope : b_.CreateAdd(run.slope, slope, "slope");
    }
    body(i, offset, run);
    return b_.CreateAdd(i, run.remaining, "next.run");
  });
}

// row_table_[i] = offset of row first + i at `k`.
void LhsOperand::EmitRowTable(Value* first, Value* count, Value* k) {
  llvm::SmallVector<llvm::Constant*, kTableLanes> numbers;
  for (int i = 0; i < kTableLanes; ++i) numbers.push_back(b_.getInt64(i));
  const auto splat = [&](Value* value) { return b_.CreateVectorSplat(kTableLanes, value); };
  EmitRuns(first, count, k, [&](Value* i, Value* offset, const Run& run) {
    EmitLoop(b_, I64(0), run.remaining, kTableLanes, "row.entries", [&](Value* j) {
      Value* steps = b_.CreateAdd(splat(j), llvm::ConstantVector::get(numbers));
      Value* entries = b_.CreateAdd(splat(offset), b_.CreateMul(steps, splat(run.slope)), "row.offsets");
      // May write past the run; the next run overwrites it.
      b_.CreateAlignedStore(entries, Entry(row_table_, b_.CreateAdd(i, j)), llvm::Align(8));
    });
  });
}

void LhsOperand::EmitVectorTable(Value* first, Value* count, Value* k) {
  llvm::AllocaInst* number = OpenVariable(b_, I64(0), "vectors");
  EmitRuns(first, count, k, [&](Value* row, Value* offset, const Run& run) {
    EmitLoop(b_, I64(0), run.remaining, schedule_.lanes, "row.vector", [&](Value* j) {
      Value* index = b_.CreateLoad(b_.getInt64Ty(), number);
      b_.CreateStore(b_.CreateAdd(row, j), Entry(vector_rows_, index));
      b_.CreateStore(b_.CreateAdd(offset, b_.CreateMul(j, run.slope)), Entry(vector_offsets_, index));
      b_.CreateStore(b_.CreateAdd(index, I64(1)), number);
    });
  });
  vectors_ = b_.CreateLoad(b_.getInt64Ty(), number, "vectors");
  b_.CreateStore(count, Entry(vector_rows_, vectors_));
  b_.CreateStore(count, Entry(vector_rows_, b_.CreateAdd(vectors_, I64(1))));
  // A slice with a negative step makes offsets of K negative: an offset of 0 would lead before the buffer.
  Value* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, vectors_, I64(1), nullptr, "last.vector");
  Value* offset = b_.CreateLoad(b_.getInt64Ty(), Entry(vector_offsets_, last), "last.offset");
  b_.CreateStore(offset, Entry(vector_offsets_, vectors_));
}

// depth_table_[i] = offset of k + i relative to that of `k`, equal for all rows.
void LhsOperand::EmitDepthTable(Value* count, Value* k) {
  Value* origin = EmitOffset(I64(0), k);
  EmitLoop(b_, I64(0), count, 1, "depth.entry", [&](Value* i) {
    Value* offset = EmitOffset(I64(0), b_.CreateAdd(k, i));
    Value* entry = b_.CreateInBoundsGEP(b_.getInt64Ty(), depth_table_, i, "entry");
    b_.CreateAlignedStore(b_.CreateSub(offset, origin), entry, llvm::Align(8));
  });
}

// Fills that copy bytes, or choose among them, have 32 lanes: as many as the space behind the buffer allows.
int LhsOperand::FillLanes() const {
  const Statement& fill = plan_.stages[c_.fill].statements[0];
  const auto is_bytes = [&](const auto& self, ExprId id) -> bool {
    const Expr& e = plan_.exprs[id];
    if (SizeOf(e.dtype) != 1) return false;
    if (e.kind == ExprKind::kLoad || e.kind == ExprKind::kLiteral) return true;
    return e.kind == ExprKind::kOp && e.op == OpKind::kSelect && self(self, e.args[1]) && self(self, e.args[2]);
  };
  return is_bytes(is_bytes, fill.value) ? std::max(2 * kPanelColumns, schedule_.lanes) : schedule_.lanes;
}

void LhsOperand::EmitPart(Value* row, Value* rows, Value* k, Value* depth) {
  if (!form_.tables) {
    scalars_.SetAxis(c_.m, I64(0));
    scalars_.SetAxis(c_.k, I64(0));
    row_stride_ = EmitStride(form_.rows);
    depth_stride_ = EmitStride(form_.depth);
    if (schedule_.tile.rows_in_lanes) return EmitVectorTable(row, rows, k);
    if (schedule_.tile.copies_rows) return;
    Value* offset = EmitOffset(I64(0), I64(0));
    llvm::Type* element = MemoryType(b_.getContext(), buffer_.dtype, 1);
    base_ = b_.CreateInBoundsGEP(element, frame_.buffers[c_.lhs.ref], offset, "lhs");
    return;
  }
  first_row_ = row;
  if (HasStaging()) {
    const auto last = [&](Value* first, Value* count) { return b_.CreateSub(b_.CreateAdd(first, count), I64(1)); };
    const IndexRange m{row, last(row, rows)}, of_k{k, last(k, depth)};
    std::vector<IndexRange> ranges;
    for (ExprId index : c_.lhs.args) ranges.push_back(EmitRange(index, m, of_k));
    for (size_t d = 0; d < ranges.size(); ++d) starts_[d] = ranges[d].low;
    EmitIf(b_, b_.CreateICmpNE(depth, I64(0)), "fill.any", [&] {
      EmitFillStaging(b_, plan_, c_, frame_, scalars_, FillLanes(), ranges, {base_, starts_, strides_, odd_columns_});
    });
  }
  if (schedule_.tile.rows_in_lanes) {
    EmitVectorTable(row, rows, k);
  } else if (!schedule_.tile.copies_rows) {
    EmitRowTable(row, rows, k);
  }
  if (depth_blocks_) EmitDepthTable(depth, k);
}

void LhsOperand::EmitPackedPart(const EvenTiling& tiling, Value* first_tile, Value* last_tile, Value* k, Value* depth) {
  first_row_ = tiling.Start(b_, first_tile);
  packed_row_ = b_.CreateAdd(depth, I64(schedule_.lanes), "packed.row");
  // Rows in memory end where the tensor may end; tables end with the task.
  Value* end = form_.tables ? tiling.Start(b_, last_tile) : frame_.DimSizeValue(b_, plan_.axes[c_.m].dim_size);
  const RowsToPack rows{.dtype = buffer_.dtype,
                        .lanes = schedule_.lanes,
                        .address = form_.tables ? base_ : AddressOf(first_row_, k),
                        .depth_stride = depth_stride_,
                        .row_offsets = row_table_,
                        .depth_offsets = depth_table_,
                        .rows = b_.CreateSub(end, first_row_, "rows"),
                        .depth = depth};
  EmitPackRows(b_, rows, tiling, first_tile, last_tile, frame_.scratch);
}

void LhsOperand::EmitCopiedPart(Value* row, Value* rows, Value* k, Value* depth) {
  first_row_ = row;
  const CopiedRows copied = CopiedRowsOf(plan_, c_, schedule_.tile);
  const DimSizeRange steps = RangeOfDimSize(plan_, plan_.axes[c_.k].dim_size);
  const bool whole_steps = (steps.fixed ? steps.max : steps.divisor) % form_.contiguous_steps == 0;
  llvm::Type* element = MemoryType(b_.getContext(), buffer_.dtype, 1);
  EmitRuns(row, rows, k, [&](Value* first, Value* offset, const Run& run) {
    const auto depth_offset = [&](Value* step) -> Value* {
      if (!form_.tables) return b_.CreateMul(step, depth_stride_, "depth.offset");
      return b_.CreateAlignedLoad(b_.getInt64Ty(), Entry(depth_table_, step), llvm::Align(8), "depth.offset");
    };
    const RunOfRows from{.dtype = buffer_.dtype,
                         .address = b_.CreateGEP(element, base_, offset, "run"),
                         .slope = run.slope,
                         .rows = run.remaining,
                         .depth_offset = depth_offset,
                         .depth = depth,
                         .contiguous_steps = form_.contiguous_steps,
                         .whole_steps = HasStaging() || whole_steps,
                         .slack = HasStaging()};
    Value* to = b_.CreateInBoundsGEP(element, frame_.scratch, b_.CreateMul(first, I64(copied.stride)), "copies");
    EmitCopyRows(b_, from, to, copied);
  });
}

LhsOperand::Arguments LhsOperand::At(Value* row, Value* k) {
  if (schedule_.tile.copies_rows) {
    const CopiedRows copied = CopiedRowsOf(plan_, c_, schedule_.tile);
    Value* offset = b_.CreateMul(b_.CreateSub(row, first_row_, "row.within"), I64(copied.stride), "copied");
    llvm::Type* element = MemoryType(b_.getContext(), buffer_.dtype, 1);
    return {b_.CreateInBoundsGEP(element, frame_.scratch, offset, "copied.tile"), I64(copied.stride), I64(1)};
  }
  if (schedule_.tile.packs_rows()) {
    Value* offset = b_.CreateMul(b_.CreateSub(row, first_row_, "row.within"), packed_row_, "packed");
    llvm::Type* element = MemoryType(b_.getContext(), buffer_.dtype, 1);
    return {b_.CreateInBoundsGEP(element, frame_.scratch, offset, "packed.tile"), I64(0), I64(0)};
  }
  if (!form_.tables) return {AddressOf(row, k), row_stride_, depth_stride_};
  Value* entry = b_.CreateSub(row, first_row_, "row.within");
  return {base_, b_.CreateInBoundsGEP(b_.getInt64Ty(), row_table_, entry, "row.offsets"), depth_table_};
}

Value* LhsOperand::AddressOf(Value* row, Value* k) {
  Value* offset = b_.CreateAdd(b_.CreateMul(row, row_stride_), b_.CreateMul(k, depth_stride_));
  return b_.CreateGEP(MemoryType(b_.getContext(), buffer_.dtype, 1), base_, offset, "lhs.tile");
}

// Least and greatest value of an index, for m and k within the ranges.
IndexRange LhsOperand::EmitRange(ExprId id, const IndexRange& m, const IndexRange& k) {
  const Expr& e = plan_.exprs[id];
  if (!DependsOn(plan_, id, c_.m) && !DependsOn(plan_, id, c_.k)) {
    Value* value = scalars_.Emit(id);
    return {value, value};
  }
  if (e.kind == ExprKind::kAxis) return e.ref == c_.m ? m : k;
  const IndexRange a = EmitRange(e.args[0], m, k);
  if (e.kind == ExprKind::kBcastIndex) {
    Value* present = b_.CreateICmpNE(frame_.DimSizeValue(b_, e.dim_size), I64(1), "present");
    return {b_.CreateSelect(present, a.low, I64(0)), b_.CreateSelect(present, a.high, I64(0))};
  }
  const IndexRange c = EmitRange(e.args[1], m, k);
  switch (e.kind) {
    case ExprKind::kIndexAdd:
      return {b_.CreateAdd(a.low, c.low, "low"), b_.CreateAdd(a.high, c.high, "high")};
    case ExprKind::kIndexSub:
      return {b_.CreateSub(a.low, c.high, "low"), b_.CreateSub(a.high, c.low, "high")};
    case ExprKind::kIndexMul: {  // one factor is independent of m and k, perhaps negative
      Value *x = b_.CreateMul(a.low, c.low), *y = b_.CreateMul(a.high, c.high);
      return {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y, nullptr, "low"),
              b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, y, nullptr, "high")};
    }
    default:
      break;
  }
  Value* divisor = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, c.low, I64(1), nullptr, "divisor");
  Value* low = b_.CreateUDiv(a.low, divisor, "low");
  Value* high = b_.CreateUDiv(a.high, divisor, "high");
  if (e.kind == ExprKind::kIndexFloorDiv) return {low, high};
  Value* once = b_.CreateICmpEQ(low, high, "once");  // the remainder does not wrap within the range
  return {b_.CreateSelect(once, b_.CreateURem(a.low, divisor), I64(0), "low"),
          b_.CreateSelect(once, b_.CreateURem(a.high, divisor), b_.CreateSub(divisor, I64(1)), "high")};
}

}  // namespace tailor::gemm
