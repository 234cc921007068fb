// A kernel plan with the graph values that its buffers stand for.
#ifndef TAILOR_CODEGEN_LOWER_LOWERED_KERNEL_H_
#define TAILOR_CODEGEN_LOWER_LOWERED_KERNEL_H_

#include <string>
#include <vector>

#include "codegen/contract/program.h"
#include "codegen/plan/kernel_plan.h"
#include "graph/graph.h"

namespace tailor::lower {

// One use of a kernel as lowered from a group. A contraction with a dynamic right operand gives two: packing it
// into panels, then the product; the packed block is an intermediate that no graph value names.
struct LoweredKernel {
  // What a buffer of the plan stands for: a value of the graph, or intermediate number `packed` of this group.
  struct Operand {
    Value value;
    int packed = -1;
    DType dtype = DType::kInvalid;
    Shape shape;  // physical for a packed block
    ConstantLayout layout = ConstantLayout::kRowMajor;
    bool transpose = false;  // panels of a constant stored [..., N, K]
  };
  KernelPlan plan;
  std::vector<Operand> operands;  // inputs and outputs of the plan, in buffer order
  struct Fault {
    std::string message;  // with {lhs} (the value) and {rhs} (the dim size)
    std::string node;
  };
  std::vector<Fault> faults;
};

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_LOWERED_KERNEL_H_
