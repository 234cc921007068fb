// A launch's tasks, each a point of a grid: the digits of the task's number, the last one fastest.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_TASK_DIGITS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_TASK_DIGITS_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

// `axes` in the order of digits: last those, but for `other`, along which a load whose lanes run along `lane_axis` goes
// on within the rows of its tensor. Tasks that follow one another then read memory in turn.
std::vector<int> ReadingOrder(const KernelPlan& plan, std::vector<int> axes, int lane_axis, int other = -1);

class TaskDigits {
 public:
  // Emits the digits of task `first` where `b` stands: found by division, those of the tasks after it by carrying.
  // `dim sizes`: i64, at least 1 wherever there is a task.
  TaskDigits(llvm::IRBuilderBase& b, llvm::Value* first, std::vector<llvm::Value*> dim_sizes);

  std::vector<llvm::Value*> Emit();  // those of the task at hand
  void EmitAdvance();                // to the next task

 private:
  llvm::IRBuilderBase& b_;
  std::vector<llvm::Value*> dim_sizes_;
  std::vector<llvm::AllocaInst*> digits_;
};

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_TASK_DIGITS_H_
