// The progress callback of a compilation, which may also cancel it.
#ifndef TAILOR_FUSION_AT_PASS_H_
#define TAILOR_FUSION_AT_PASS_H_

#include <functional>

#include "absl/status/status.h"

namespace tailor {

// Called before each pass over a graph or one of its regions, with the phase ("rewrite") and the pass
// ("merge-matmuls"). An error cancels the compilation and becomes its status. Empty: no callback.
using AtPass = std::function<absl::Status(const char* phase, const char* pass)>;

}  // namespace tailor

#endif  // TAILOR_FUSION_AT_PASS_H_
