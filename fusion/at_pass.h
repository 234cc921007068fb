// Who wants to know where a compilation is, and may end it.
#ifndef TAILOR_FUSION_AT_PASS_H_
#define TAILOR_FUSION_AT_PASS_H_

#include <functional>

#include "absl/status/status.h"

namespace tailor {

// Called before each pass over a graph or one of its regions with the phase ("rewrite") and the pass
// ("merge-matmuls"). An error ends the compilation with it. Empty: nobody is told.
using AtPass = std::function<absl::Status(const char* phase, const char* pass)>;

}  // namespace tailor

#endif  // TAILOR_FUSION_AT_PASS_H_
