#include "codegen/cpu/loops/window_task.h"

#include "codegen/ir/digits.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cpu {

WindowTaskEmitter::WindowTaskEmitter(const KernelPlan& plan, const WindowedReduction& windows,
                                     const std::vector<ExprId>& locals, const Schedule& schedule,
                                     const EmitTarget& target, llvm::Module& module, const std::string& name)
    : plan_(plan),
      windows_(windows),
      y_(windows.sides.size() > 1 ? windows.sides[0] : WindowSide{}),
      x_(windows.sides.back()),
      lanes_(schedule.lanes),
      target_(target),
      staged_(WithLocals(plan, locals)),
      dtype_(plan.exprs[windows.image].dtype),
      b_(module.getContext()),
      frame_(OpenKernelFunction(b_, module, staged_, KernelSignature::OnHost(staged_, schedule), name)),
      reader_(b_, target, plan_, frame_),
      writer_(b_, target, staged_, frame_),
      vector_(MemoryType(b_.getContext(), dtype_, lanes_)) {}

void WindowTaskEmitter::EmitTasks(const Version& version, int64_t rows, int64_t columns, int plane,
                                  absl::FunctionRef<void()> task) {
  if (version.no_broadcast) {
    reader_.AssumeNoBroadcast();
    writer_.AssumeNoBroadcast();
  }
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  std::vector<Value*> counts;
  for (int axis : windows_.outer) counts.push_back(axis == plane ? BlocksOf(axis, lanes_) : DimSizeOf(axis));
  if (has_rows()) counts.push_back(BlocksOf(y_.result, rows));
  counts.push_back(BlocksOf(x_.result, columns));
  Digits digits(b_, function->getArg(1), counts);
  EmitLoop(b_, function->getArg(1), function->getArg(2), 1, "task", [&](Value*) {
    const std::vector<Value*> numbers = digits.Emit();
    digits.EmitAdvance();
    for (size_t i = 0; i < windows_.outer.size(); ++i) {
      if (windows_.outer[i] == plane) {
        planes_ = SpanOf(plane, lanes_, numbers[i]);
      } else {
        reader_.SetAxis(windows_.outer[i], numbers[i]);
        writer_.SetAxis(windows_.outer[i], numbers[i]);
      }
    }
    columns_ = SpanOf(x_.result, columns, numbers.back());
    rows_ = has_rows() ? SpanOf(y_.result, rows, numbers[numbers.size() - 2]) : Span{I64(0), I64(1)};
    task();
  });
  b_.CreateRetVoid();
}

llvm::Value* WindowTaskEmitter::BlocksOf(int axis, int64_t block) {
  return b_.CreateUDiv(b_.CreateAdd(DimSizeOf(axis), I64(block - 1)), I64(block), "blocks");
}

WindowTaskEmitter::Span WindowTaskEmitter::SpanOf(int axis, int64_t block, Value* number) {
  Value* first = Times(number, block);
  Value* left = b_.CreateSub(DimSizeOf(axis), first);
  return {first, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, I64(block), nullptr, "count")};
}

}  // namespace tailor::cpu
