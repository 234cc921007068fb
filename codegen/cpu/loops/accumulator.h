// The accumulator of one reduction or scan of one row, in stack slots that SROA turns into registers.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_ACCUMULATOR_H_
#define TAILOR_CODEGEN_CPU_LOOPS_ACCUMULATOR_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

// Several partial results of some lanes each are in flight. For the maximum or minimum of floats NaN is tracked
// separately: one comparison checks two elements, and the partial results ignore elements that are NaN. Lanes of flags
// are as wide as comparisons leave them: bits of mask registers (AVX-512), else as the elements.
class Accumulator {
 public:
  // Emits `partials` neutral values; 0 for statements that do not reduce. `b`, `target` and `s` must outlive this.
  Accumulator(llvm::IRBuilderBase& b, const EmitTarget& target, const Statement& s, bool scans, int partials,
              int lanes);

  llvm::AllocaInst* slot(int partial) const { return slots_[partial]; }
  // Combines `value` with a partial result, in the lanes of `mask` (null: all). A product that was emitted for this sum
  // alone is added without being rounded, where the target can.
  void Add(llvm::Value* value, int partial, llvm::Value* mask);
  // Ends a step, the body of a loop: afterwards no emitted value of it is referenced.
  void EndStep();
  // Combines all partial results into one, of a single lane if `across_lanes`.
  llvm::Value* Close(bool across_lanes);

 private:
  llvm::Value* Combine(llvm::Value* x, llvm::Value* y);
  // The factors of `value` if it is such a product; null for others.
  llvm::BinaryOperator* AsProduct(llvm::Value* value) const;
  void Check(llvm::Value* x, llvm::Value* y);

  llvm::IRBuilderBase& b_;
  const EmitTarget& target_;
  const Statement& statement_;
  std::vector<llvm::AllocaInst*> slots_;
  llvm::AllocaInst* ordered_ = nullptr;  // per lane: no element so far was NaN; null: NaN is not tracked
  llvm::Value* unchecked_ = nullptr;     // an element that `ordered_` does not cover yet
};

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_ACCUMULATOR_H_
