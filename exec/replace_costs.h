// Giving a program the cost profile of the machine at hand, in place of the one that it was compiled with.
#ifndef TAILOR_EXEC_REPLACE_COSTS_H_
#define TAILOR_EXEC_REPLACE_COSTS_H_

#include <string_view>

#include "codegen/contract/program.h"
#include "exec/failure.h"

namespace tailor {

// Every variant chooses by the profile in `text` (codegen/contract/cost_profile.h) from then on. INVALID_ARGUMENT names
// the line that is wrong; nothing changed then.
Failure ReplaceCosts(std::string_view text, Program* program);

}  // namespace tailor

#endif  // TAILOR_EXEC_REPLACE_COSTS_H_
