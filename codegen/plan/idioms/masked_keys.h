// Which keys of an attention a mask hides, read off its scores: `select(n <= m + c, x, h)` is h for keys beyond m + c,
// whatever x is. Masks are told by their comparison of the key's number with anything else, never by a name: causal
// ones, with or without a past, and those of sequences of some length.
#ifndef TAILOR_CODEGEN_PLAN_IDIOMS_MASKED_KEYS_H_
#define TAILOR_CODEGEN_PLAN_IDIOMS_MASKED_KEYS_H_

#include <optional>

#include "codegen/plan/attention.h"

namespace tailor {

struct MaskedKeys {
  // i64, of the row (batch, m): keys from there on are hidden, where there are at most 2^31 keys, whose numbers i32
  // holds. It may be negative, or beyond the last key.
  ExprId end;
  bool never;    // that score is -inf
  ExprId score;  // what Attention::score is for those: in it, no factor is read
};

// Nothing where no part of the scores has that form; where a key's weight is more than its exponential, since the
// weight of a hidden key could be NaN; and where reading a hidden key may be a fault. Adds expressions to `plan`.
std::optional<MaskedKeys> FindMaskedKeys(KernelPlan& plan, const Attention& attention);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_IDIOMS_MASKED_KEYS_H_
