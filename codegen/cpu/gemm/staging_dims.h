// Dim sizes of a staging buffer: how far each index of the lhs spreads over the rows and the part of K that a task
// reads. One formula for the schedule (SlotExpr over slots) and for kernels (IR).
#ifndef TAILOR_CODEGEN_CPU_GEMM_STAGING_DIMS_H_
#define TAILOR_CODEGEN_CPU_GEMM_STAGING_DIMS_H_

#include <cstdlib>
#include <vector>

#include "codegen/cpu/gemm/row_runs.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"

namespace tailor::gemm {

// Arithmetic has a type Number, and functions Constant(int64_t), Of(DimSize), Add, Mul, CeilDiv and Min of two numbers.
template <typename Arithmetic>
class StagingDims {
 public:
  using Number = typename Arithmetic::Number;

  StagingDims(const Arithmetic& arithmetic, const KernelPlan& plan, const Contraction& contraction,
              const ContractionTile& tile)
      : of_(arithmetic), plan_(plan), c_(contraction), tile_(tile) {}

  // Per dim of the staging buffer. Requires every index to be a sum of a part in m and a part in k.
  std::vector<Number> DimSizes() const {
    std::vector<Number> dim_sizes;
    for (size_t d = 0; d < c_.lhs.args.size(); ++d) {
      const Number spread = of_.Add(Spread(c_.lhs.args[d]), of_.Constant(1));
      dim_sizes.push_back(of_.Min(spread, of_.Of(plan_.buffers[c_.lhs.ref].dims[d])));
    }
    if (SplitsColumns(plan_, c_, tile_)) {  // as many odd columns as even ones
      const Number two = of_.Constant(2);
      dim_sizes.back() = of_.Mul(of_.CeilDiv(dim_sizes.back(), two), two);
    }
    return dim_sizes;
  }

 private:
  // Upper bound of the difference between two values of `id`.
  Number Spread(ExprId id) const {
    if (!DependsOn(plan_, id, c_.m) && !DependsOn(plan_, id, c_.k)) return of_.Constant(0);
    const Expr& e = plan_.exprs[id];
    switch (e.kind) {
      case ExprKind::kAxis:
        return of_.Constant((e.ref == c_.m ? tile_.task_rows : tile_.depth) - 1);
      case ExprKind::kIndexAdd:
      case ExprKind::kIndexSub:
        return of_.Add(Spread(e.args[0]), Spread(e.args[1]));
      case ExprKind::kIndexMul: {
        const int varies = Varies(e.args[0]) ? 0 : 1;
        DimSize factor = plan_.exprs[e.args[1 - varies]].dim_size;
        if (factor.is_constant()) factor.constant = std::abs(factor.constant);  // a slice may step back
        return of_.Mul(Spread(e.args[varies]), of_.Of(factor));
      }
      case ExprKind::kIndexFloorDiv:
        return of_.CeilDiv(Spread(e.args[0]), of_.Of(plan_.exprs[e.args[1]].dim_size));
      case ExprKind::kIndexMod:
        return of_.Add(of_.Of(plan_.exprs[e.args[1]].dim_size), of_.Constant(-1));
      default:  // a broadcast index
        return Spread(e.args[0]);
    }
  }

  bool Varies(ExprId id) const { return DependsOn(plan_, id, c_.m) || DependsOn(plan_, id, c_.k); }

  const Arithmetic& of_;
  const KernelPlan& plan_;
  const Contraction& c_;
  const ContractionTile& tile_;
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_STAGING_DIMS_H_
