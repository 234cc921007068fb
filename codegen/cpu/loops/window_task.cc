#include "codegen/cpu/loops/window_task.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <vector>

#include "codegen/ir/digits.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/memory_hints.h"
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
      vector_(MemoryType(b_.getContext(), dtype_, lanes_)),
      loads_(LoadsOf(plan, windows.image)) {}

void WindowTaskEmitter::EmitFetchAhead(int64_t bytes) {
  for (ExprId load : loads_) {
    const Expr& e = plan_.exprs[load];
    Value* address = reader_.AddressIfContiguous(e.ref, e.args);
    if (address != nullptr) EmitPrefetchLine(b_, b_.CreateConstGEP1_64(b_.getInt8Ty(), address, bytes));
  }
}

void WindowTaskEmitter::EmitTasks(const Version& version, int64_t rows, int64_t columns, int plane,
                                  absl::FunctionRef<void()> task) {
  if (version.no_broadcast) {
    reader_.AssumeNoBroadcast();
    writer_.AssumeNoBroadcast();
  }
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  // The last of these axes varies fastest: the planes of a position where they are adjacent in memory.
  const auto is_plane = [&](int axis) { return axis == plane && windows_.is_channels_last(); };
  std::vector<int> axes;
  std::copy_if(windows_.outer.begin(), windows_.outer.end(), std::back_inserter(axes), std::not_fn(is_plane));
  if (has_rows()) axes.push_back(y_.result);
  axes.push_back(x_.result);
  if (windows_.is_channels_last()) axes.push_back(plane);
  const auto block_of = [&](int axis) -> int64_t {
    return axis == plane ? lanes_ : axis == y_.result ? rows : axis == x_.result ? columns : 1;
  };
  std::vector<Value*> counts;
  for (int axis : axes) counts.push_back(BlocksOf(axis, block_of(axis)));
  rows_ = {I64(0), I64(1)};
  Digits digits(b_, function->getArg(1), counts);
  EmitLoop(b_, function->getArg(1), function->getArg(2), 1, "task", [&](Value*) {
    const std::vector<Value*> numbers = digits.Emit();
    digits.EmitAdvance();
    for (size_t i = 0; i < axes.size(); ++i) {
      const Span span = SpanOf(axes[i], block_of(axes[i]), numbers[i]);
      if (axes[i] == plane) {
        planes_ = span;
      } else if (axes[i] == x_.result) {
        columns_ = span;
      } else if (axes[i] == y_.result) {
        rows_ = span;
      } else {
        reader_.SetAxis(axes[i], numbers[i]);
        writer_.SetAxis(axes[i], numbers[i]);
      }
    }
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
