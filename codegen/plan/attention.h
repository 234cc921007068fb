// The operands of attention, whose axes AttentionForm states: two matmuls with a softmax between them, for each point
// (batch, m) of rows and each column v,
//   scores(n) = sum over d of query(m, d) * key(d, n)
//   top       = max over n of score(scores(n))
//   e(n)      = exp(score(scores(n)) - top)
//   total     = sum over n of e(n)
//   mixed(v)  = sum over n of weight(e(n)) * value(n, v)
//   result(v) = mixed(v) * scale(total), which the later stages store.
// `score` is any expression (scale, mask, bias), `weight` is linear in e, and `scale` depends on the row alone. Its
// locals are one for each point of the axes on which they depend. With the maximum as known so far in the place of
// `top`, one walk of n suffices: whenever it grows, what has been summed is multiplied by exp(old - new) (Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018; FlashAttention, Dao et al. 2022, section 3.1).
#ifndef TAILOR_CODEGEN_PLAN_ATTENTION_H_
#define TAILOR_CODEGEN_PLAN_ATTENTION_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

struct Attention {
  std::vector<int> batch;  // axes, outer first
  int m, v, n, d;
  ExprId query, key, value;  // factors, of `operand`, at (batch, m, d), (batch, n, d) and (batch, n, v)
  ExprId score, weight;  // at (batch, m, n), of locals `scores` and `e`; the latter f32, not yet rounded to `operand`
  ExprId scale;          // at (batch, m), of locals `total` and `top`
  int scores, top, e, total;  // kLocal buffers, all f32
  int result;                 // likewise: mixed * scale
  DType operand;
  size_t epilogue;  // the first stage that stores
};

// Of a verified plan whose form is AttentionForm (codegen/lower/join_attention.h makes them).
Attention AttentionOf(const KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_ATTENTION_H_
