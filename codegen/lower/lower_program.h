// Assembles one host program from a fusion plan.
#ifndef TAILOR_CODEGEN_LOWER_LOWER_PROGRAM_H_
#define TAILOR_CODEGEN_LOWER_LOWER_PROGRAM_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "codegen/lower/constant_table.h"
#include "codegen/lower/lower_group.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::lower {

// What is common to all programs of a compilation.
struct LoweringTables {
  LoweredProgram program;
  absl::flat_hash_map<std::string, int> kernel_of;  // by plan text
  ConstantTable constants;                          // of `program`
  int grown_blocks = 0;                             // numbers given to memory that grows during a run
  bool offer_products = false;                      // to the runtime, which may compute them itself
  bool pairs = true;                                // LowerGroupOptions::pairs
  bool winograd = false;                            // LowerGroupOptions::winograd
  bool join_chains = false;                         // a chain is one kernel (LowerJoined)
  bool rows_in_place = true;                        // TargetTraits::rows_in_place
  bool external_f16_gemm = false;                   // TargetTraits::external_f16_gemm
};

// How a program is called.
struct ProgramRole {
  bool body = false;           // of a loop: outputs are its arguments after one turn
  bool outermost = false;      // HostProgram::outermost
  bool versions = false;       // there may be two of it, HostProgram::versions
  bool own_workspace = false;  // HostProgram::own_workspace
  // By output number; outputs beyond it, and all those of the program that a run calls, are the runtime's.
  std::vector<host::HostProgram::Output> outputs;
  std::vector<int> numbers;   // of this program's outputs among those; empty: in order
  std::vector<bool> donated;  // HostProgram::donated
};

// Lowers region `region` of node `id`, or where `id` is a `rest` the next stage, now or later, and gives its program's
// number.
using LowerRegion = std::function<absl::StatusOr<int>(NodeId id, int region, const ProgramRole& role)>;

// `graph`, one stage of a graph (fusion/split_at_data.h), has been rewritten. `next` is the stage that its `rest` node
// calls, nullptr where it has none.
absl::StatusOr<host::HostProgram> LowerProgram(const Graph& graph, const ShapeFacts& facts, const FusionPlan& plan,
                                               const ProgramRole& role, const Graph* next,
                                               const LowerRegion& lower_region, LoweringTables& tables);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_LOWER_PROGRAM_H_
