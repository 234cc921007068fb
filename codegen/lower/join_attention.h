// A chain of matmul, rows and matmul becomes one attention plan (attention.h), where the algebra of the rows allows
// it.
#ifndef TAILOR_CODEGEN_LOWER_JOIN_ATTENTION_H_
#define TAILOR_CODEGEN_LOWER_JOIN_ATTENTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/lower/lowered_kernel.h"

namespace tailor::lower {

// `links` are the three kernels of a chain (FusionPlan::chains) as they are lowered for this (GroupForm::kJoined): axes
// apart, factors read where they are. The rows may take a maximum of any expression, the sum of the exponentials of
// what lies below it, and hand on these exponentials times factors, each of the element or of the row, at least one of
// them the sum's inverse. The joined kernel has the links' operands but for what one hands the next, and all their
// faults in order. Casts between f32 and narrower types that follow the exponential are dropped, those before it stay.
// FAILED_PRECONDITION: the rows are not of that form; the message says what is in the way.
absl::StatusOr<LoweredKernel> JoinAttention(const std::vector<LoweredKernel>& links);

}  // namespace tailor::lower

#endif  // TAILOR_CODEGEN_LOWER_JOIN_ATTENTION_H_
