// What window loops of both kinds share (row_windows.h, plane_windows.h): a kernel function whose tasks are blocks of
// results, and the ranges of the current task.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_WINDOW_TASK_H_
#define TAILOR_CODEGEN_CPU_LOOPS_WINDOW_TASK_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "codegen/cpu/loops/windowed_reduction.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

class WindowTaskEmitter {
 protected:
  using Value = llvm::Value;

  // `count` results from `first` on.
  struct Span {
    Value *first, *count;
  };

  // Opens function `name`, a KernelFn. `locals`: expressions that the task stages, as locals of staged_.
  WindowTaskEmitter(const KernelPlan& plan, const WindowedReduction& windows, const std::vector<ExprId>& locals,
                    const Schedule& schedule, const EmitTarget& target, llvm::Module& module, const std::string& name);
  ~WindowTaskEmitter() = default;

  // Emits the function's body: `task` for each task, with rows_, columns_ and planes_ set, and the other outer axes in
  // reader_ and writer_. `rows`, `columns`: results of a task, at most. `plane`: the outer axis of which a task takes a
  // vector's lanes; -1: none.
  void EmitTasks(const Version& version, int64_t rows, int64_t columns, int plane, absl::FunctionRef<void()> task);

  // Prefetches what lies `bytes` behind the elements of reader_'s lanes, in each operand of the image in which these
  // are contiguous.
  void EmitFetchAhead(int64_t bytes);

  bool has_rows() const { return windows_.sides.size() > 1; }
  Value* I64(int64_t value) { return b_.getInt64(value); }
  Value* Times(Value* value, int64_t factor) { return b_.CreateMul(value, I64(factor)); }
  Value* DimSizeOf(int axis) { return frame_.DimSizeValue(b_, plan_.axes[axis].dim_size); }

  const KernelPlan& plan_;
  const WindowedReduction& windows_;
  const WindowSide y_, x_;  // with one side y is one row
  const int lanes_;
  const EmitTarget& target_;
  const KernelPlan staged_;  // with the locals
  const DType dtype_;        // of the image
  llvm::IRBuilder<> b_;
  KernelFrame frame_;
  ScalarEmitter reader_, writer_;  // of plan_; of staged_
  llvm::Type* vector_;             // in memory
  // Of the current task.
  Span planes_ = {}, rows_ = {}, columns_ = {};

 private:
  const std::vector<ExprId> loads_;  // of the image

  Value* BlocksOf(int axis, int64_t block);
  Span SpanOf(int axis, int64_t block, Value* number);
};

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_WINDOW_TASK_H_
