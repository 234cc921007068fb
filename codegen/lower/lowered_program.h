// The result of lowering, independent of targets: kernel plans, host programs, constants.
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

// The program of a compilation before a target is chosen.
struct LoweredProgram {
  struct Constant {
    std::string name;  // may be empty or repeated
    TensorType type;
    ConstantData data;
    ConstantLayout layout = ConstantLayout::kRowMajor;
    bool transpose = false;   // the last two dims are swapped before packing
    bool taps_first = false;  // LoweredKernel::Operand::taps_first
  };
  std::vector<KernelPlan> kernels;          // distinct; equal plans are emitted once
  std::vector<host::HostProgram> programs;  // [0] is the one that a run calls; others are regions and stages
  std::vector<std::string> facts;           // of the whole graph, one per line
  std::vector<Constant> constants;          // by constant index, of all programs
  std::vector<ProgramCustomCall> custom_calls;
  std::vector<PassVisits> visits;  // by pass, in the order of their first runs
};

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_LOWERED_PROGRAM_H_
