// The rhs of a matmul as micro-kernels read it, 16 columns at a time: panels in memory; or the rows of a tensor, if
// whole panels of columns lie side by side there; or, in matmuls of few rows (Contraction::in_place), panels that a
// task makes in its scratch of the columns that it is about to multiply. In the last two forms a rhs that is not
// constant is read once, where it lies: with one query, attention reads a cache of keys and values as a vector product
// would.
#ifndef TAILOR_CODEGEN_CPU_GEMM_RHS_OPERAND_H_
#define TAILOR_CODEGEN_CPU_GEMM_RHS_OPERAND_H_

#include <optional>

#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_emitter.h"

namespace tailor::gemm {

// Whether micro-kernels read rows of the tensor (MicroKernel::rhs_rows).
bool ReadsRhsRows(const KernelPlan& plan, const Contraction& contraction);

// Schedule::scratch_bytes of a matmul with the tiles of `schedule`: for the staging buffer of its lhs, or for the
// panels of its rhs that a worker makes at a time (Contraction::in_place); a matmul has at most one of them.
SlotExpr ScratchBytes(const KernelPlan& plan, const Contraction& contraction, const Schedule& schedule);

// Where 16 columns of the rhs are at the current batch index: panel p at step k of K is at
// address + p * panel_stride + k * depth_stride, in elements.
struct RhsPanels {
  llvm::Value* address = nullptr;
  llvm::Value *panel_stride = nullptr, *depth_stride = nullptr;
};

// Emits the accesses to the rhs within one kernel function. Borrows all arguments.
class RhsOperand {
 public:
  // Adds expressions to `plan`. Emits into the entry block, where `b` stands.
  RhsOperand(llvm::IRBuilderBase& b, KernelPlan& plan, const Contraction& contraction, const Schedule& schedule,
             const KernelFrame& frame, ScalarEmitter& scalars);

  // The batch axes must have their values, which apply from here on.
  void EmitBatch();
  // Prepares the panels [panel, panel + panels) for `depth` steps of K from `k` on.
  RhsPanels Emit(llvm::Value* panel, llvm::Value* panels, llvm::Value* k, llvm::Value* depth);
  // Address of a panel's row; may lie beyond the operand.
  llvm::Value* At(const RhsPanels& rhs, llvm::Value* panel, llvm::Value* k, const char* name);

 private:
  // The tensor: its load, and how that moves along n and along k.
  struct Tensor {
    const Expr& load;
    AccessMap columns, depth;
    // At the current batch index, in elements.
    llvm::Value *address = nullptr, *column_stride = nullptr, *depth_stride = nullptr;
  };

  llvm::Value* EmitPanelRows();
  void EmitBatchOfPanels();
  void EmitBatchOfTensor();
  void EmitPanel(llvm::Value* column, llvm::Value* to, llvm::Value* k, llvm::Value* depth);
  void EmitSquares(llvm::Value* column, llvm::Value* to, llvm::Value* k, llvm::Value* depth);
  void EmitRows(llvm::Value* column, llvm::Value* to, llvm::Value* k, llvm::Value* depth);
  llvm::Value* EmitLoad(llvm::Value* address, llvm::Value* mask);
  void EmitStore(llvm::Value* vector, llvm::Value* address);
  llvm::Value* Element(llvm::Value* address, llvm::Value* offset, const char* name = "element") {
    return b_.CreateGEP(element_, address, offset, name);
  }
  llvm::Value* I64(int64_t value) { return b_.getInt64(value); }

  llvm::IRBuilderBase& b_;
  const KernelPlan& plan_;
  const Contraction& c_;
  const KernelFrame& frame_;
  ScalarEmitter& scalars_;
  const Buffer& buffer_;  // of c_.rhs
  const int lanes_;
  const bool whole_panels_;
  llvm::Type* element_;
  llvm::Value* n_;
  std::optional<Tensor> tensor_;     // unless all launches read panels
  llvm::Value* in_place_ = nullptr;  // i1: this launch makes panels in scratch
  llvm::Value* batch_stride_ = nullptr;
  RhsPanels rhs_;  // in memory
};

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_RHS_OPERAND_H_
