// The micro-kernels that one matmul needs, and the call of the one that a tile needs.
#ifndef TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNELS_H_
#define TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNELS_H_

#include <vector>

#include "absl/types/span.h"
#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"

namespace tailor::gemm {

// Of a matmul without Winograd tiles, whose lhs has the form `form`.
std::vector<MicroKernel> MicroKernelsOf(const KernelPlan& plan, const Contraction& contraction,
                                        const Schedule& schedule, const LhsForm& form);
// The same; INTERNAL if FormOfLhs is.
absl::StatusOr<std::vector<MicroKernel>> MicroKernelsOf(const KernelPlan& plan, const Schedule& schedule);

// Whether some of `kernels` multiply only the first half (eight lanes) of their last panel, and the matmul has more
// columns than that half.
bool HasHalfPanels(absl::Span<const MicroKernel> kernels);

// Whether (i1) such a micro-kernel multiplies the tile of `panels` panels from `panel` on, of a matmul of `columns`
// columns. Requires HasHalfPanels(kernels).
llvm::Value* EmitIsHalf(llvm::IRBuilderBase& b, absl::Span<const MicroKernel> kernels, llvm::Value* columns,
                        llvm::Value* panel, llvm::Value* panels);

// Calls the one of `kernels` whose shape is `rows` x `panels` (i64), with EmitMicroKernel's arguments; one has it.
// Declares all of them. `is_half`: EmitIsHalf; false if not HasHalfPanels.
void EmitMicroKernelCall(llvm::IRBuilderBase& b, absl::Span<const MicroKernel> kernels, llvm::Value* rows,
                         llvm::Value* panels, llvm::Value* is_half, llvm::ArrayRef<llvm::Value*> arguments);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNELS_H_
