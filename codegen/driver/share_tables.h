// Programs that one graph was lowered to for different kinds of machine share the tables of an artifact.
#ifndef TAILOR_CODEGEN_DRIVER_SHARE_TABLES_H_
#define TAILOR_CODEGEN_DRIVER_SHARE_TABLES_H_

#include "absl/status/status.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::driver {

// Renumbers the checks of `second` to follow those of `first`, and its constants to be those of `first`, to which it
// adds what was not there. UNIMPLEMENTED, naming the output, where `second` writes one to the memory of an input, and
// `first` to that of none or another: callers could not know which.
absl::Status ShareTables(lower::LoweredProgram& first, lower::LoweredProgram& second);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_SHARE_TABLES_H_
