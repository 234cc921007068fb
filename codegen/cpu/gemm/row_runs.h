// Runs of rows of a matmul's lhs: neighbouring rows whose elements lie at one distance, such as the points of a line of
// an image. A run ends where a digit of m carries.
#ifndef TAILOR_CODEGEN_CPU_GEMM_ROW_RUNS_H_
#define TAILOR_CODEGEN_CPU_GEMM_ROW_RUNS_H_

#include <optional>

#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"

namespace tailor::gemm {

// Whether the rows of a run lie side by side where micro-kernels read them, in memory or in a staging buffer. Every
// second element of a line is side by side in a buffer that splits columns.
bool LoadsVectorsOfRows(const KernelPlan& plan, const Contraction& contraction, const LhsForm& form);

// Whether lines of the staging buffer hold their even columns, then their odd ones. Rows are every second column, as in
// a convolution of stride 2, so that those of one step of K are side by side.
bool SplitsColumns(const KernelPlan& plan, const Contraction& contraction, const ContractionTile& tile);

// The known length of runs of the index `id`: the least known divisor of a remainder of m; 0 if there is none.
int64_t LengthOfRuns(const KernelPlan& plan, int m, ExprId id);

// The rows of a line of an image: the divisor of the remainder of m that indexes the lhs; none if m is not divided.
std::optional<DimSize> RowsOfLine(const KernelPlan& plan, const Contraction& contraction);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_ROW_RUNS_H_
