// A graph from its text, with the constants that the text leaves out.
#ifndef TAILOR_TOOLS_TAILOR_CONSTANTS_H_
#define TAILOR_TOOLS_TAILOR_CONSTANTS_H_

#include <string>

#include "tools/handles.h"
#include "tools/tailor/model.h"

namespace tailor {

// Parses `text`. The bytes of constants that it leaves out come from arguments.constants or arguments.constants_seed.
// Throws UsageError naming the constants that have none, or one whose array has another dtype or shape.
GraphHandle ParseWithConstants(const std::string& text, const ModelArguments& arguments);

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_CONSTANTS_H_
