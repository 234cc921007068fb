// The parts of a Program that mirror the graph: symbols, signature, checks, facts, provenance.
#ifndef TAILOR_CODEGEN_DRIVER_DESCRIBE_PROGRAM_H_
#define TAILOR_CODEGEN_DRIVER_DESCRIBE_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "codegen/contract/program.h"
#include "codegen/lower/lowered_program.h"
#include "graph/graph.h"

namespace tailor::driver {

// Fills all fields except constants and variants. The checks are those of all of `lowered` (share_tables.h). `options`
// lists the options that influenced the bytes.
Program DescribeProgram(const Graph& graph, absl::Span<const lower::LoweredProgram* const> lowered,
                        std::string options);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_DESCRIBE_PROGRAM_H_
