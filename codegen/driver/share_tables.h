// Merges the tables of the programs that one graph was lowered to, one per backend, into those of an artifact.
#ifndef TAILOR_CODEGEN_DRIVER_SHARE_TABLES_H_
#define TAILOR_CODEGEN_DRIVER_SHARE_TABLES_H_

#include "absl/status/status.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::driver {

// Appends the checks of `second` to those of `first`, and replaces its constants by those of `first`, adding missing
// ones. UNIMPLEMENTED, naming the output, if the two programs alias an output with different inputs or only one aliases
// it: callers could not know which.
absl::Status ShareTables(lower::LoweredProgram& first, lower::LoweredProgram& second);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_SHARE_TABLES_H_
