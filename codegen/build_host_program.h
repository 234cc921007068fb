// From a graph to kernels and the host programs that launch them.
#ifndef TAILOR_CODEGEN_BUILD_HOST_PROGRAM_H_
#define TAILOR_CODEGEN_BUILD_HOST_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/host_program.h"
#include "codegen/kernel_plan.h"
#include "codegen/program.h"
#include "fusion/at_pass.h"
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
    bool transpose = false;  // panels of a constant stored [..., N, K]
  };
  KernelPlan plan;
  std::vector<Operand> operands;  // inputs and outputs of the plan, in buffer order
  struct Fault {
    std::string message;  // with {lhs} (the value) and {rhs} (the extent)
    std::string node;
  };
  std::vector<Fault> faults;
};

struct LowerGroupOptions {
  bool in_place = false;  // a scatter updates the memory of its operand
  bool pairs = true;      // panels of bf16 hold pairs (kPairPanels16), else kPanels16
  bool winograd = false;  // products of 3 x 3 windows may be by codegen/gemm/winograd.h
};
// Lowers one group (codegen/lower_group.cc).
absl::StatusOr<std::vector<LoweredKernel>> LowerGroup(const Graph& graph, const ShapeFacts& facts,
                                                      const FusionPlan& plan, int group, LowerGroupOptions options);
// Lowers a chain's groups to one attention plan (codegen/attention/join_attention.h, which has the errors).
absl::StatusOr<LoweredKernel> LowerJoined(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan,
                                          const std::vector<int>& chain);
// Copies `from` to intermediate number `packed`.
LoweredKernel LowerCopy(const Graph& graph, const ShapeFacts& facts, Value from, int packed);

// What a compilation consists of before a target is chosen.
struct LoweredProgram {
  struct Constant {
    std::string name;  // may be empty or repeated
    TensorType type;
    ConstantData data;
    ConstantLayout layout = ConstantLayout::kRowMajor;
    bool transpose = false;  // the last two dims are swapped before packing
  };
  std::vector<KernelPlan> kernels;    // distinct; equal plans are emitted once
  std::vector<HostProgram> programs;  // [0] is what a run calls; the others are regions
  std::vector<std::string> facts;     // of the graph itself, a line each
  std::vector<Constant> constants;    // by constant index, of all programs
  std::vector<PassVisits> visits;     // by pass, in the order of their first runs
};

struct LowerOptions {
  std::vector<bool> donated;    // by input: whether runs may write its memory; none where it is shorter
  bool versions = true;         // HostProgram::versions
  bool offer_products = false;  // plain products are offered to the runtime (HostProgram::products)
  bool winograd = true;         // LowerGroupOptions::winograd, on CPUs
  AtPass at_pass;
};

// Analyses, rewrites, fuses and lowers `graph` and, through it, its regions.
absl::StatusOr<LoweredProgram> LowerGraph(const Graph& graph, const TargetTraits& traits,
                                          const LowerOptions& options = {});

}  // namespace tailor

#endif  // TAILOR_CODEGEN_BUILD_HOST_PROGRAM_H_
