// Pass: a matmul takes the elementwise chain that reads its result, then trailing views
// (BladeDISC 4.1, compute-intensive fusion), and the padding of its lhs (TSCompiler 5.2).
#ifndef TAILOR_FUSION_FUSE_DOT_EPILOGUE_H_
#define TAILOR_FUSION_FUSE_DOT_EPILOGUE_H_

#include "absl/status/status.h"
#include "fusion/fusion_context.h"

namespace tailor {

// Requires: elementwise loops are maximal, except that views of matmul results are kept apart. Those that no matmul
// takes join the loops that read them. Preserves: plan validity; every matmul keeps one output.
absl::Status FuseDotEpilogue(const FusionContext& context, FusionPlan& plan);

}  // namespace tailor

#endif  // TAILOR_FUSION_FUSE_DOT_EPILOGUE_H_
