// Matmuls of few columns whose results lie along rows, such as convolutions with few output channels or in groups.
// Lanes run along rows, and the rhs is broadcast: no column of a panel is padding, and sums need no transposition. A
// vector holds rows of one run: within a run neighbours in m are neighbours in memory (one line of an image).
//
// Every element is summed over K ascending in one chain, as in micro-kernels.
#ifndef TAILOR_CODEGEN_CPU_GEMM_ROWS_IN_LANES_H_
#define TAILOR_CODEGEN_CPU_GEMM_ROWS_IN_LANES_H_

#include <vector>

#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/cpu/gemm/tile_epilogue.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"

namespace tailor::gemm {

// Whether rows in lanes are faster than columns in lanes. `lanes`: of a register.
bool TakesRowsInLanes(const KernelPlan& plan, const Contraction& contraction, const LhsForm& form, int lanes);

// The micro-kernels of a contraction with rows in lanes (ContractionTile::rows_in_lanes).
std::vector<MicroKernel> RowVectorKernels(const KernelPlan& plan, const Contraction& contraction,
                                          const Schedule& schedule, const LhsForm& form);

class RowsInLanes {
 public:
  // Borrows all arguments.
  RowsInLanes(llvm::IRBuilderBase& b, const KernelPlan& plan, const Contraction& contraction, const LhsForm& form,
              const Schedule& schedule, LhsOperand& lhs);

  // Panels of the rhs, a known number.
  int panels() const { return static_cast<int>((columns_ + kPanelColumns - 1) / kPanelColumns); }
  // Adds the products of the lhs part that was prepared last, `depth` steps of K, with panel `panel` of the rhs,
  // rhs[depth][16], to the sums of its columns; to zeros if `resume` (i1) is false.
  void Emit(int panel, llvm::Value* rhs, llvm::Value* depth, llvm::Value* resume, const ColumnSums& sums);

 private:
  llvm::IRBuilderBase& b_;
  LhsOperand& lhs_;
  const int columns_;
  const MicroKernel kernel_;  // but for its columns
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_ROWS_IN_LANES_H_
