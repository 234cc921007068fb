// The callback of a compilation before each pass: progress, cancelling, and passes left out.
#ifndef TAILOR_FUSION_AT_PASS_H_
#define TAILOR_FUSION_AT_PASS_H_

#include <functional>

#include "absl/status/statusor.h"

namespace tailor {

// Called before each pass over a graph or one of its regions, with the phase ("rewrite") and the pass
// ("merge-matmuls"). Returns whether the pass runs, if it is optional (OptionalRewrites, OptionalFusions). An error
// cancels the compilation and becomes its status. Empty: no callback, all passes run.
using AtPass = std::function<absl::StatusOr<bool>(const char* phase, const char* pass)>;

}  // namespace tailor

#endif  // TAILOR_FUSION_AT_PASS_H_
