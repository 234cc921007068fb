// Finds the masked keys of an attention from its scores: `select(n <= m + c, x, h)` is h for every key n > m + c. Masks
// are recognized by a comparison of the key index with another expression: causal masks, with or without past keys, and
// sequence lengths.
#ifndef TAILOR_CODEGEN_PLAN_IDIOMS_MASKED_KEYS_H_
#define TAILOR_CODEGEN_PLAN_IDIOMS_MASKED_KEYS_H_

#include <optional>

#include "codegen/plan/attention.h"

namespace tailor {

struct MaskedKeys {
  // i64, per row (batch, m): keys from `end` on are masked, if there are at most 2^31 keys (i32 indices). May be
  // negative or beyond the last key.
  ExprId end;
  bool never;    // the score of masked keys is -inf
  ExprId score;  // Attention::score of masked keys; it reads no factor
};

// nullopt in three cases: no part of the scores has that form; a key's weight is more than its exponential (the weight
// of a masked key could be NaN); or reading a masked key may fault. Adds expressions to `plan`.
std::optional<MaskedKeys> FindMaskedKeys(KernelPlan& plan, const Attention& attention);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_IDIOMS_MASKED_KEYS_H_
