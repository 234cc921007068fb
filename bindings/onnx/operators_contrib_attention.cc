// Attention of the domain com.microsoft, as onnxruntime's tools fuse it.
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/onnx/attention.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Concat;
using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

// 0 stands for the default.
std::optional<double> ScaleOf(const Node& node) {
  const double scale = node.Float("scale");
  return scale == 0 ? std::nullopt : std::optional(scale);
}

// Operands of attention; the first `past` of the T keys and values are of earlier runs.
struct Heads {
  Tensor query, key, value;  // [B, N, S, D], [B, N, T, D], [B, N, T, E]
  Dim past;
};

// The keys that a mask of lengths [B], or of ends and starts [2 * B], leaves: [B, 1, 1, T].
Tensor KeysWithin(const Node& node, const Tensor& mask, const Dim& batch, const Dim& keys) {
  Dims& dims = node.dims();
  const Tensor index = IndexOf(node.builder(), {keys});
  const auto bound = [&](const Dim& start) {
    return Reshape(Cast(SliceAxis(mask, 0, start, batch), DType::kI64), {batch, 1, 1, 1});
  };
  if (dims.IsEqual(mask.dim(0), batch) != true && node.type() == "Attention") {
    if (dims.IsEqual(mask.dim(0), dims.Mul(batch, 2)) == true) return (index < bound(0)) & (index >= bound(batch));
  }
  if (dims.IsEqual(mask.dim(0), dims.Add(dims.Mul(batch, 3), 2)) == true) {
    Unsupported("a mask of shape [3 * batch + 2] is not supported");
  }
  DemandDim(node, mask.dim(0), batch, "the length of the mask");
  return index < bound(0);
}

// What a mask adds to scores [B, N, S, T].
Tensor BiasOfMask(const Node& node, const Tensor& mask, const Tensor& scores) {
  const Dim batch = scores.dim(0), queries = scores.dim(2), keys = scores.dim(3);
  Tensor shown;
  if (mask.rank() == 1) {
    shown = KeysWithin(node, mask, batch, keys);
  } else if (mask.rank() == 2 || mask.rank() == 3) {
    DemandDim(node, mask.dim(0), batch, "the batch of the mask");
    if (mask.rank() == 3) DemandDim(node, mask.dim(1), queries, "the number of queries of the mask");
    DemandDim(node, mask.dim(-1), keys, "the number of keys of the mask");
    shown = Reshape(mask, {batch, 1, mask.rank() == 3 ? queries : Dim(1), keys});
    if (shown.dtype() != DType::kBool) shown = shown > 0;
  } else {
    Unsupported("a mask of rank " + std::to_string(mask.rank()) + " is not supported");
  }
  return Select(shown, node.builder().Scalar(scores.dtype(), 0), node.Float("mask_filter_value"));
}

struct Attended {
  Tensor out;     // [B, S, N * E]
  Tensor scores;  // [B, N, S, T], masked
};

// Attention of as many heads of keys as of queries, with a mask and an attention bias, which may be absent.
Attended Attend(const Node& node, const Heads& heads, const Tensor& mask, const Tensor& bias) {
  Builder& builder = node.builder();
  Tensor scores = Scores(heads.query, heads.key, ScaleOf(node));
  const Shape shape = {heads.query.dim(0), heads.query.dim(1), heads.query.dim(2), heads.key.dim(2)};
  scores = Reshape(scores, shape);
  if (bias) scores = scores + BiasOf(node, bias, shape, scores.dtype());
  if (mask) scores = scores + BiasOfMask(node, mask, scores);
  if (node.Flag("unidirectional")) {
    DemandDim(node, shape[3], node.dims().Add(heads.past, shape[2]), "the number of keys of unidirectional attention");
    const Tensor last = IndexOf(builder, {shape[2], 1}) + builder.Number(heads.past);
    scores = Select(IndexOf(builder, {shape[3]}) <= last, scores, -kInfinity);
  }
  scores = Reshape(scores, shape);
  const Tensor y = Dot(Softmax(scores, -1), heads.value);
  return {JoinHeads(Reshape(y, {shape[0], shape[1], shape[2], heads.value.dim(3)})), scores};
}

// Sizes of projected queries, keys and values.
struct Projected {
  Dim queries, values;  // keys are like queries
};

Projected ProjectedSizes(const Node& node, const Dim& all, int64_t heads) {
  if (!node.Has("qkv_hidden_sizes")) {
    const Dim each = node.dims().FloorDiv(all, 3);
    return {each, each};
  }
  const std::vector<int64_t> sizes = node.Ints("qkv_hidden_sizes", {});
  if (sizes.size() != 3) Fail("qkv_hidden_sizes has " + std::to_string(sizes.size()) + " elements, not 3");
  for (int64_t size : sizes) {
    if (size < 1 || size % heads != 0) {
      Fail("a hidden size is " + std::to_string(size) + " for " + std::to_string(heads) + " heads");
    }
  }
  if (sizes[0] != sizes[1]) Fail("the hidden sizes of queries and keys differ");
  return {sizes[0], sizes[2]};
}

// Keys (0) or values (1) of a past [2, B, N, P, D].
Tensor PastOf(const Tensor& past, int64_t which) {
  if (!past) return past;
  return Reshape(SliceAxis(past, 0, which, 1), {past.dim(1), past.dim(2), past.dim(3), past.dim(4)});
}

Tensors Attention(const Node& node) {
  const Tensor &input = node[0], &weights = node[1], &bias = node[2], &mask = node[3], &past = node[4];
  RefuseFlag(node, "do_rotary");
  RefuseFlag(node, "past_present_share_buffer");
  RefuseOperand(node, 6, "past_sequence_length");
  DemandRank(input, 3, "the operand");
  DemandRank(weights, 2, "the weights");
  if (past) DemandRank(past, 5, "the past");
  const int64_t count = HeadsOf(node, "num_heads");
  const Projected sizes = ProjectedSizes(node, weights.dim(1), count);
  const Dim start = node.dims().Mul(sizes.queries, 2);
  DemandDim(node, weights.dim(1), node.dims().Add(start, sizes.values), "the number of columns of the weights");

  Tensor all = Dot(input, weights);
  if (bias) all = all + bias;
  const auto part = [&](const Dim& first, const Dim& size) {
    return SplitHeads(SliceAxis(all, 2, first, size), count);
  };
  Heads heads = {part(0, sizes.queries), part(sizes.queries, sizes.queries), part(start, sizes.values), 0};
  if (past) {
    heads.past = past.dim(3);
    heads.key = After(node, PastOf(past, 0), heads.key, "the past");
    heads.value = After(node, PastOf(past, 1), heads.value, "the past");
  }
  Tensors out = {Attend(node, heads, mask, node[5]).out, {}};
  if (node.WantsOutput(1)) {
    const auto row = [](const Tensor& x) { return Reshape(x, {1, x.dim(0), x.dim(1), x.dim(2), x.dim(3)}); };
    out[1] = Concat({row(heads.key), row(heads.value)}, 0);
  }
  return out;
}

// Part `index` of packed [B, L, N, parts, D], as [B, L, N * D].
Tensor Unpacked(const Node& node, const Tensor& x, int64_t index) {
  DemandRank(x, 5, "a packed operand");
  return Reshape(SliceAxis(x, 3, index, 1), {x.dim(0), x.dim(1), node.dims().Mul(x.dim(2), x.dim(4))});
}

// Queries, keys and values [B, S, N * D] of MultiHeadAttention before their bias. Keys and values may be of rank 4.
Tensors SeparateOperands(const Node& node) {
  const Tensor &query = node[0], &key = node[1], &value = node[2];
  if (!key) {
    if (value) Fail("there are values but no keys");
    DemandDim(node, query.rank() == 5 ? query.dim(3) : Dim(0), 3, "the number of packed operands");
    return {Unpacked(node, query, 0), Unpacked(node, query, 1), Unpacked(node, query, 2)};
  }
  DemandRank(query, 3, "the query");
  if (value) {
    if (value.rank() != key.rank()) Fail("keys have another rank than values");
    if (key.rank() != 4) DemandRank(key, 3, "the key");
    return {query, key, value};
  }
  DemandDim(node, key.rank() == 5 ? key.dim(3) : Dim(0), 2, "the number of packed operands");
  return {query, Unpacked(node, key, 0), Unpacked(node, key, 1)};
}

Tensors MultiHeadAttention(const Node& node) {
  RefuseOperand(node, 8, "past_sequence_length");
  RefuseOperand(node, 9, "cache_indirection");
  const int64_t count = HeadsOf(node, "num_heads");
  const Tensors operands = SeparateOperands(node);
  const Tensor &bias = node[3], &past_key = node[6], &past_value = node[7];
  if (bias) DemandRank(bias, 1, "the bias");
  const bool apart = operands[1].rank() == 4;  // keys and values are in heads, and have their bias
  if (apart && (past_key || past_value)) Unsupported("keys of rank 4 beside past ones are not supported");
  if (static_cast<bool>(past_key) != static_cast<bool>(past_value)) Fail("past keys and past values come together");

  Tensor parts[3];
  Dim start = 0;
  for (size_t i = 0; i < 3; ++i) {
    Tensor x = operands[i];
    if (x.rank() == 3) {
      if (bias) x = x + SliceAxis(bias, 0, start, x.dim(2));
      start = node.dims().Add(start, x.dim(2));
      x = SplitHeads(x, count);
    }
    parts[i] = x;
  }
  if (bias && !apart) DemandDim(node, bias.dim(0), start, "the size of the bias");
  const Heads heads = {parts[0], After(node, past_key, parts[1], "the past keys"),
                       After(node, past_value, parts[2], "the past values"), past_key ? past_key.dim(2) : Dim(0)};
  DemandDim(node, heads.key.dim(1), count, "the number of heads of keys");
  DemandDim(node, heads.value.dim(1), count, "the number of heads of values");
  const Attended attended = Attend(node, heads, node[4], node[5]);
  Tensors out = {attended.out, heads.key, heads.value, {}};
  if (node.WantsOutput(3)) {
    const double lowest = heads.query.dtype() == DType::kF16 ? -65504 : -std::numeric_limits<float>::max();
    out[3] = Max(attended.scores, lowest);
  }
  return out;
}

Tensors RotaryEmbedding(const Node& node) {
  const Tensor &input = node[0], &cosine = node[2], &sine = node[3];
  Dims& dims = node.dims();
  DemandCaches(node, cosine, sine);
  const Dim rotated = dims.Mul(cosine.dim(1), 2);
  const int64_t wanted = node.Int("rotary_embedding_dim");
  if (wanted != 0) DemandDim(node, rotated, wanted, "twice the number of cosines");
  Tensor x = input;
  const bool heads_first = input.rank() == 4;
  if (!heads_first) {
    DemandRank(input, 3, "the operand");
    // Without rotary_embedding_dim whole heads are rotated, so that the caches give their size.
    const Dim size = wanted == 0 ? rotated : dims.FloorDiv(input.dim(2), HeadsOf(node, "num_heads"));
    const auto heads = dims.Quotient(input.dim(2), size);
    if (!heads) Unsupported("a number of cosines that is not known is not supported");
    x = Reshape(input, {input.dim(0), input.dim(1), *heads, size});
  }
  const Dim length = input.dim(heads_first ? 2 : 1);
  Tensor positions = node[1];
  if (positions.rank() == 1) {
    DemandDim(node, positions.dim(0), 1, "the number of positions");
    positions = Reshape(positions, {1, 1}) + Reshape(IndexOf(node.builder(), {length}), {1, length});
  }
  DemandRank(positions, 2, "the operand position_ids");
  const Tensor y = Rotated(x, rotated, AtPositions(cosine, positions, heads_first),
                           AtPositions(sine, positions, heads_first), node.Flag("interleaved"));
  return {Reshape(y, input.shape())};
}

constexpr OperatorRow kContribAttentionRows[] = {
    {"com.microsoft", "Attention", 1, "input weights bias? mask_index? past? attention_bias? past_sequence_length?",
     "output present?",
     "do_rotary:int=0 mask_filter_value:float=-10000.0 num_heads:int! past_present_share_buffer:int=0 "
     "qkv_hidden_sizes:ints rotary_embedding_dim:int=0 scale:float=0.0 unidirectional:int=0",
     Attention},
    {"com.microsoft", "MultiHeadAttention", 1,
     "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? past_sequence_length? "
     "cache_indirection?",
     "output present_key? present_value? qk?",
     "mask_filter_value:float=-10000.0 num_heads:int! scale:float=0.0 unidirectional:int=0", MultiHeadAttention},
    {"com.microsoft", "RotaryEmbedding", 1, "input position_ids cos_cache sin_cache", "output",
     "interleaved:int=0 is_packed_batching:int=0 num_heads:int=0 rotary_embedding_dim:int=0 scale:float=1.0",
     RotaryEmbedding},
};

}  // namespace

std::span<const OperatorRow> AttentionContribOperators() { return kContribAttentionRows; }

}  // namespace tailor::onnx
