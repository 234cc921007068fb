// Lowers a graph to kernel plans and the host programs that launch them.
#ifndef TAILOR_CODEGEN_LOWER_LOWER_GRAPH_H_
#define TAILOR_CODEGEN_LOWER_LOWER_GRAPH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/lower/lowered_program.h"
#include "fusion/at_pass.h"
#include "fusion/target_traits.h"
#include "graph/graph.h"

namespace tailor::lower {

struct LowerOptions {
  std::vector<bool> donated;         // by input: whether runs may overwrite its memory; missing entries: false
  bool versions = true;              // HostProgram::versions
  bool offer_products = false;       // offer external gemms to a matmul provider (HostProgram::gemms)
  bool winograd = true;              // LowerGroupOptions::winograd, on CPUs
  bool images_channels_last = true;  // TargetTraits::images_channels_last holds for all backends of the artifact
  AtPass at_pass;
};

// Analyses, rewrites, fuses and lowers `graph` and, through it, its regions.
absl::StatusOr<LoweredProgram> LowerGraph(const Graph& graph, const TargetTraits& traits,
                                          const LowerOptions& options = {});

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_LOWER_GRAPH_H_
