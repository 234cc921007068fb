// The parts of an attention kernel, whose axes AttentionForm states: two matmuls with a softmax between them. For each
// point (batch, m) of rows and each column v:
//   scores(n) = sum over d of query(m, d) * key(d, n)
//   row_max   = max over n of score(scores(n))
//   e(n)      = exp(score(scores(n)) - row_max)
//   row_sum   = sum over n of e(n)
//   mixed(v)  = sum over n of weight(e(n)) * value(n, v)
//   result(v) = mixed(v) * scale(row_sum), which the later stages store.
// `score` is any expression (scale, mask, bias), `weight` is linear in e, and `scale` depends only on the row. A local
// has one value per point of the axes that it depends on. Online softmax needs one pass over n: `row_max` is replaced
// by the running maximum, and whenever it grows, the sums are multiplied by exp(old - new). Sources: Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018; FlashAttention, Dao et al. 2022, section 3.1.
#ifndef TAILOR_CODEGEN_PLAN_ATTENTION_H_
#define TAILOR_CODEGEN_PLAN_ATTENTION_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

struct Attention {
  std::vector<int> batch;  // axes, outer first
  int m, v, n, d;
  ExprId query, key, value;  // factors, as `operand`, at (batch, m, d), (batch, n, d) and (batch, n, v)
  ExprId score, weight;  // at (batch, m, n), of locals `scores` and `e`; weight in f32, not yet rounded to `operand`
  ExprId scale;          // at (batch, m), of locals `row_sum` and `row_max`
  int scores, row_max, e, row_sum;  // kLocal buffers, all f32
  int result;                       // kLocal, f32: mixed * scale
  DType operand;
  size_t epilogue;  // the first stage that stores
};

// Requires a verified plan with AttentionForm (made by codegen/lower/join_attention.h).
Attention AttentionOf(const KernelPlan& plan);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_ATTENTION_H_
