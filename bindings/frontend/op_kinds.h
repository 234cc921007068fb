// The primitive ops that front ends append by kind. Names and semantics: docs/ops.md.
#ifndef TAILOR_BINDINGS_FRONTEND_OP_KINDS_H_
#define TAILOR_BINDINGS_FRONTEND_OP_KINDS_H_

#include <cstdint>

namespace tailor::frontend {

enum class UnaryOp : uint8_t {
  kNeg,
  kAbs,
  kExp,
  kLog,
  kTanh,
  kErf,
  kSqrt,
  kRsqrt,
  kSigmoid,
  kNot,
  kFloor,
  kCeil,
  kRound,
  kTrunc,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
};
enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMax,
  kMin,
  kMod,
  kRem,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,
};
enum class ReduceOp : uint8_t { kSum, kMax, kMin, kMean, kProd };

constexpr bool IsComparison(BinaryOp op) { return op >= BinaryOp::kEq && op <= BinaryOp::kGe; }

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_OP_KINDS_H_
