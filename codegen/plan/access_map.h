// Access maps: how the address of an access moves along one axis. Scheduling, axis merging, vector lanes and the
// operands of matmuls all read this one analysis.
#ifndef TAILOR_CODEGEN_PLAN_ACCESS_MAP_H_
#define TAILOR_CODEGEN_PLAN_ACCESS_MAP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "graph/dim_expr.h"

namespace tailor {

// A load or store of a buffer.
struct Access {
  int buffer;
  std::vector<ExprId> indices;  // one per dim
};

// What an analysis may assume of a plan's indices.
struct IndexAssumptions {
  bool no_broadcast = false;   // a kBcastIndex is its argument: the dim is not 1
  bool gathers_fixed = false;  // a kGatherIndex does not move: the loads inside it are accesses of their own
  bool beyond_axis = false;    // the axis may run beyond its size, as after a merge with another
};

// d(index)/d(axis): how far one index moves when the axis advances by one.
struct IndexStep {
  enum class Kind : uint8_t {
    kConstant,  // by `constant`
    kAffine,    // by the value of `expr`, an index expression without the axis
    kOpaque,    // by an unknown amount
  };
  Kind kind = Kind::kOpaque;
  int64_t constant = 0;
  ExprId expr = -1;  // kConstant and kAffine, if the plan may grow; else -1

  bool Is(int64_t n) const { return kind == Kind::kConstant && constant == n; }
};

// The step of `index` along `axis`. Adds expressions to `plan`.
IndexStep StepAlong(KernelPlan& plan, ExprId index, int axis, IndexAssumptions assumptions = {});

// The step of `index`, if it is constant, in terms of the axis whose expressions `moves` names. Leaves `plan` as it is.
std::optional<int64_t> ConstantStep(const KernelPlan& plan, ExprId index, const std::function<bool(ExprId)>& moves,
                                    IndexAssumptions assumptions = {});

// The movement of one access along one axis, in elements of its buffer.
class AccessMap {
 public:
  enum class Kind : uint8_t {
    kUniform,  // the address does not move
    kUnit,     // by one element
    kStrided,  // by stride() elements, a constant other than 0 and 1
    kAffine,   // by a number of elements that depends on dims or other axes
    kOpaque,   // by an unknown amount
  };

  // Adds expressions to `plan`. Buffers of packed layouts are kUniform or kOpaque, local ones are kUniform.
  static AccessMap Along(KernelPlan& plan, const Access& access, int axis, IndexAssumptions assumptions = {});

  Kind kind() const { return kind_; }
  int64_t stride() const { return stride_; }  // elements; of kUniform, kUnit and kStrided
  // By dim of the buffer.
  const std::vector<IndexStep>& steps() const { return steps_; }
  // Whether the last index alone moves, by one: the access is contiguous whatever the sizes of its dims are.
  bool IsUnitInLastDim() const;
  // Whether every step is constant or affine: the address is affine in the axis.
  bool IsAffine() const { return kind_ != Kind::kOpaque; }
  // The stride in elements as an expression over the symbols of the plan's dims; absent if it depends on more.
  std::optional<DimExpr> Stride(const KernelPlan& plan) const;

 private:
  int buffer_ = -1;
  bool row_major_ = true;
  Kind kind_ = Kind::kUniform;
  int64_t stride_ = 0;
  std::vector<IndexStep> steps_;
};

// The sum of steps[d] times the row-major stride of dim d, if it is constant; a dim that does not move needs no
// constant stride.
std::optional<int64_t> ConstantStride(const std::vector<std::optional<int64_t>>& steps,
                                      const std::vector<DimSize>& dims);

// Whether `access` is contiguous along `axis` whatever the sizes of its dims are. Adds expressions to `plan`.
bool IsContiguous(KernelPlan& plan, const Access& access, int axis);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_ACCESS_MAP_H_
