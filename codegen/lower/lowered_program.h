// What lowering hands to the targets: kernel plans, host programs, constants.
#ifndef TAILOR_CODEGEN_LOWER_LOWERED_PROGRAM_H_
#define TAILOR_CODEGEN_LOWER_LOWERED_PROGRAM_H_

#include <string>
#include <vector>

#include "codegen/contract/program.h"
#include "codegen/host/host_program.h"
#include "codegen/plan/kernel_plan.h"
#include "graph/graph.h"
#include "graph/visits.h"

namespace tailor::lower {

// What a compilation consists of before a target is chosen.
struct LoweredProgram {
  struct Constant {
    std::string name;  // may be empty or repeated
    TensorType type;
    ConstantData data;
    ConstantLayout layout = ConstantLayout::kRowMajor;
    bool transpose = false;  // the last two dims are swapped before packing
  };
  std::vector<KernelPlan> kernels;          // distinct; equal plans are emitted once
  std::vector<host::HostProgram> programs;  // [0] is what a run calls; the others are regions
  std::vector<std::string> facts;           // of the graph itself, a line each
  std::vector<Constant> constants;          // by constant index, of all programs
  std::vector<PassVisits> visits;           // by pass, in the order of their first runs
};

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_LOWERED_PROGRAM_H_
