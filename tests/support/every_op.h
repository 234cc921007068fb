// Graphs that hold the whole op table.
#ifndef TAILOR_TESTS_SUPPORT_EVERY_OP_H_
#define TAILOR_TESTS_SUPPORT_EVERY_OP_H_

#include "graph/dtype.h"
#include "graph/graph.h"

namespace tailor {

inline constexpr DType kEveryDType[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                                        DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
                                        DType::kBF16, DType::kF32, DType::kF64};

// All ops but control flow, each an output, on operands [M, N] of `dtype`; those that the type rules refuse are left
// out. Scans and scatters in all their forms, casts to every type.
Graph EveryOp(DType dtype);

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_EVERY_OP_H_
