// What one reduction or scan of one row has combined so far, in stack slots that SROA turns into registers.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_ACCUMULATOR_H_
#define TAILOR_CODEGEN_CPU_LOOPS_ACCUMULATOR_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

// Several partial results of some lanes each are in flight. Where the greatest or the least of floats is sought and
// comparisons yield mask registers, NaN is sought apart: one comparison tells of two elements, and the partial results
// are those of elements that are not NaN.
class Accumulator {
 public:
  // Emits `partials` neutral values; none for statements that do not reduce. `b`, `target` and `s` must outlive this.
  Accumulator(llvm::IRBuilderBase& b, const EmitTarget& target, const Statement& s, bool scans, int partials,
              int lanes);

  llvm::AllocaInst* slot(int partial) const { return slots_[partial]; }
  // Combines `value` with a partial result.
  void Add(llvm::Value* value, int partial);
  // Ends what a loop's body adds: no emitted value is held on to.
  void EndStep();
  // All partial results in one, of one lane where `across_lanes`.
  llvm::Value* Close(bool across_lanes);

 private:
  llvm::Value* Combine(llvm::Value* x, llvm::Value* y);
  void Check(llvm::Value* x, llvm::Value* y);

  llvm::IRBuilderBase& b_;
  const EmitTarget& target_;
  const Statement& statement_;
  std::vector<llvm::AllocaInst*> slots_;
  llvm::AllocaInst* ordered_ =
      nullptr;                        // whether no element so far, in a lane's place, was NaN; null: not sought apart
  llvm::Value* unchecked_ = nullptr;  // an element that `ordered_` does not know of yet
};

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_ACCUMULATOR_H_
