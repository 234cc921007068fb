// From a FusionPlan to kernels and the host program that launches them.
#ifndef TAILOR_CODEGEN_BUILD_HOST_PROGRAM_H_
#define TAILOR_CODEGEN_BUILD_HOST_PROGRAM_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/host_program.h"
#include "codegen/kernel_plan.h"
#include "fusion/fusion_plan.h"

namespace tailor {

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
    bool transpose = false;  // kPanels16 of a constant stored [..., N, K]
  };
  KernelPlan plan;
  std::vector<Operand> operands;  // inputs and outputs of the plan, in buffer order
  struct Fault {
    std::string message;  // with {lhs} (the value) and {rhs} (the extent)
    std::string node;
  };
  std::vector<Fault> faults;
};

// Lowers one group (codegen/lower_group.cc).
absl::StatusOr<std::vector<LoweredKernel>> LowerGroup(const Graph& graph, const ShapeFacts& facts,
                                                      const FusionPlan& plan, int group);

// What a compilation consists of before a target is chosen.
struct LoweredProgram {
  std::vector<KernelPlan> kernels;  // distinct; equal plans are emitted once
  HostProgram host;
  struct Constant {
    NodeId node = -1;
    ConstantLayout layout = ConstantLayout::kRowMajor;
    bool transpose = false;  // the last two dims are swapped before packing
    friend bool operator==(const Constant&, const Constant&) = default;
  };
  std::vector<Constant> constants;  // by constant index
};

absl::StatusOr<LoweredProgram> LowerProgram(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_BUILD_HOST_PROGRAM_H_
