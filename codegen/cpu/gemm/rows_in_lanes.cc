#include "codegen/cpu/gemm/rows_in_lanes.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "codegen/contract/panels.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

// How an index grows from row to row within a run, if that is a constant. A run ends where a digit of m carries.
std::optional<int64_t> StepInRun(const KernelPlan& plan, int m, ExprId id) {
  if (!DependsOn(plan, id, m)) return 0;
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kAxis) return 1;
  if (e.args.size() != 2) return std::nullopt;
  const std::optional<int64_t> a = StepInRun(plan, m, e.args[0]), b = StepInRun(plan, m, e.args[1]);
  if (!a || !b) return std::nullopt;
  const auto factor = [&](ExprId arg) {
    const Expr& x = plan.exprs[arg];
    return x.kind == ExprKind::kDimSize && x.dim_size.is_constant() ? std::optional(x.dim_size.constant) : std::nullopt;
  };
  switch (e.kind) {
    case ExprKind::kIndexAdd:
      return *a + *b;
    case ExprKind::kIndexSub:
      return *a - *b;
    case ExprKind::kIndexMul: {
      const std::optional<int64_t> of_a = factor(e.args[0]), of_b = factor(e.args[1]);
      if (of_a) return *of_a * *b;
      if (of_b) return *a * *of_b;
      return std::nullopt;
    }
    case ExprKind::kIndexFloorDiv:
      return *a <= 1 ? std::optional<int64_t>(0) : std::nullopt;
    case ExprKind::kIndexMod:
      return *a <= 1 ? a : std::nullopt;
    default:
      return std::nullopt;
  }
}

// The known length of runs: the least divisor of a remainder of m; 0 if it is not known.
int64_t LengthOfRuns(const KernelPlan& plan, int m, ExprId id) {
  const Expr& e = plan.exprs[id];
  int64_t length = 0;
  for (ExprId arg : e.args) {
    const int64_t of_arg = LengthOfRuns(plan, m, arg);
    if (of_arg > 0) length = length == 0 ? of_arg : std::min(length, of_arg);
  }
  if (e.kind != ExprKind::kIndexMod || !DependsOn(plan, e.args[0], m)) return length;
  const Expr& divisor = plan.exprs[e.args[1]];
  return length == 0 && divisor.kind == ExprKind::kDimSize && divisor.dim_size.is_constant() ? divisor.dim_size.constant
                                                                                             : length;
}

// Columns whose sums, of two vectors of rows, fit the registers beside the operands: of 32 with 16 lanes, else of 16.
int MostColumnsAtOnce(int lanes) { return lanes * 3 / 4; }

}  // namespace

int64_t StepOfRows(const KernelPlan& plan, const Contraction& c, const LhsForm& form) {
  if (!form.tables) return form.rows.IsUnitInLastDim() ? 1 : 0;
  if (c.fill < 0) return 0;  // rows in memory end where the tensor may end
  const size_t last = c.lhs.args.size() - 1;
  for (size_t d = 0; d < last; ++d) {
    if (StepInRun(plan, c.m, c.lhs.args[d]) != 0) return 0;
  }
  const int64_t step = StepInRun(plan, c.m, c.lhs.args[last]).value_or(0);
  return step == 1 || step == 2 ? step : 0;
}

bool TakesRowsInLanes(const KernelPlan& plan, const Contraction& c, const LhsForm& form, int lanes) {
  for (const int buffer : {c.lhs.ref, c.rhs.ref}) {
    if (plan.buffers[buffer].dtype != DType::kF32) return false;
  }
  const DimSizeRange columns = RangeOfDimSize(plan, plan.axes[c.n].dim_size);
  if (c.accumulate != DType::kF32 || lanes < 8 || !columns.fixed || StepOfRows(plan, c, form) == 0) return false;
  // More columns take several passes, which pays where the transposition of the sums takes long beside the products.
  constexpr int64_t kTransposedDepth = 64, kMostColumns = 24;
  const int64_t depth = RangeOfDimSize(plan, plan.axes[c.k].dim_size).max;
  int64_t most = depth <= kTransposedDepth ? kMostColumns : MostColumnsAtOnce(lanes);
  if (const int64_t run = LengthOfRuns(plan, c.m, c.lhs.args.back()); run > 0) {
    most = most * run / ((run + lanes - 1) / lanes * lanes);  // lanes beyond a run are idle
  }
  return columns.max >= 1 && columns.max <= most;
}

RowsInLanes::RowsInLanes(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction,
                         const LhsForm& form, const Schedule& schedule, const EmitTarget& target, LhsOperand& lhs)
    : b_(b),
      target_(target),
      lhs_(lhs),
      staged_(contraction.fill >= 0),
      columns_(static_cast<int>(RangeOfDimSize(plan, plan.axes[contraction.n].dim_size).max)),
      lanes_(schedule.lanes),
      step_(StepOfRows(plan, contraction, form)),
      vector_(llvm::FixedVectorType::get(b.getFloatTy(), schedule.lanes)) {}

void RowsInLanes::Emit(int panel, Value* rhs, Value* depth, Value* resume, const ColumnSums& sums) {
  const int columns = std::min(columns_ - panel * kPanelColumns, kPanelColumns);
  const int most = MostColumnsAtOnce(lanes_), passes = (columns + most - 1) / most;
  Value* last = b_.CreateSub(lhs_.vectors(), b_.getInt64(1), "last.vector");
  EmitLoop(b_, b_.getInt64(0), lhs_.vectors(), 2, "vectors", [&](Value* first) {
    Value* second = b_.CreateAdd(first, b_.getInt64(1));
    // Of an odd number the last vector is computed twice.
    second = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, second, last, nullptr, "second");
    const RowVector parts[] = {lhs_.VectorAt(first), lhs_.VectorAt(second)};
    for (int pass = 0; pass < passes; ++pass) {
      EmitVectors(parts, {columns * pass / passes, columns * (pass + 1) / passes}, rhs, depth, resume, sums);
    }
  });
}

void RowsInLanes::EmitVectors(llvm::ArrayRef<RowVector> parts, Columns columns, Value* rhs, Value* depth, Value* resume,
                              const ColumnSums& sums) {
  const llvm::Align align(sizeof(float));
  std::vector<llvm::AllocaInst*> variables;  // by column, then by part
  for (int n = columns.first; n < columns.end; ++n) {
    for (const RowVector& part : parts) {
      Value* sum = llvm::Constant::getNullValue(vector_);
      if (resume != nullptr) {
        Value* before = b_.CreateAlignedLoad(vector_, SumAddress(sums, n, part), align, "sum.before");
        sum = b_.CreateSelect(resume, before, sum);
      }
      variables.push_back(OpenVariable(b_, sum, "sum"));
    }
  }
  EmitLoop(b_, b_.getInt64(0), depth, 1, "k", [&](Value* k) {
    Value* depth_offset = lhs_.DepthOffset(k);
    std::vector<Value*> rows;
    for (const RowVector& part : parts) rows.push_back(EmitRows(part, depth_offset));
    Value* factors = b_.CreateInBoundsGEP(b_.getFloatTy(), rhs, b_.CreateMul(k, b_.getInt64(kPanelColumns)));
    for (int n = columns.first; n < columns.end; ++n) {
      Value* factor = b_.CreateAlignedLoad(b_.getFloatTy(), b_.CreateConstGEP1_64(b_.getFloatTy(), factors, n), align);
      factor = b_.CreateVectorSplat(lanes_, factor, "factor");
      for (size_t p = 0; p < parts.size(); ++p) {
        llvm::AllocaInst* variable = variables[(n - columns.first) * parts.size() + p];
        Value* sum = b_.CreateLoad(vector_, variable, "sum");
        sum = target_.fma ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {rows[p], factor, sum})
                          : b_.CreateFAdd(sum, b_.CreateFMul(rows[p], factor));
        b_.CreateStore(sum, variable);
      }
    }
  });
  for (size_t p = 0; p < parts.size(); ++p) {  // in order: a vector's idle lanes are rows of the next one
    for (int n = columns.first; n < columns.end; ++n) {
      Value* sum = b_.CreateLoad(vector_, variables[(n - columns.first) * parts.size() + p], "sum");
      Value* address = SumAddress(sums, n, parts[p]);
      if (resume == nullptr) {
        b_.CreateAlignedStore(sum, address, align);
      } else {  // the next rows' sums of earlier parts of K are kept
        b_.CreateMaskedStore(sum, address, align, EmitFirstLanes(b_, lanes_, parts[p].rows));
      }
    }
  }
}

Value* RowsInLanes::EmitRows(const RowVector& part, Value* depth_offset) {
  const llvm::Align align(sizeof(float));
  Value* address =
      b_.CreateGEP(b_.getFloatTy(), lhs_.base(), b_.CreateAdd(part.offset, depth_offset, "offset"), "rows");
  if (!staged_) {
    return b_.CreateMaskedLoad(vector_, address, align, EmitFirstLanes(b_, lanes_, part.rows),
                               llvm::Constant::getNullValue(vector_), "rows");
  }
  Value* low = b_.CreateAlignedLoad(vector_, address, align, "rows");
  if (step_ == 1) return low;
  Value* high = b_.CreateAlignedLoad(vector_, b_.CreateConstGEP1_64(b_.getFloatTy(), address, lanes_), align);
  llvm::SmallVector<int, kPanelColumns> even;
  for (int lane = 0; lane < lanes_; ++lane) even.push_back(2 * lane);
  return b_.CreateShuffleVector(low, high, even, "rows.even");
}

Value* RowsInLanes::SumAddress(const ColumnSums& sums, int column, const RowVector& part) {
  Value* offset = b_.CreateAdd(part.row, b_.getInt64(column * sums.stride));
  return b_.CreateInBoundsGEP(b_.getFloatTy(), sums.address, offset, "sum.address");
}

}  // namespace tailor::gemm
