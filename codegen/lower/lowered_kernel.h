// A kernel plan with the graph values of its buffers.
#ifndef TAILOR_CODEGEN_LOWER_LOWERED_KERNEL_H_
#define TAILOR_CODEGEN_LOWER_LOWERED_KERNEL_H_

#include <string>
#include <vector>

#include "codegen/contract/program.h"
#include "codegen/plan/kernel_plan.h"
#include "graph/graph.h"

namespace tailor::lower {

// One use of a kernel, lowered from a group. A contraction whose rhs is not constant gives two: packing the rhs into
// panels, then the matmul. The packed block is an intermediate without a graph value.
struct LoweredKernel {
  // The meaning of a buffer of the plan: a value of the graph, or intermediate number `packed` of this group.
  struct Operand {
    Value value;
    int packed = -1;
    DType dtype = DType::kInvalid;
    Shape shape;  // physical for a packed block
    ConstantLayout layout = ConstantLayout::kRowMajor;
    bool transpose = false;   // panels of a constant stored [..., N, K]
    bool taps_first = false;  // kWinogradPanels16 of a constant whose K is [3, 3, C], not [C, 3, 3]
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
