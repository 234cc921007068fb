// Assembles one host program from a fusion plan.
#ifndef TAILOR_CODEGEN_LOWER_LOWER_PROGRAM_H_
#define TAILOR_CODEGEN_LOWER_LOWER_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "codegen/lower/constant_table.h"
#include "codegen/lower/counted_loop.h"
#include "codegen/lower/lower_group.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::lower {

// The tables shared by all programs of a compilation.
struct LoweringTables {
  LoweredProgram program;
  absl::flat_hash_map<std::string, int> kernel_of;  // by plan text
  ConstantTable constants;                          // of `program`
  int growable_blocks = 0;                          // number of blocks that grow during a run
  bool offer_products = false;                      // offer external gemms to a matmul provider
  LowerGroupOptions groups;                         // of every group
  bool join_chains = false;                         // a chain becomes one kernel (LowerJoined)
  bool rows_in_place = true;                        // TargetTraits::rows_in_place
  bool external_f16_gemm = false;                   // TargetTraits::external_f16_gemm
};

// How a program is called.
struct ProgramRole {
  bool body = false;           // of a loop: outputs are the arguments of the next iteration
  bool outermost = false;      // HostProgram::outermost
  bool versions = false;       // may have two versions, HostProgram::versions
  bool own_workspace = false;  // HostProgram::own_workspace
  // By output number. Missing entries, and all outputs of the program that a run calls, are the runtime's.
  std::vector<host::HostProgram::Output> outputs;
  std::vector<int> numbers;   // output numbers of this program's outputs; empty: in order
  std::vector<bool> donated;  // HostProgram::donated
  // By input: whether its dims are those of its type for sure, so that the program does not check them. Missing: false.
  // Results of loops and branches have dims that only the call tells.
  std::vector<bool> known_shapes;
  CountedArguments counted;  // loop bodies
};

// Lowers region `region` of node `id`, or the next stage if `id` is a continuation; it may defer the work. Returns the
// program number.
using LowerRegion = std::function<absl::StatusOr<int>(NodeId id, int region, const ProgramRole& role)>;

// Requires: `graph` is one stage (fusion/split_at_data_dependent_dims.h), rewritten. `next` is the stage that its
// continuation calls; nullptr: none.
absl::StatusOr<host::HostProgram> LowerProgram(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan,
                                               const ProgramRole& role, const Graph* next,
                                               const LowerRegion& lower_region, LoweringTables& tables);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_LOWER_PROGRAM_H_
