// The digits of a launch's task numbers: each task is a point of a grid, the last digit runs fastest.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_TASK_DIGITS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_TASK_DIGITS_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

// Reorders `axes`, outermost digit first, so that consecutive tasks read consecutive memory: last come the axes that
// the innermost index of some load depends on. Only loads that depend on `lane_axis` count; `other` keeps its place.
std::vector<int> ReadingOrder(const KernelPlan& plan, std::vector<int> axes, int lane_axis, int other = -1);

class TaskDigits {
 public:
  // Emits the digits of task `first` where `b` stands: `first` by division, later tasks by carrying. `dim_sizes`: i64,
  // at least 1 if there is any task.
  TaskDigits(llvm::IRBuilderBase& b, llvm::Value* first, std::vector<llvm::Value*> dim_sizes);

  std::vector<llvm::Value*> Emit();  // of the current task
  void EmitAdvance();                // to the next task

 private:
  llvm::IRBuilderBase& b_;
  std::vector<llvm::Value*> dim_sizes_;
  std::vector<llvm::AllocaInst*> digits_;
};

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_TASK_DIGITS_H_
