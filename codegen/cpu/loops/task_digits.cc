#include "codegen/cpu/loops/task_digits.h"

#include <algorithm>
#include <utility>

#include "codegen/plan/plan_queries.h"

namespace tailor::cpu {

std::vector<int> ReadingOrder(const KernelPlan& plan, std::vector<int> axes, int lane_axis, int other) {
  std::vector<ExprId> exprs = ReachableExprs(plan);
  std::erase_if(exprs, [&](ExprId id) { return !DependsOn(plan, id, lane_axis); });
  const auto goes_on = [&](int axis) {
    return std::any_of(exprs.begin(), exprs.end(), [&](ExprId id) {
      const Expr& e = plan.exprs[id];
      return e.kind == ExprKind::kLoad && !e.args.empty() && DependsOn(plan, e.args.back(), axis);
    });
  };
  std::stable_partition(axes.begin(), axes.end(), [&](int axis) { return axis == other || !goes_on(axis); });
  return axes;
}

TaskDigits::TaskDigits(llvm::IRBuilderBase& b, llvm::Value* first, std::vector<llvm::Value*> dim_sizes)
    : b_(b), dim_sizes_(std::move(dim_sizes)) {
  llvm::BasicBlock& entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  for (size_t i = 0; i < dim_sizes_.size(); ++i) {
    digits_.push_back(at_entry.CreateAlloca(b.getInt64Ty(), nullptr, "digit"));
  }
  for (size_t i = dim_sizes_.size(); i-- > 0;) {
    if (i == 0) {
      b.CreateStore(first, digits_[i]);
    } else {
      b.CreateStore(b.CreateURem(first, dim_sizes_[i], "first.digit"), digits_[i]);
      first = b.CreateUDiv(first, dim_sizes_[i], "first.rest");
    }
  }
}

std::vector<llvm::Value*> TaskDigits::Emit() {
  std::vector<llvm::Value*> out;
  for (llvm::AllocaInst* digit : digits_) out.push_back(b_.CreateLoad(b_.getInt64Ty(), digit, "index"));
  return out;
}

void TaskDigits::EmitAdvance() {
  llvm::Value* carry = b_.getTrue();
  for (size_t i = digits_.size(); i-- > 0;) {
    llvm::Value* digit = b_.CreateLoad(b_.getInt64Ty(), digits_[i], "digit.before");
    llvm::Value* next = b_.CreateAdd(digit, b_.CreateZExt(carry, b_.getInt64Ty()), "digit.next");
    carry = b_.CreateICmpEQ(next, dim_sizes_[i], "carry");
    b_.CreateStore(b_.CreateSelect(carry, b_.getInt64(0), next), digits_[i]);
  }
}

}  // namespace tailor::cpu
