#include "codegen/cpu/loops/windowed_reduction.h"

#include <algorithm>

#include "codegen/plan/plan_queries.h"

namespace tailor::cpu {
namespace {

class WindowFinder {
 public:
  explicit WindowFinder(const KernelPlan& plan) : plan_(plan) {}

  std::optional<WindowedReduction> Find() {
    if (!IsOneReduction() || !FindSides() || !IsWorthwhile() || !StoresLikeImage()) return std::nullopt;
    FindImage(plan_.stages[0].statements[0].value);
    if (images_.size() != 1) return std::nullopt;
    found_.image = images_[0];
    if (found_.is_channels_last() && !IsWorthStaging()) return std::nullopt;
    for (int axis : AxesOf(plan_, AxisRole::kParallel)) {
      const auto is_side = [&](const WindowSide& side) { return side.result == axis; };
      if (std::none_of(found_.sides.begin(), found_.sides.end(), is_side)) found_.outer.push_back(axis);
    }
    return found_;
  }

 private:
  // The first stage is one reduction over axes of constant dim sizes; later stages process each result.
  bool IsOneReduction() const {
    if (plan_.stages.size() < 2 || plan_.fault_count > 0 || plan_.stages[0].statements.size() != 1) return false;
    const Statement& s = plan_.stages[0].statements[0];
    if (s.reduce_axes.empty() || s.reduce_axes.size() != plan_.stages[0].axes.size() || IsScan(plan_, s)) return false;
    for (size_t stage = 1; stage < plan_.stages.size(); ++stage) {
      if (!plan_.stages[stage].axes.empty()) return false;
    }
    return std::all_of(plan_.axes.begin(), plan_.axes.end(), [](const Axis& axis) {
      return axis.role == AxisRole::kParallel || (axis.role == AxisRole::kTile && axis.dim_size.is_constant());
    });
  }

  // The side of an index that depends on a tile axis and on one parallel axis.
  std::optional<WindowSide> SideOf(ExprId index) {
    WindowSide side;
    for (int axis = 0; axis < static_cast<int>(plan_.axes.size()); ++axis) {
      if (!DependsOn(plan_, index, axis)) continue;
      int& place = plan_.axes[axis].role == AxisRole::kParallel ? side.result : side.window;
      if (place >= 0) return std::nullopt;
      place = axis;
    }
    if (side.result < 0 || side.window < 0) return std::nullopt;
    const IndexStep stride = StepAlong(plan_, index, side.result), dilation = StepAlong(plan_, index, side.window);
    side.stride = stride.constant;
    side.dilation = dilation.constant;
    if (side.stride < 1 || side.dilation < 1 || (side.stride > 1 && side.dilation > 1)) return std::nullopt;
    side.size = plan_.axes[side.window].dim_size.constant;
    return side;
  }

  // The parallel axis beside `sides` that the last index of `load` is; -1: none.
  int ChannelAxisOf(const Expr& load, const std::vector<WindowSide>& sides) {
    const Expr& last = plan_.exprs[load.args.back()];
    if (last.kind != ExprKind::kAxis || plan_.axes[last.ref].role != AxisRole::kParallel) return -1;
    const auto has_axis = [&](const WindowSide& side) { return side.result == last.ref; };
    return std::any_of(sides.begin(), sides.end(), has_axis) ? -1 : last.ref;
  }

  // The sides that an index is computed from: itself, or, where it halves or broadcasts an element's number, those
  // numbers.
  void AddSidesOf(ExprId index, std::vector<WindowSide>& sides) {
    if (const std::optional<WindowSide> side = SideOf(index)) {
      if (std::find(sides.begin(), sides.end(), *side) == sides.end()) sides.push_back(*side);
      return;
    }
    const std::vector<ExprId> args = plan_.exprs[index].args;  // coefficient queries append expressions
    for (ExprId arg : args) AddSidesOf(arg, sides);
  }

  // Finds the sides in the indices of loads: the same ones in each load that has some.
  bool FindSides() {
    for (ExprId id : ReachableExprs(plan_)) {
      const Expr load = plan_.exprs[id];
      if (load.kind != ExprKind::kLoad || plan_.buffers[load.ref].kind == BufferKind::kLocal) continue;
      std::vector<WindowSide> sides;
      size_t before_last = 0;
      for (ExprId index : load.args) {
        before_last = sides.size();
        AddSidesOf(index, sides);
      }
      if (sides.empty()) continue;
      const int contiguous = sides.size() > before_last ? sides.back().result : ChannelAxisOf(load, sides);
      if (contiguous < 0) return false;
      if (found_.sides.empty()) {
        found_.contiguous = contiguous;
        found_.sides = std::move(sides);
      } else if (contiguous != found_.contiguous || sides != found_.sides) {
        return false;
      }
    }
    for (size_t i = 1; i < found_.sides.size(); ++i) {
      if (found_.sides[i].result == found_.sides[0].result || found_.sides[i].window == found_.sides[0].window)
        return false;
    }
    const auto is_loop = [&](int axis) { return plan_.axes[axis].dim_size != DimSize{.constant = 1}; };
    const auto loops = std::count_if(plan_.stages[0].axes.begin(), plan_.stages[0].axes.end(), is_loop);
    return !found_.sides.empty() && found_.sides.size() <= 2 && static_cast<ptrdiff_t>(found_.sides.size()) == loops;
  }

  // All steps of a window, or of one of its rows, become straight code, and the windows must overlap.
  bool IsWorthwhile() const {
    constexpr int64_t kFarthest = 64, kMostStride = 2;
    const auto is_far = [](const WindowSide& side) { return side.reach() > kFarthest || side.stride > kMostStride; };
    if (std::any_of(found_.sides.begin(), found_.sides.end(), is_far)) return false;
    if (found_.is_long() && found_.sides.size() == 1) return false;
    return found_.steps() >= 2 * found_.strides();
  }

  // Whether windows share so many elements that copying what a task reads pays: loops read channels that are last in
  // whole vectors, too. They read each weight for each result.
  bool IsWorthStaging() const {
    return found_.image != plan_.stages[0].statements[0].value || found_.steps() >= 4 * found_.strides();
  }

  bool StoresLikeImage() {
    for (size_t stage = 1; stage < plan_.stages.size(); ++stage) {
      const std::vector<Statement> statements = plan_.stages[stage].statements;
      for (const Statement& s : statements) {
        if (plan_.buffers[s.buffer].kind == BufferKind::kLocal) continue;
        if (!IsContiguous(plan_, {s.buffer, s.indices}, found_.contiguous)) return false;
      }
    }
    return true;
  }

  bool DependsOnSides(ExprId id) const {
    return std::any_of(found_.sides.begin(), found_.sides.end(), [&](const WindowSide& side) {
      return DependsOn(plan_, id, side.result) || DependsOn(plan_, id, side.window);
    });
  }

  // Whether an index is the number of an element along one side, plus a constant.
  bool IsNumber(ExprId id) {
    int sides = 0;
    for (const WindowSide& side : found_.sides) {
      const IndexStep of_result = StepAlong(plan_, id, side.result), of_window = StepAlong(plan_, id, side.window);
      if (of_result.Is(0) && of_window.Is(0)) continue;
      if (!of_result.Is(side.stride) || !of_window.Is(side.dilation)) return false;
      ++sides;
    }
    return sides == 1;
  }

  bool IsOfImage(ExprId id) {
    if (!DependsOnSides(id) || IsNumber(id)) return true;
    const Expr e = plan_.exprs[id];
    if (e.kind == ExprKind::kAxis) return false;
    return std::all_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return IsOfImage(arg); }) &&
           (e.predicate < 0 || IsOfImage(e.predicate));
  }

  // Collects the largest subexpressions of the value that depend on the image only.
  void FindImage(ExprId id) {
    if (!DependsOnSides(id)) return;
    if (IsOfImage(id)) {
      if (std::find(images_.begin(), images_.end(), id) == images_.end()) images_.push_back(id);
      return;
    }
    const Expr e = plan_.exprs[id];
    if (e.kind != ExprKind::kOp) return;
    for (ExprId arg : e.args) FindImage(arg);
  }

  KernelPlan plan_;  // a copy, for coefficients
  WindowedReduction found_;
  std::vector<ExprId> images_;
};

}  // namespace

std::optional<WindowedReduction> FindWindowedReduction(const KernelPlan& plan) { return WindowFinder(plan).Find(); }

}  // namespace tailor::cpu
