// Joins a chain of matmul, rows and matmul into one attention plan (codegen/plan/attention.h), if the algebra of the
// rows allows it.
#ifndef TAILOR_CODEGEN_LOWER_JOIN_ATTENTION_H_
#define TAILOR_CODEGEN_LOWER_JOIN_ATTENTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/lower/lowered_kernel.h"

namespace tailor::lower {

// `links` are the three kernels of a chain (FusionPlan::chains), lowered for this purpose (LowerJoined): axes not
// merged, factors not packed. The rows may compute the maximum of any expression, the exponentials of that expression
// minus the maximum, and the sum of these. Their result must be the exponentials times factors, each per element or per
// row, at least one of which is the inverse of the sum. The joined kernel has the links' operands, except values passed
// between links, and all faults in order. Casts between f32 and narrower types after the exponential are dropped, those
// before it stay. FAILED_PRECONDITION: the rows do not have that form; the message names the obstacle.
absl::StatusOr<LoweredKernel> JoinAttention(const std::vector<LoweredKernel>& links);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_JOIN_ATTENTION_H_
