// Attention, its position embeddings, and its relatives that keep a state.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/frontend/loop.h"
#include "bindings/onnx/attention.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/convolution.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Closure;
using frontend::Concat;
using frontend::Dim;
using frontend::Dims;
using frontend::Element;
using frontend::Fail;
using frontend::Loop;
using frontend::LoopStep;
using frontend::NamedTensor;
using frontend::ReduceOp;
using frontend::Region;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

// A tensor of rank 3 apart in heads [B, heads, S, D]; one of rank 4 as it is.
Tensor InHeads(const Node& node, const Tensor& x, const char* heads_attribute) {
  return x.rank() == 4 ? x : SplitHeads(x, HeadsOf(node, heads_attribute));
}

// An attention mask with as many columns as there are keys; those that it lacks are hidden.
Tensor PaddedMask(const Node& node, const Tensor& mask, const Dim& keys) {
  if (mask.rank() == 0 || node.dims().IsEqual(mask.dim(-1), keys) == true) return mask;
  // Before opset 24, masks broadcast.
  if (node.opset() < 24 && (!mask.dim(-1).known() || mask.dim(-1).is(1))) return mask;
  const Shape low(mask.shape().size(), 0);
  Shape high = low;
  high.back() = node.dims().Sub(keys, mask.dim(-1));
  return mask.dtype() == DType::kBool ? Pad(mask, 0, low, high) : Pad(mask, -kInfinity, low, high);
}

// Scores [..., M, N] of queries that come after `past` keys, -inf where a mask hides the key.
Tensor Masked(const Node& node, Tensor scores, const Groups& groups, const Dim& past) {
  const Dim queries = scores.dim(-2), keys = scores.dim(-1);
  if (node[3]) {
    if (node[3].rank() > 4) Fail("the mask has rank " + std::to_string(node[3].rank()));
    const Tensor mask = GroupedMask(PaddedMask(node, node[3], keys), groups);
    scores = mask.dtype() == DType::kBool ? Select(mask, scores, -kInfinity) : scores + Cast(mask, scores.dtype());
  }
  Builder& builder = node.builder();
  if (node.Flag("is_causal")) {
    const Tensor last = IndexOf(builder, {queries, 1}) + builder.Number(past);
    scores = Select(IndexOf(builder, {keys}) <= last, scores, -kInfinity);
  }
  if (node[6]) {
    DemandRank(node[6], 1, "nonpad_kv_seqlen");
    Shape shape(scores.shape().size(), 1);
    shape[0] = node[6].dim(0);
    scores = Select(IndexOf(builder, {keys}) < Reshape(Cast(node[6], DType::kI64), shape), scores, -kInfinity);
  }
  return scores;
}

// Softmax computes f16 and bf16 in f32. Of the other precisions that a model may ask for only f64 is higher.
Tensor Weights(const Node& node, const Tensor& scores) {
  const bool wide = node.Has("softmax_precision") && node.TypeOf("softmax_precision") == DType::kF64;
  return wide ? Cast(Softmax(Cast(scores, DType::kF64), -1), scores.dtype()) : Softmax(scores, -1);
}

Tensors Attention(const Node& node) {
  const Tensor &past_key = node[4], &past_value = node[5];
  const bool joined = node[0].rank() == 3;
  const Tensor query = InHeads(node, node[0], "q_num_heads");
  Tensor key = InHeads(node, node[1], "kv_num_heads"), value = InHeads(node, node[2], "kv_num_heads");
  if (past_key) key = Concat({past_key, key}, 2);
  if (past_value) value = Concat({past_value, value}, 2);
  DemandDim(node, value.dim(1), key.dim(1), "the number of heads of V");
  Tensors out = {{}, key, value, {}};

  const int64_t mode = node.Int("qk_matmul_output_mode");
  if (mode < 0 || mode > 3) Fail("unknown qk_matmul_output_mode " + std::to_string(mode));
  const Groups groups = GroupsOf(node, query.dim(1), key.dim(1));
  const std::optional<double> scale = node.Has("scale") ? std::optional(node.Float("scale")) : std::nullopt;
  std::vector<Tensor> stages = {Scores(Grouped(query, groups), Shared(key, groups), scale)};
  const double cap = node.Float("softcap");
  stages.push_back(cap == 0 ? stages[0] : Tanh(stages[0] / cap) * cap);
  stages.push_back(Masked(node, stages[1], groups, past_key ? past_key.dim(2) : Dim(0)));
  stages.push_back(Weights(node, stages[2]));
  Tensor y = Dot(stages[3], Cast(Shared(value, groups), query.dtype()));
  y = Reshape(y, {query.dim(0), query.dim(1), query.dim(2), value.dim(3)});
  out[0] = joined ? JoinHeads(y) : y;
  if (node.WantsOutput(3)) {
    out[3] = Reshape(stages[static_cast<size_t>(mode)], {query.dim(0), query.dim(1), query.dim(2), key.dim(2)});
  }
  return out;
}

// The cosines or sines of each token, which broadcast to a tensor of rank 4; `half` of them.
Tensor Rotation(const Node& node, const Tensor& cache, const Dim& half, bool heads_first) {
  const Tensor rows = node[3] ? Gather(cache, node[3]) : cache;
  DemandRank(rows, 3, "a cache of cosines or sines, by token,");
  const bool fits = node.dims().IsEqual(rows.dim(2), half) == true;
  const Tensor used = fits ? rows : SliceAxis(rows, 2, 0, half);
  const Dim batch = used.dim(0), length = used.dim(1);
  return Reshape(used, heads_first ? Shape{batch, 1, length, half} : Shape{batch, length, 1, half});
}

Tensors RotaryEmbedding(const Node& node) {
  const Tensor& input = node[0];
  Dims& dims = node.dims();
  const bool heads_first = input.rank() == 4, interleaved = node.Flag("interleaved");
  Tensor x = input;
  if (!heads_first) {
    DemandRank(input, 3, "the operand");
    const int64_t heads = HeadsOf(node, "num_heads");
    x = Reshape(input, {input.dim(0), input.dim(1), heads, dims.FloorDiv(input.dim(2), heads)});
  }
  const Dim size = x.dim(3);
  const Dim rotated = node.Int("rotary_embedding_dim") == 0 ? size : Dim(node.Int("rotary_embedding_dim"));
  const Dim half = dims.FloorDiv(rotated, 2);
  const Tensor cosine = Rotation(node, node[1], half, heads_first), sine = Rotation(node, node[2], half, heads_first);
  return {Reshape(Rotated(x, rotated, cosine, sine, interleaved), input.shape())};
}

// A depthwise convolution of x [B, C, L] with its past [B, C, K - 1].
Tensors CausalConvWithState(const Node& node) {
  const Tensor &x = node[0], &weight = node[1], &bias = node[2], &past = node[3];
  DemandRank(x, 3, "the operand");
  DemandRank(weight, 3, "the weight");
  const Dim& channels = weight.dim(0);
  if (!channels.known()) Unsupported("a number of channels that is not known is not supported");
  const Dim before = node.dims().Sub(weight.dim(2), 1);
  const Tensor padded = past ? Concat({past, x}, 2) : Pad(x, 0, {0, 0, before}, {0, 0, 0});
  Tensor out = Convolution(node, padded, weight, channels.number(), bias, {});
  const std::string activation = node.String("activation");
  if (activation == "silu" || activation == "swish") {
    out = frontend::ThroughF32(out, [](const Tensor& y) { return y * Sigmoid(y); });
  } else if (activation != "none") {
    Fail("unknown activation \"" + activation + "\"");
  }
  return {out, SliceAxis(padded, 2, node.dims().Sub(padded.dim(2), before), before)};
}

// One token of linear attention. Its state is [B, H, K, V] for H heads of keys.
class LinearStep {
 public:
  LinearStep(const Node& node, DType dtype) : dtype_(dtype), queries_(HeadsOf(node, "q_num_heads")) {
    keys_ = HeadsOf(node, "kv_num_heads");
    if (queries_ % keys_ != 0) {
      Fail(std::to_string(queries_) + " heads of queries for " + std::to_string(keys_) + " of keys");
    }
    const std::string rule = node.String("update_rule");
    gated_ = rule == "gated" || rule == "gated_delta";
    delta_ = rule == "delta" || rule == "gated_delta";
    if (!gated_ && !delta_ && rule != "linear") Fail("unknown update_rule \"" + rule + "\"");
    if (gated_ != static_cast<bool>(node[4])) Fail("update_rule \"" + rule + "\" and the operand decay do not match");
    if (delta_ != static_cast<bool>(node[5])) Fail("update_rule \"" + rule + "\" and the operand beta do not match");
    scale_ = node.Float("scale");
  }

  int64_t queries() const { return queries_; }
  int64_t keys() const { return keys_; }

  struct Result {
    Tensor state, out;  // out: [B, heads of queries, V]
  };
  // `token`: query, key, value, decay and beta of the token, [B, heads * size] each; absent ones may be left out.
  Result operator()(const Tensor& before, const std::vector<Tensor>& token) const {
    Dims& dims = before.builder().dims();
    const Dim batch = before.dim(0), key_size = before.dim(2), value_size = before.dim(3);
    const Tensor query = Apart(token[0], keys_, dims.Mul(queries_ / keys_, key_size));
    const Tensor key = Apart(token[1], keys_, key_size);
    Tensor value = Apart(token[2], keys_, value_size), state = before;
    if (gated_) {
      const Tensor decay = Apart(token[3], keys_, dims.FloorDiv(token[3].dim(1), keys_));
      state = state * Reshape(Exp(decay), {batch, keys_, decay.dim(2), 1});
    }
    const Tensor column = Reshape(key, {batch, keys_, key_size, 1});
    if (delta_) {
      const Tensor beta = Apart(token[4], token[4].dim(1), 1);
      value = beta * (value - Reduce(ReduceOp::kSum, state * column, {2}));
    }
    state = state + column * Reshape(value, {batch, keys_, 1, value_size});
    const Tensor out = Dot(Reshape(query, {batch, keys_, queries_ / keys_, key_size}), state);
    return {state, Reshape(out, {batch, queries_, value_size}) * Scale(key_size, before.builder())};
  }

 private:
  // x [B, heads * size] as [B, heads, size].
  Tensor Apart(const Tensor& x, const Dim& heads, const Dim& size) const {
    return Reshape(Cast(x, dtype_), {x.dim(0), heads, size});
  }
  Tensor Scale(const Dim& key_size, Builder& builder) const {
    return scale_ != 0 ? builder.Scalar(dtype_, scale_) : Rsqrt(Cast(builder.Number(key_size), dtype_));
  }

  DType dtype_;
  int64_t queries_, keys_;
  bool gated_, delta_;
  double scale_;
};

// The token at `index`, of rank 0, of operands [B, T, size].
std::vector<Tensor> TokenAt(const std::vector<Tensor>& operands, const Tensor& index) {
  std::vector<Tensor> token;
  for (const Tensor& x : operands) token.push_back(x ? Gather(x, index, 1) : x);
  return token;
}

// The steps one after the other. Operands are [B, T, heads * size].
Tensors LinearAttention(const Node& node) {
  const Tensor &query = node[0], &past = node[3];
  const DType dtype = query.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Builder& builder = node.builder();
  Dims& dims = node.dims();
  const LinearStep step(node, dtype);
  const std::vector<Tensor> operands = {query, node[1], node[2], node[4], node[5]};
  for (const Tensor& x : operands) {
    if (x) DemandRank(x, 3, "an operand");
  }
  const Dim batch = query.dim(0), tokens = query.dim(1);
  const Shape shape = {batch, step.keys(), dims.FloorDiv(query.dim(2), step.queries()),
                       dims.FloorDiv(node[2].dim(2), step.keys())};
  if (past) DemandRank(past, 4, "the past state");
  const Tensor first = past ? Reshape(Cast(past, dtype), shape) : Broadcast(builder.Scalar(dtype, 0), shape);
  const DType state_dtype = past ? past.dtype() : query.dtype();
  const Shape joined = {batch, tokens, dims.Mul(step.queries(), shape[3])};
  if (tokens.is(1)) {
    const auto [state, out] = step(first, TokenAt(operands, builder.Number(0)));
    return {Reshape(Cast(out, query.dtype()), joined), Cast(state, state_dtype)};
  }
  std::vector<NamedTensor> named;
  for (const Tensor& x : operands) named.push_back({"operand", x});
  const Closure closure(builder, named, {first});
  const auto body = [&](Region&, const Tensors& captured, const Tensor& token, const Tensors& states) -> LoopStep {
    const auto [state, out] = step(states[0], TokenAt(captured, token));
    return {{}, {state}, {Cast(out, query.dtype())}};
  };
  const Loop loop = {closure, {"token", "state"}, {first}, body, Element(tokens), {}, {}};
  const auto results = AppendLoop(loop);
  return {Reshape(Transpose(results.rows[0], {1, 0, 2, 3}), joined), Cast(results.states[0], state_dtype)};
}

constexpr OperatorRow kAttentionRows[] = {
    {"", "Attention", 23, "Q K V attn_mask? past_key? past_value?", "Y present_key? present_value? qk_matmul_output?",
     "is_causal:int=0 kv_num_heads:int q_num_heads:int qk_matmul_output_mode:int=0 scale:float softcap:float=0.0 "
     "softmax_precision:int",
     Attention},
    {"", "Attention", 24, "Q K V attn_mask? past_key? past_value? nonpad_kv_seqlen?",
     "Y present_key? present_value? qk_matmul_output?",
     "is_causal:int=0 kv_num_heads:int q_num_heads:int qk_matmul_output_mode:int=0 scale:float softcap:float=0.0 "
     "softmax_precision:int",
     Attention},
    {"", "CausalConvWithState", 27, "input weight bias? past_state?", "output present_state", "activation:string=none",
     CausalConvWithState},
    {"", "LinearAttention", 27, "query key value past_state? decay? beta?", "output present_state",
     "chunk_size:int=64 kv_num_heads:int! q_num_heads:int! scale:float=0.0 update_rule:string=gated_delta",
     LinearAttention},
    {"", "RotaryEmbedding", 23, "X cos_cache sin_cache position_ids?", "Y",
     "interleaved:int=0 num_heads:int rotary_embedding_dim:int=0", RotaryEmbedding},
};

}  // namespace

std::span<const OperatorRow> AttentionOperators() { return kAttentionRows; }

}  // namespace tailor::onnx
