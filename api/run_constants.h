// Runs the constant subgraphs of a compilation: driver::CompileOptions::run_constants on the C API.
#ifndef TAILOR_API_RUN_CONSTANTS_H_
#define TAILOR_API_RUN_CONSTANTS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/driver/compile.h"

namespace tailor {

// See driver::RunConstants. The program is written as an artifact and loaded from its bytes, like every compiled graph.
absl::StatusOr<std::vector<ConstantData>> RunConstants(const driver::CompiledProgram& program, int threads,
                                                       const std::function<absl::Status()>& at_interval);

}  // namespace tailor

#endif  // TAILOR_API_RUN_CONSTANTS_H_
