// Lowers each kind of fusion group to KernelPlans.
#include <algorithm>
#include <cassert>
#include <optional>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/jobs/job_pool.h"
#include "codegen/lower/join_attention.h"
#include "codegen/lower/loop_kernel.h"
#include "codegen/lower/lower_group.h"
#include "codegen/lower/lowered_kernel.h"
#include "codegen/lower/row_stages.h"
#include "codegen/lower/scatter_kernels.h"
#include "codegen/lower/value_lowering.h"
#include "codegen/lower/winograd_windows.h"
#include "codegen/plan/combiner.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/far_taps.h"
#include "codegen/plan/plan_rewrites.h"
#include "fusion/node_class.h"
#include "graph/finite_constant.h"
#include "graph/status_macros.h"

namespace tailor::lower {
namespace {

DType AccumulatorOf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

// The kind of kernel that a group becomes.
enum class GroupForm : uint8_t {
  kStandalone,
  kLink,    // part of a chain that runs on blocks of rows: row axis and batch axes not merged
  kJoined,  // part of a joined kernel: no axes merged, operands not packed
};

class GroupLowering {
 public:
  GroupLowering(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group,
                GroupForm form = GroupForm::kStandalone, const LowerGroupOptions& options = {})
      : graph_(graph), facts_(facts), group_(group), form_(form), options_(options), values_(graph, facts, group) {
    if (options.winograd && form == GroupForm::kStandalone && group.kind == GroupKind::kContraction)
      windows_ = FindWinogradWindows(graph, facts, group);
  }

  LoweredKernel Copy(Value from, int packed) {
    ValueLowering values = CopyKernel(graph_, facts_, group_, from, packed);
    return Finish(values);
  }

  absl::StatusOr<std::vector<LoweredKernel>> Run() {
    if (group_.kind == GroupKind::kScatter) {
      for (ValueLowering& values : ScatterKernels(graph_, facts_, group_, options_.in_place)) {
        kernels_.push_back(Finish(values));
      }
      return std::move(kernels_);
    }
    if (group_.kind == GroupKind::kLoop) {
      ValueLowering values = LoopKernel(graph_, facts_, group_);
      kernels_.push_back(Finish(values));
      return std::move(kernels_);
    }
    for (const GroupAxis& axis : group_.axes) {
      const AxisRole inner = group_.kind == GroupKind::kContraction ? AxisRole::kContract
                             : group_.kind == GroupKind::kScan      ? AxisRole::kOrdered
                                                                    : AxisRole::kTile;
      values_.plan.axes.push_back({values_.DimSizeOf(axis.dim_size), axis.tile ? inner : AxisRole::kParallel});
    }
    switch (group_.kind) {
      case GroupKind::kRow:
        LowerRow();
        break;
      case GroupKind::kScan:
        LowerScan();
        break;
      default:
        LowerContraction();
        break;
    }
    kernels_.push_back(Finish(values_));
    return std::move(kernels_);
  }

 private:
  using Index = ValueLowering::Index;

  LoweredKernel Finish(ValueLowering& values) {
    for (Stage& stage : values.plan.stages) {
      for (Statement& s : stage.statements) values.plan.FoldSplitIndices(values.plan.buffers[s.buffer], s.indices);
    }
    if (form_ != GroupForm::kJoined) CollapseAxes(values.plan, facts_, /*keep_m=*/form_ == GroupForm::kLink);
    if (options_.merge_rows) MergeRowsOfOneRhs(values.plan);
    StageFarTapsApart(values.plan);
    const std::vector<int> order = Canonicalize(values.plan);
    LoweredKernel kernel;
    for (size_t i = 0; i < order.size(); ++i) {
      const BufferKind kind = values.plan.buffers[i].kind;
      if (kind == BufferKind::kInput || kind == BufferKind::kOutput)
        kernel.operands.push_back(values.operands[order[i]]);
    }
    kernel.plan = std::move(values.plan);
    kernel.faults = std::move(values.faults);
    return kernel;
  }

  Index AxesOf(NodeId id) {
    Index index;
    for (int axis : group_.axis_of.at(id)) index.push_back(axis < 0 ? values_.Dim(0) : Along(axis));
    return index;
  }

  // The element index along `axis` for the current iteration; reversed scans start at the end.
  ExprId Along(int axis) {
    const ExprId step = values_.Axis(axis);
    const bool scanned = group_.kind == GroupKind::kScan && group_.axes[axis].tile;
    if (!scanned || graph_.node(group_.dominant).i64("reverse") == 0) return step;
    return values_.IndexOp(ExprKind::kIndexSub, values_.Dim(group_.axes[axis].dim_size - 1), step);
  }

  // The node that the loops compute for `output`, which may be a view of it, and the store index.
  std::pair<Value, Index> SourceOf(Value output) {
    std::vector<NodeId> views;
    Value base = group_.trailing_views.empty() ? output : Value{group_.trailing_views.back(), 0};
    while (!group_.axis_of.contains(base.node)) {
      views.push_back(base.node);
      base = graph_.node(base.node).operands[0];
    }
    Index index = AxesOf(base.node);
    for (auto view = views.rbegin(); view != views.rend(); ++view) index = values_.Forward(*view, index);
    return {base, index};
  }

  // ---- Row groups ----

  void LowerRow() {
    const RowStages stages = PlanRowStages(graph_, facts_, group_);
    for (size_t axis = 0; axis < group_.axes.size(); ++axis) {
      if (group_.axes[axis].tile) tile_axes_.push_back(static_cast<int>(axis));
    }
    for (int level = 0; level < stages.count; ++level) {
      values_.NextStage();
      Stage per_row, per_element{.axes = tile_axes_};
      std::vector<std::pair<Value, Statement>> finished;  // can be loaded from the next stage on
      for (NodeId id : group_.nodes) {
        if (stages.level.at(id) != level) continue;
        if (stages.kept.contains(id)) Keep(id, per_element, finished);
        const auto view = stages.kept_views.find(id);
        if (view != stages.kept_views.end()) KeepAt(id, ReducedIndex(view->second), per_element, finished);
      }
      for (NodeId id : stages.reductions) {
        if (stages.level.at(id) == level) Reduce(id, per_element, finished);
      }
      for (Value v : group_.outputs) StoreOutput(v, level, stages, per_row, per_element);
      for (const auto& [value, statement] : finished) MakeAvailable(value, statement);
      if (!per_row.statements.empty()) values_.plan.stages.push_back(std::move(per_row));
      if (!per_element.statements.empty()) values_.plan.stages.push_back(std::move(per_element));
    }
  }

  bool IsOutput(NodeId id) const {
    return std::any_of(group_.outputs.begin(), group_.outputs.end(), [&](Value v) { return v.node == id; });
  }

  void Keep(NodeId id, Stage& stage, std::vector<std::pair<Value, Statement>>& finished) {
    const Value v{id, 0};
    if (IsOutput(id)) {  // stored below; later stages load it
      output_buffer_[id] = values_.OutputBuffer(v);
      finished.push_back({v, {.buffer = output_buffer_[id], .indices = AxesOf(id)}});
      return;
    }
    KeepAt(id, AxesOf(id), stage, finished);
  }

  // Keeps the elements of `id`, each at index `at`, in a row buffer.
  void KeepAt(NodeId id, const Index& at, Stage& stage, std::vector<std::pair<Value, Statement>>& finished) {
    const Value v{id, 0};
    Shape dims;
    Index index;
    for (int axis : tile_axes_) {
      dims.push_back(group_.axes[axis].dim_size);
      index.push_back(values_.Axis(axis));
    }
    const int buffer = values_.AddBuffer(BufferKind::kRow, graph_.type(v).dtype, dims);
    Statement statement{.buffer = buffer, .indices = index, .value = values_.At(v, at)};
    stage.statements.push_back(statement);
    finished.push_back({v, std::move(statement)});
  }

  void Reduce(NodeId id, Stage& stage, std::vector<std::pair<Value, Statement>>& finished) {
    const Node& node = graph_.node(id);
    const Value operand = node.operands[0];
    const DType accumulate = AccumulatorOf(graph_.type(operand).dtype);
    Statement statement{.buffer = values_.AddBuffer(BufferKind::kLocal, accumulate, {}),
                        .value = values_.At(operand, ReducedIndex(id)),
                        .reduce_axes = tile_axes_,
                        .combiner = CombinerOf(node.op),
                        .accumulate = accumulate};
    stage.statements.push_back(statement);
    finished.push_back({Value{id, 0}, std::move(statement)});
  }

  // The operand's index: reduced dims follow the reduction's tile axes, other dims follow its result.
  Index ReducedIndex(NodeId id) {
    const Node& node = graph_.node(id);
    const int rank = graph_.type(node.operands[0]).rank();
    std::vector<bool> reduced(rank);
    for (int64_t axis : node.i64s("axes")) reduced[axis < 0 ? axis + rank : axis] = true;
    const std::vector<int>& result_axes = group_.axis_of.at(id);
    const std::vector<int>& reduce_axes = group_.reduce_axes.at(id);
    const bool keep = node.i64("keep_dims") != 0;
    Index index;
    size_t next_result = 0, next_reduced = 0;
    for (int d = 0; d < rank; ++d) {
      int axis;
      if (reduced[d]) {
        axis = reduce_axes[next_reduced++];
        next_result += keep;
      } else {
        axis = result_axes[next_result++];
      }
      index.push_back(axis < 0 ? values_.Dim(0) : values_.Axis(axis));
    }
    return index;
  }

  // Makes a kept value available to later stages. A reduction's accumulator has its accumulator type; a mean divides;
  // the result is rounded to its own type.
  void MakeAvailable(Value value, const Statement& statement) {
    if (statement.reduce_axes.empty()) return values_.Materialize(value, statement.buffer, statement.indices);
    const DType dtype = graph_.type(value).dtype;
    ExprId result = values_.plan.Add({.kind = ExprKind::kLoad, .dtype = statement.accumulate, .ref = statement.buffer});
    if (graph_.node(value.node).op == OpKind::kReduceMean) {
      ExprId count = values_.Dim(1);
      for (int axis : tile_axes_) {
        count = values_.IndexOp(ExprKind::kIndexMul, count, values_.Dim(group_.axes[axis].dim_size));
      }
      count = values_.Op(OpKind::kCast, statement.accumulate, {count});
      result = values_.Op(OpKind::kDiv, statement.accumulate, {result, count});
    }
    if (dtype != statement.accumulate) result = values_.Op(OpKind::kCast, dtype, {result});
    values_.Define(value, result);
  }

  void StoreOutput(Value v, int level, const RowStages& stages, Stage& per_row, Stage& per_element) {
    auto [base, index] = SourceOf(v);
    const bool reduction = InfoOf(graph_.node(base.node).op).fusion == FusionClass::kReduction;
    if (stages.level.at(base.node) + (reduction ? 1 : 0) != level) return;
    auto it = output_buffer_.find(v.node);
    const int buffer = it != output_buffer_.end() ? it->second : values_.OutputBuffer(v);
    const std::vector<int>& axes = group_.axis_of.at(base.node);
    const bool full = std::all_of(tile_axes_.begin(), tile_axes_.end(), [&](int tile) {
      const bool unit = group_.axes[tile].dim_size == DimExpr(1);  // a dim of size 1 has no axis
      return unit || std::find(axes.begin(), axes.end(), tile) != axes.end();
    });
    Stage& stage = full ? per_element : per_row;
    stage.statements.push_back({.buffer = buffer, .indices = index, .value = values_.At(base, AxesOf(base.node))});
  }

  // ---- Scans ----

  // One ordered loop: combines, and stores the values computed from the running result.
  void LowerScan() {
    const Node& node = graph_.node(group_.dominant);
    const Value result{group_.dominant, 0};
    const DType dtype = graph_.type(result).dtype, accumulate = AccumulatorOf(dtype);
    const int axis = static_cast<int>(group_.axes.size()) - 1;
    const int sum = values_.AddBuffer(BufferKind::kLocal, accumulate, {});
    Stage stage{.axes = {axis}};
    stage.statements.push_back({.buffer = sum,
                                .value = values_.At(node.operands[0], AxesOf(group_.dominant)),
                                .reduce_axes = {axis},
                                .combiner = CombinerOf(node.string("combiner")),
                                .accumulate = accumulate,
                                .exclusive = node.i64("exclusive") != 0});
    ExprId so_far = values_.plan.Add({.kind = ExprKind::kLoad, .dtype = accumulate, .ref = sum});
    if (dtype != accumulate) so_far = values_.Op(OpKind::kCast, dtype, {so_far});
    values_.Define(result, so_far);
    for (Value v : group_.outputs) {
      auto [base, index] = SourceOf(v);
      ExprId value = values_.At(base, AxesOf(base.node));
      stage.statements.push_back({.buffer = values_.OutputBuffer(v), .indices = index, .value = value});
    }
    values_.plan.stages.push_back(std::move(stage));
  }

  // ---- Matmuls ----

  void LowerContraction() {
    KernelPlan& plan = values_.plan;
    const Node& dot = graph_.node(group_.dominant);
    const int k = static_cast<int>(group_.axes.size()) - 1, n = k - 1, m = k - 2;
    const DType dtype = dot.results[0].dtype;
    const DType accumulate = AccumulatorOf(dtype);
    if (form_ != GroupForm::kJoined) FillStaging();
    const int fill = static_cast<int>(plan.stages.size()) - 1;  // -1: no staging buffer
    ContractionForm form{.m = m, .n = n, .k = k, .fill = fill, .sum = fill + 1};
    if (windows_) {
      form.dilation = windows_->dilation;
      form.channels_last = windows_->channels_last;
    }
    plan.form = form;
    ExprId lhs = values_.At(dot.operands[0], OperandIndex(0, m, k, dot.i64("transpose_lhs") != 0));
    ExprId rhs = RhsOperand(n, k);
    const int sum = values_.AddBuffer(BufferKind::kLocal, accumulate, {});
    Statement matmul{.buffer = sum,
                     .value = values_.Op(OpKind::kMul, accumulate, {lhs, rhs}),
                     .reduce_axes = {k},
                     .combiner = OpKind::kAdd,
                     .accumulate = accumulate};
    plan.stages.push_back({.axes = {k}, .statements = {matmul}});

    ExprId result = plan.Add({.kind = ExprKind::kLoad, .dtype = accumulate, .ref = sum});
    if (dtype != accumulate) result = values_.Op(OpKind::kCast, dtype, {result});
    values_.NextStage();
    values_.EndPlaces();  // of the staging buffer, which only the matmul reads
    values_.Define({group_.dominant, 0}, result);
    Stage epilogue;
    for (Value v : group_.outputs) {
      auto [base, index] = SourceOf(v);
      const bool follows_views = !group_.trailing_views.empty() && v.node != group_.trailing_views.back();
      ExprId value = follows_views ? values_.At(v, index) : values_.At(base, AxesOf(base.node));
      epilogue.statements.push_back({.buffer = values_.OutputBuffer(v), .indices = index, .value = value});
    }
    plan.stages.push_back(std::move(epilogue));
  }

  // The value to stage: the group's value that the matmul reads through views, if it computes one. Else the lhs itself,
  // if such reads are slow on the target, its stride along K exceeds a page and the copy is read often.
  std::optional<Value> Staged() const {
    if (windows_) return graph_.node(windows_->node).operands[0];
    constexpr int64_t kFarApart = 2048, kDeep = 512, kWide = 256;  // elements
    const Node& dot = graph_.node(group_.dominant);
    const Value lhs = dot.operands[0];
    Value source = lhs;
    bool windows = false;
    while (values_.InGroup(source.node) && IsFree(graph_.node(source.node))) {
      const Node& view = graph_.node(source.node);
      source = view.operands[0];
      windows |= view.op == OpKind::kWindow;
    }
    if (values_.InGroup(source.node)) return source;
    if (!options_.stage_strided_lhs) return std::nullopt;
    const auto least = [&](int from_last) {
      return facts_.RangeOf(group_.axes[group_.axes.size() - from_last].dim_size).min;
    };
    const bool far_apart = dot.i64("transpose_lhs") != 0 && !windows && least(3) >= kFarApart;
    if (far_apart && least(2) >= kWide && least(1) >= kDeep && form_ == GroupForm::kStandalone) return lhs;
    return std::nullopt;
  }

  // Adds the stage that fills the staging buffer, over axes of its own.
  void FillStaging() {
    const std::optional<Value> found = Staged();
    if (!found) return;
    const Value staged = *found;
    KernelPlan& plan = values_.plan;
    const TensorType& type = graph_.type(staged);
    Stage fill;
    Index index;
    for (const DimExpr& dim_size : type.shape) {
      fill.axes.push_back(static_cast<int>(plan.axes.size()));
      plan.axes.push_back({values_.DimSizeOf(dim_size), AxisRole::kTile});
      index.push_back(values_.Axis(fill.axes.back()));
    }
    const ExprId value = values_.At(staged, index);
    const int buffer = values_.AddBuffer(BufferKind::kStaging, type.dtype, type.shape);
    fill.statements.push_back({.buffer = buffer, .indices = index, .value = value});
    plan.stages.push_back(std::move(fill));
    values_.NextStage();
    values_.Place(staged, buffer);
  }

  // Index into dot operand `i`: its batch dims aligned to the end of the result's, then (row, column).
  Index OperandIndex(int i, int row, int column, bool transposed) {
    const Shape& shape = graph_.type(graph_.node(group_.dominant).operands[i]).shape;
    Index index = BatchIndex(shape);
    index.push_back(values_.Axis(transposed ? column : row));
    index.push_back(values_.Axis(transposed ? row : column));
    return index;
  }

  Index BatchIndex(const Shape& shape) {
    const int batch = static_cast<int>(shape.size()) - 2;
    const int skipped = static_cast<int>(group_.axes.size()) - 3 - batch;
    Index index;
    for (int d = 0; d < batch; ++d) {
      const DimExpr& dim_size = group_.axes[d + skipped].dim_size;
      ExprId at = values_.Axis(d + skipped);
      if (facts_.Canonical(shape[d]) == DimExpr(1)) {
        at = values_.Dim(0);
      } else if (!facts_.ProvablyEqual(shape[d], dim_size)) {
        at = values_.plan.Add({.kind = ExprKind::kBcastIndex, .dim_size = values_.DimSizeOf(shape[d]), .args = {at}});
      }
      index.push_back(at);
    }
    return index;
  }

  // The rhs as panels or a row-major matrix (LowerGroupOptions::packed_rhs); in joined groups any expression. A rhs
  // that is not in memory in this form is computed by a kernel of its own, which does nothing where the matmul has few
  // rows and reads the rhs in place.
  ExprId RhsOperand(int n, int k) {
    const Node& dot = graph_.node(group_.dominant);
    const Value rhs = dot.operands[1];
    const bool transposed = dot.i64("transpose_rhs") != 0;
    const ExprId element = values_.At(rhs, OperandIndex(1, k, n, transposed));
    if (form_ == GroupForm::kJoined) return element;
    if (options_.packed_rhs) {
      if (auto load = ConstantPanels(element, n, k)) return *load;
    } else if (OrderOf(element, n, k)) {
      return element;
    }

    const Shape& shape = graph_.type(rhs).shape;
    Shape batch(shape.begin(), shape.end() - 2);
    DimExpr rows = group_.axes[n - 1].dim_size;  // of all batch indices that share the rhs (MergeRowsOfOneRhs)
    for (int axis = n - 2; axis >= 0 && !DependsOn(values_.plan, element, axis); --axis) {
      rows = rows * group_.axes[axis].dim_size;
    }
    const DimExpr& columns = group_.axes[n].dim_size;
    const DimExpr& depth = group_.axes[k].dim_size;
    const InPlace how = HowInPlace(element, rows, columns, n, k);
    if (how == InPlace::kRows) return element;
    const bool in_place = how == InPlace::kFewRows;
    Shape copies;  // 0 for few rows, else 1
    if (in_place) copies = {DimExpr::Min(1, DimExpr::FloorDiv(rows, options_.most_rows_in_place + 1))};
    kernels_.push_back(options_.packed_rhs ? PackKernel(rhs, copies, batch, depth, columns, transposed)
                                           : RowMajorKernel(rhs, batch, depth, columns, transposed));
    Shape logical = batch;
    logical.push_back(depth);
    logical.push_back(columns);
    const int buffer = values_.AddBuffer(BufferKind::kInput, graph_.type(rhs).dtype, logical,
                                         {.packed = 0,
                                          .dtype = graph_.type(rhs).dtype,
                                          .shape = kernels_.back().operands.back().shape,
                                          .layout = RhsLayout(graph_.type(rhs).dtype)});
    Index index = BatchIndex(shape);
    index.push_back(values_.Axis(k));
    index.push_back(values_.Axis(n));
    const DType dtype = graph_.type(rhs).dtype;
    const ExprId packed = values_.plan.Add({.kind = ExprKind::kLoad, .dtype = dtype, .ref = buffer, .args = index});
    if (!in_place) return packed;
    const ExprId few =
        values_.IndexOp(ExprKind::kIndexLess, values_.Dim(rows), values_.Dim(options_.most_rows_in_place + 1));
    return values_.Op(OpKind::kSelect, dtype, {few, element, packed});
  }

  // How a matmul may read `element`, of its rhs, where it is in memory (TargetTraits::most_rows_in_place): not; its
  // rows, which are short and whole panels; or, with few rows of its own, as panels that it makes itself (InPlaceRhs).
  enum class InPlace : uint8_t { kNot, kRows, kFewRows };
  InPlace HowInPlace(ExprId element, const DimExpr& rows, const DimExpr& columns, int n, int k) {
    constexpr int64_t kLongRow = 256;  // elements; in longer ones, a panel's rows would be in many pages
    const Expr load = values_.plan.exprs[element];
    if (options_.most_rows_in_place == 0 || load.kind != ExprKind::kLoad || load.predicate >= 0) return InPlace::kNot;
    const int64_t most_columns = facts_.RangeOf(columns).max;
    if (most_columns <= kMostRowVectorColumns || PanelsOf(load.dtype) != ConstantLayout::kPanels16)
      return InPlace::kNot;  // other matmuls with so few columns have kernels of their own
    const MatrixRows order = MatrixRowsOf(values_.plan, load, n, k);
    if (order == MatrixRows::kNone) return InPlace::kNot;
    if (order == MatrixRows::kAlongN && most_columns <= kLongRow && facts_.ProvablyDivisible(columns, kPanelColumns))
      return InPlace::kRows;
    const bool few = facts_.RangeOf(rows).min <= options_.most_rows_in_place;
    return few && SizeOf(load.dtype) == 4 && values_.plan.stages.empty() ? InPlace::kFewRows : InPlace::kNot;
  }

  enum class MatrixOrder : uint8_t { kStraight, kTransposed };  // [..., k, n], [..., n, k]
  // The order in which `id` reads a matrix; nullopt if it is not a plain load of one.
  std::optional<MatrixOrder> OrderOf(ExprId id, int n, int k) {
    const Expr load = values_.plan.exprs[id];
    if (load.kind != ExprKind::kLoad || load.predicate >= 0 || load.args.size() < 2) return std::nullopt;
    const size_t rank = load.args.size();
    const ExprId row = values_.Axis(k), column = values_.Axis(n);
    const bool straight = load.args[rank - 2] == row && load.args[rank - 1] == column;
    const bool swapped = load.args[rank - 2] == column && load.args[rank - 1] == row;
    if (!straight && !swapped) return std::nullopt;
    for (size_t d = 0; d + 2 < rank; ++d) {
      if (DependsOn(values_.plan, load.args[d], k) || DependsOn(values_.plan, load.args[d], n)) return std::nullopt;
    }
    return straight ? MatrixOrder::kStraight : MatrixOrder::kTransposed;
  }

  // Turns a plain load of a constant matrix into a load of its panels.
  std::optional<ExprId> ConstantPanels(ExprId id, int n, int k) {
    const std::optional<MatrixOrder> order = OrderOf(id, n, k);
    if (!order) return std::nullopt;
    const Expr load = values_.plan.exprs[id];
    const LoweredKernel::Operand source = values_.operands[load.ref];
    if (graph_.node(source.value.node).op != OpKind::kConstant) return std::nullopt;
    const size_t rank = load.args.size();
    const bool straight = order == MatrixOrder::kStraight;
    Shape logical = source.shape;
    Index index = load.args;
    if (!straight) {
      std::swap(logical[rank - 2], logical[rank - 1]);
      std::swap(index[rank - 2], index[rank - 1]);
    }
    const int buffer =
        values_.AddBuffer(BufferKind::kInput, source.dtype, logical,
                          {.value = source.value,
                           .dtype = source.dtype,
                           .shape = source.shape,
                           .layout = windows_ ? ConstantLayout::kWinogradPanels16 : PanelsOf(source.dtype),
                           .transpose = !straight,
                           .taps_first = windows_ && windows_->channels_last});
    return values_.plan.Add({.kind = ExprKind::kLoad, .dtype = load.dtype, .ref = buffer, .args = index});
  }

  // The kernel that stores the rhs as [batch..., K, N], row-major.
  LoweredKernel RowMajorKernel(Value rhs, const Shape& batch, const DimExpr& depth, const DimExpr& columns,
                               bool transposed) {
    ValueLowering copy(graph_, facts_, group_);
    Shape shape = batch;
    shape.push_back(depth);
    shape.push_back(columns);
    Index all;
    for (const DimExpr& dim_size : shape) {
      copy.plan.axes.push_back({copy.DimSizeOf(dim_size), AxisRole::kParallel});
      all.push_back(copy.Axis(static_cast<int>(all.size())));
    }
    Index source = all;
    if (transposed) std::swap(source[batch.size()], source[batch.size() + 1]);
    const ExprId value = copy.At(rhs, source);
    const DType dtype = graph_.type(rhs).dtype;
    const int buffer = copy.AddBuffer(BufferKind::kOutput, dtype, shape, {.packed = 0, .dtype = dtype, .shape = shape});
    copy.plan.stages.push_back({.axes = {}, .statements = {{.buffer = buffer, .indices = all, .value = value}}});
    return Finish(copy);
  }

  // The packing kernel: [batch..., K, N] -> [copies..., batch..., ceil(N/16), K, 16], zero-padded. With words of s
  // steps of K: [copies..., batch..., ceil(N/16), ceil(K/s), 16] of words, the first step in the low bits. On devices,
  // halves of rows are swapped (HasXorSwizzle).
  LoweredKernel PackKernel(Value rhs, const Shape& copies, const Shape& batch, const DimExpr& depth,
                           const DimExpr& columns, bool transposed) {
    ValueLowering pack(graph_, facts_, group_);
    const DType dtype = graph_.type(rhs).dtype;
    const int steps = StepsPerWord(PanelsOf(dtype), dtype);
    const DType stored = steps > 1 ? DType::kU32 : dtype;
    Shape physical = copies;
    physical.insert(physical.end(), batch.begin(), batch.end());
    physical.push_back(DimExpr::CeilDiv(columns, kPanelColumns));
    physical.push_back(DimExpr::CeilDiv(depth, steps));
    physical.push_back(kPanelColumns);
    Index all;
    for (const DimExpr& dim_size : physical) {
      pack.plan.axes.push_back({pack.DimSizeOf(dim_size), AxisRole::kParallel});
      all.push_back(pack.Axis(static_cast<int>(all.size())));
    }
    const size_t b = copies.size() + batch.size();
    const ExprId first_column = pack.IndexOp(ExprKind::kIndexMul, all[b], pack.Dim(kPanelColumns));
    ExprId within = all[b + 2];
    if (options_.device_panels && HasXorSwizzle(stored)) {
      const ExprId fours = pack.IndexOp(ExprKind::kIndexFloorDiv, all[b + 1], pack.Dim(4));
      const ExprId swapped = pack.IndexOp(ExprKind::kIndexMod, fours, pack.Dim(2));
      const ExprId moved = pack.IndexOp(ExprKind::kIndexMul, swapped, pack.Dim(kPanelColumns / 2));
      within = pack.IndexOp(ExprKind::kIndexAdd, within, moved);
      within = pack.IndexOp(ExprKind::kIndexMod, within, pack.Dim(kPanelColumns));
    }
    const ExprId column = pack.IndexOp(ExprKind::kIndexAdd, first_column, within);
    const auto element = [&](ExprId row, bool row_exists) {
      Index source(all.begin() + copies.size(), all.begin() + b);
      source.push_back(transposed ? column : row);
      source.push_back(transposed ? row : column);
      ExprId inside = -1;
      if (!facts_.ProvablyDivisible(columns, kPanelColumns)) {
        inside = pack.IndexOp(ExprKind::kIndexLess, column, pack.Dim(columns));
      }
      if (!row_exists) {
        const ExprId above = pack.IndexOp(ExprKind::kIndexLess, row, pack.Dim(depth));
        inside = inside < 0 ? above : pack.Op(OpKind::kAnd, DType::kBool, {above, inside});
      }
      return ZeroOutside(pack, pack.At(rhs, source, inside), inside);
    };
    const ExprId first = pack.IndexOp(ExprKind::kIndexMul, all[b + 1], pack.Dim(steps));
    ExprId value = element(first, true);
    if (steps > 1) value = Bits(pack, value);
    const bool whole = facts_.ProvablyDivisible(depth, steps);
    for (int step = 1; step < steps; ++step) {
      const ExprId at = pack.IndexOp(ExprKind::kIndexAdd, first, pack.Dim(step));
      const ExprId shift = pack.plan.Add(
          {.kind = ExprKind::kLiteral, .dtype = DType::kU32, .bits = static_cast<uint64_t>(32 / steps * step)});
      const ExprId upper = pack.Op(OpKind::kShiftLeft, DType::kU32, {Bits(pack, element(at, whole)), shift});
      value = pack.Op(OpKind::kOr, DType::kU32, {value, upper});
    }
    const int buffer =
        pack.AddBuffer(BufferKind::kOutput, stored, physical, {.packed = 0, .dtype = stored, .shape = physical});
    pack.plan.stages.push_back({.axes = {}, .statements = {{.buffer = buffer, .indices = all, .value = value}}});
    return Finish(pack);
  }

  // `value`, or zero where `inside` (-1: true) is false. A predicated load is already zero there.
  static ExprId ZeroOutside(ValueLowering& values, ExprId value, ExprId inside) {
    const Expr& e = values.plan.exprs[value];
    if (inside < 0 || (e.kind == ExprKind::kLoad && e.predicate >= 0)) return value;
    const DType dtype = e.dtype;
    const ExprId zero = values.plan.Add({.kind = ExprKind::kLiteral, .dtype = dtype});
    return values.Op(OpKind::kSelect, dtype, {inside, value, zero});
  }

  // The bits of an element of 8 or 16 bits, as the low ones of a word.
  static ExprId Bits(ValueLowering& values, ExprId element) {
    const DType bits = SizeOf(values.plan.exprs[element].dtype) == 1 ? DType::kU8 : DType::kU16;
    return values.Op(OpKind::kCast, DType::kU32, {values.Op(OpKind::kBitcast, bits, {element})});
  }

  ConstantLayout PanelsOf(DType dtype) const {
    return options_.device_panels ? ConstantLayout::kPanels16 : PanelLayout(dtype);
  }
  ConstantLayout RhsLayout(DType dtype) const {
    return options_.packed_rhs ? PanelsOf(dtype) : ConstantLayout::kRowMajor;
  }

  const Graph& graph_;
  const ShapeFacts& facts_;
  const FusionGroup& group_;
  const GroupForm form_;
  const LowerGroupOptions options_;
  std::optional<WinogradWindows> windows_;  // of a Winograd convolution
  ValueLowering values_;
  std::vector<LoweredKernel> kernels_;
  std::vector<int> tile_axes_;
  std::map<NodeId, int> output_buffer_;
};

std::string NameOf(const Graph& graph, const FusionGroup& group, int number) {
  NodeId node = group.dominant;
  if (node < 0) {
    for (NodeId id : group.nodes) {
      if (InfoOf(graph.node(id).op).fusion == FusionClass::kElementwise || node < 0) node = id;
    }
  }
  return absl::StrCat("g", number, "_", std::string(InfoOf(graph.node(node).op).text));
}

// Lowering recurses along a kernel's nodes: kernels with more nodes run on a thread with its own large stack.
constexpr size_t kFewNodes = 64;

}  // namespace

absl::StatusOr<std::vector<LoweredKernel>> LowerGroup(const Graph& graph, const ShapeFacts& facts,
                                                      const FusionPlan& plan, int group, LowerGroupOptions options) {
  const bool link = std::any_of(plan.chains.begin(), plan.chains.end(), [&](const std::vector<int>& chain) {
    return std::count(chain.begin(), chain.end(), group) != 0;
  });
  const GroupForm form = link ? GroupForm::kLink : GroupForm::kStandalone;
  const auto lower = [&] { return GroupLowering(graph, facts, plan.groups[group], form, options).Run(); };
  absl::StatusOr<std::vector<LoweredKernel>> kernels;
  if (plan.groups[group].nodes.size() <= kFewNodes) {
    kernels = lower();
  } else {
    TAILOR_RETURN_IF_ERROR(RunJob([&] {
      kernels = lower();
      return absl::OkStatus();
    }));
  }
  if (!kernels.ok()) return kernels.status();
  for (LoweredKernel& kernel : *kernels) kernel.plan.name = NameOf(graph, plan.groups[group], group);
  const bool packs = plan.groups[group].kind != GroupKind::kScatter && options.packed_rhs;
  if (kernels->size() == 2) kernels->front().plan.name += packs ? "_pack" : "_copy";
  return kernels;
}

absl::StatusOr<LoweredKernel> LowerJoined(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan,
                                          const std::vector<int>& chain) {
  std::vector<LoweredKernel> links;
  for (int group : chain) {
    TAILOR_ASSIGN_OR_RETURN(auto kernels, GroupLowering(graph, facts, plan.groups[group], GroupForm::kJoined).Run());
    links.push_back(std::move(kernels.back()));
    links.back().plan.name = NameOf(graph, plan.groups[group], group);
  }
  return JoinAttention(links);
}

LoweredKernel LowerCopy(const Graph& graph, const ShapeFacts& facts, Value from, int packed) {
  const FusionGroup nothing;
  LoweredKernel kernel = GroupLowering(graph, facts, nothing).Copy(from, packed);
  kernel.plan.name = "copy";
  return kernel;
}

}  // namespace tailor::lower
