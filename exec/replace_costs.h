// Replaces a program's cost profile by one of the machine at hand.
#ifndef TAILOR_EXEC_REPLACE_COSTS_H_
#define TAILOR_EXEC_REPLACE_COSTS_H_

#include <string_view>

#include "codegen/contract/program.h"
#include "exec/failure.h"

namespace tailor {

// Makes every variant use the profile in `text` (codegen/contract/cost_profile.h). INVALID_ARGUMENT naming the wrong
// line; then nothing changed.
Failure ReplaceCosts(std::string_view text, Program* program);

}  // namespace tailor

#endif  // TAILOR_EXEC_REPLACE_COSTS_H_
