// Lowers values of a graph to scalar expressions of a KernelPlan: "the element of v at this index". Views, broadcasts,
// slices, gathers and concatenations become index arithmetic, elementwise ops become scalar ops, and values read from
// memory become loads.
#ifndef TAILOR_CODEGEN_LOWER_VALUE_LOWERING_H_
#define TAILOR_CODEGEN_LOWER_VALUE_LOWERING_H_

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/reshape_groups.h"
#include "analysis/shape_facts.h"
#include "codegen/lower/lowered_kernel.h"
#include "codegen/plan/kernel_plan.h"
#include "fusion/fusion_plan.h"
#include "graph/graph.h"

namespace tailor::lower {

class ValueLowering {
 public:
  using Index = std::vector<ExprId>;

  ValueLowering(const Graph& graph, const ShapeFacts& facts, const FusionGroup& group)
      : graph_(graph), facts_(facts), nodes_(group.nodes.begin(), group.nodes.end()) {}

  // The element of `v` at `index` (one i64 expression per dim). Where `predicate` (-1: none) is false, the element is
  // not read and its value is unspecified.
  ExprId At(Value v, const Index& index, ExprId predicate = -1);
  // Declares that a stage stored `v` to `buffer` at `index`: later uses load it.
  void Materialize(Value v, int buffer, Index index);
  // Declares that `buffer` holds all of `v`: later uses load it at their own index.
  void Place(Value v, int buffer) { placed_[v] = buffer; }
  // Ends the effect of all Place calls.
  void EndPlaces() { placed_.clear(); }
  // Defines `v` as `expr` at every index (a per-row result).
  void Define(Value v, ExprId expr) { defined_[v] = expr; }
  // Clears memoized expressions, so that values materialized since are loaded.
  void NextStage() { memo_.clear(); }

  // Maps `index`, into the operand of view `node` (transpose, reshape), to the index of the same element in its result.
  Index Forward(NodeId node, const Index& index);

  DimSize DimSizeOf(const DimExpr& dim);
  ExprId Axis(int axis) { return plan.Add({.kind = ExprKind::kAxis, .ref = axis}); }
  ExprId Dim(const DimExpr& dim) { return plan.Add({.kind = ExprKind::kDimSize, .dim_size = DimSizeOf(dim)}); }
  ExprId Op(OpKind op, DType dtype, std::vector<ExprId> args);
  ExprId IndexOp(ExprKind kind, ExprId lhs, ExprId rhs) {
    const DType dtype = kind == ExprKind::kIndexLess ? DType::kBool : DType::kI64;
    return plan.Add({.kind = kind, .dtype = dtype, .args = {lhs, rhs}});
  }
  // The index along dim `axis` of `table` for `raw` (i32 or i64 data) of node `id`; negative values count from the end.
  // Out of range where `predicate` holds: the run fails.
  ExprId GatherIndexOf(NodeId id, Value table, size_t axis, ExprId raw, ExprId predicate = -1);
  // The input buffer of `v`; created on first use.
  int InputBuffer(Value v);
  int OutputBuffer(Value v);  // a new one
  int AddBuffer(BufferKind kind, DType dtype, const Shape& dims, LoweredKernel::Operand operand = {});
  bool InGroup(NodeId node) const { return nodes_.contains(node); }

  KernelPlan plan;
  std::vector<LoweredKernel::Operand> operands;  // per buffer; meaningful for inputs and outputs
  std::vector<LoweredKernel::Fault> faults;

 private:
  ExprId Compute(Value v, const Index& index, ExprId predicate);
  ExprId Elementwise(const Node& node, const Index& index, ExprId predicate);
  ExprId Concat(const Node& node, const Index& index, ExprId predicate);
  ExprId Pad(const Node& node, const Index& index, ExprId predicate);
  ExprId Gather(NodeId id, const Index& index, ExprId predicate);
  ExprId ScalarLiteral(Value v);
  Index BroadcastIndex(const Shape& operand, const Shape& result, const Index& index);
  // The index into `to` dims of the element at `index` in `from` dims.
  Index Relinearize(const Shape& from, const Shape& to, const Index& index);
  void NoteDirectIndices(const ReshapeGroup& g, int first, const Shape& from, const Shape& to, const Index& index,
                         const Index& result);
  ExprId Load(Expr load);  // of memory

  const Graph& graph_;
  const ShapeFacts& facts_;
  std::set<NodeId> nodes_;
  struct Held {
    int buffer;
    Index index;
  };
  std::map<Value, Held> held_;
  std::map<Value, int> placed_;
  std::map<Value, ExprId> defined_;
  std::map<Value, int> inputs_;
  std::map<ExprId, ExprId> direct_;  // quotients and remainders that loads need not divide for
  std::map<std::pair<NodeId, size_t>, int> fault_of_;
  std::map<std::tuple<Value, Index, ExprId>, ExprId> memo_;
};

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_VALUE_LOWERING_H_
