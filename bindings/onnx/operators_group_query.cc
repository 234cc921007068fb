// GroupQueryAttention of the domain com.microsoft: attention with a cache of keys and values that grows.
#include <optional>
#include <string>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/onnx/attention.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Builder;
using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

// What GroupQueryAttention's operands are: rows of the past, new ones, and where each batch has them.
class GroupQuery {
 public:
  explicit GroupQuery(const Node& node)
      : node_(node),
        builder_(node.builder()),
        queries_(HeadsOf(node, "num_heads")),
        keys_(HeadsOf(node, "kv_num_heads")) {
    RefuseVariants();
    Separate();
    const Tensor &past_key = node[3], &past_value = node[4];
    if (static_cast<bool>(past_key) != static_cast<bool>(past_value)) Fail("past keys and past values come together");
    if (past_key) {
      DemandRank(past_key, 4, "the past keys");
      DemandRank(past_value, 4, "the past values");
      past_ = past_key.dim(2);
      DemandDim(node, past_value.dim(2), past_, "the number of past values");
    }
    total_ = node.dims().Add(past_, query_.dim(2));
    DemandGrowingCache();
    Locate();
    if (node.Flag("do_rotary")) Rotate();
    key_ = WithPast(past_key, key_, "the past keys");
    value_ = WithPast(past_value, value_, "the past values");
  }

  Tensors operator()() const {
    const Groups groups = GroupsOf(node_, queries_, keys_);
    const double given = node_.Float("scale");  // 0 stands for the default
    const auto scale = given == 0 ? std::nullopt : std::optional(given);
    Tensor scores = Scores(Grouped(query_, groups), Shared(key_, groups), scale);
    const double cap = node_.Float("softcap");
    if (cap > 0) scores = Tanh(scores / cap) * cap;
    const Dim batch = query_.dim(0), length = query_.dim(2);
    if (node_[10]) {
      const Tensor bias = BiasOf(node_, node_[10], {batch, queries_, length, total_}, scores.dtype());
      scores = scores + GroupedMask(bias, groups);
    }
    scores = Masked(scores, groups);
    const Tensor y = Dot(Weights(scores, groups), Shared(value_, groups));
    return {JoinHeads(Reshape(y, {batch, queries_, length, value_.dim(3)})), key_, value_};
  }

 private:
  void RefuseVariants() const {
    RefuseFlag(node_, "sliding_window_cache");
    RefuseOperand(node_, 12, "k_scale");
    RefuseOperand(node_, 13, "v_scale");
    RefuseOperand(node_, 14, "q_norm_weight");
    RefuseOperand(node_, 15, "k_norm_weight");
    if (node_.String("k_quant_type") != "NONE" || node_.String("v_quant_type") != "NONE") {
      Unsupported("a quantized cache is not supported");
    }
    if (node_.WantsOutput(3)) Unsupported("the result output_qk is not supported");
  }

  void Separate() {
    const Tensor &query = node_[0], &key = node_[1], &value = node_[2];
    if (static_cast<bool>(key) != static_cast<bool>(value)) Fail("keys and values come together");
    DemandRank(query, 3, "the query");
    if (key) {
      query_ = SplitHeads(query, queries_);
      key_ = SplitHeads(key, keys_);
      value_ = SplitHeads(value, keys_);
      DemandDim(node_, key_.dim(2), query_.dim(2), "the number of new keys");
      return;
    }
    Dims& dims = node_.dims();
    const Dim pairs = dims.Mul(keys_, 2), all = dims.Add(queries_, pairs);
    const auto size = dims.Quotient(query.dim(2), all);
    if (!size) Unsupported("a number of heads that is not known is not supported");
    const auto part = [&](const Dim& first, int64_t heads) {
      return SplitHeads(SliceAxis(query, 2, dims.Mul(first, *size), dims.Mul(heads, *size)), heads);
    };
    query_ = part(0, queries_);
    key_ = part(queries_, keys_);
    value_ = part(dims.Add(queries_, keys_), keys_);
  }

  // Present rows are those of the past and the new ones. Buffers that past and present share have room for all.
  void DemandGrowingCache() const {
    Dims& dims = node_.dims();
    const auto given = node_.Parts(node_.ScalarOf(node_[6]), "total_sequence_length");
    const Dim length = builder_.DimOf(given.at(0));
    const auto equal = dims.IsEqual(length, total_);
    if (equal == false || dims.IsEqual(length, past_) == true) {
      Unsupported("past and present of the same length (a shared buffer) are not supported: total_sequence_length is " +
                  dims.Text(length) + ", the past and the new rows are " + dims.Text(total_));
    }
    if (!equal) dims.AssumeEqual(length, total_);
  }

  // The number of past rows of each batch: fewer than P where batches have different lengths. In a prompt, whose
  // shorter batches end with padding, there are none.
  void Locate() {
    const Tensor& lengths = node_[5];
    const Dim batch = query_.dim(0);
    DemandDim(node_, node_.dims().Product(lengths.shape()), batch, "the number of elements of seqlens_k");
    alike_ = batch.is(1) || !node_[3];
    if (alike_) {
      before_ = Reshape(builder_.Number(past_), {1, 1});
    } else {
      const Tensor last = Reshape(Cast(lengths, DType::kI64), {batch, 1});
      before_ = Max(last + 1 - builder_.Number(query_.dim(2)), 0);
    }
  }

  void Rotate() {
    const Tensor &cosine = node_[7], &sine = node_[8];
    DemandCaches(node_, cosine, sine);
    const Dim length = query_.dim(2);
    Tensor positions = before_ + Reshape(IndexOf(builder_, {length}), {1, length});
    if (node_[9]) {
      positions = node_[9];
      DemandRank(positions, 2, "the operand position_ids");
    }
    const Dim rotated = node_.dims().Mul(cosine.dim(1), 2);
    const Tensor cosines = AtPositions(cosine, positions, true), sines = AtPositions(sine, positions, true);
    const bool interleaved = node_.Flag("rotary_interleaved");
    query_ = Rotated(query_, rotated, cosines, sines, interleaved);
    key_ = Rotated(key_, rotated, cosines, sines, interleaved);
  }

  // Past rows [B, N, P, D] and new ones. A batch with fewer past rows than P has the first new row in their place: it
  // is the only one, since onnxruntime takes such batches token by token. Rows after it are hidden.
  Tensor WithPast(const Tensor& past, const Tensor& rows, const std::string& what) const {
    if (!past) return rows;
    const Tensor all = After(node_, past, rows, what);
    DemandDim(node_, past.dim(1), keys_, "the number of heads of " + what);
    if (alike_) return all;
    const Tensor index = IndexOf(builder_, {total_});
    const Tensor kept = (index < Reshape(before_, {rows.dim(0), 1, 1})) | (index >= builder_.Number(past_));
    return Select(Reshape(kept, {rows.dim(0), 1, total_, 1}), all, SliceAxis(rows, 2, 0, 1));
  }

  // Scores [B, ..., S, T], -inf for keys that a query does not see.
  Tensor Masked(Tensor scores, const Groups& groups) const {
    const int64_t window = node_.Int("local_window_size");
    const Tensor index = IndexOf(builder_, {total_});
    Shape shape(groups.alike() ? 4 : 5, 1);
    if (!alike_) shape[0] = query_.dim(0);
    if (!node_.Flag("causal")) {
      if (window != -1) Fail("local_window_size is " + std::to_string(window) + " for attention that is not causal");
      const Tensor count = Cast(node_[5], DType::kI64) + 1;
      shape[0] = query_.dim(0);
      return Select(index < Reshape(count, shape), scores, -kInfinity);
    }
    Tensor last = IndexOf(builder_, {query_.dim(2), 1});
    last = last + (alike_ ? builder_.Number(past_) : Reshape(before_, shape));
    scores = Select(index <= last, scores, -kInfinity);
    if (window == -1) return scores;
    if (window < 1 || window > frontend::kLargestDim) Fail("local_window_size is " + std::to_string(window));
    return Select(index > last - window, scores, -kInfinity);
  }

  // Softmax of scores; a sink adds to its denominator.
  Tensor Weights(const Tensor& scores, const Groups& groups) const {
    Tensor sink = node_[11];
    if (!sink && node_.Int("smooth_softmax") != 1) return Softmax(scores, -1);
    if (!sink) {
      sink = builder_.Scalar(scores.dtype(), 0);
    } else {
      DemandRank(sink, 1, "the operand head_sink");
      DemandDim(node_, sink.dim(0), queries_, "the size of head_sink");
      sink = GroupedMask(Reshape(sink, {1, queries_, 1, 1}), groups);
    }
    return frontend::ThroughF32(scores, [&](const Tensor& wide) {
      const Tensor level = Cast(sink, wide.dtype());
      const Tensor most = Max(Reduce(ReduceOp::kMax, wide, {-1}, true), level);
      const Tensor exponentials = Exp(wide - most);
      return exponentials / (Reduce(ReduceOp::kSum, exponentials, {-1}, true) + Exp(level - most));
    });
  }

  const Node& node_;
  Builder& builder_;
  int64_t queries_, keys_;      // heads
  Tensor query_, key_, value_;  // [B, heads, S, D]; keys and values with past rows once the object is made
  Dim past_, total_;            // P, P + S
  bool alike_ = true;           // each batch has P past rows
  Tensor before_;               // past rows of each batch, i64 [B or 1, 1]
};

Tensors GroupQueryAttention(const Node& node) { return GroupQuery(node)(); }

constexpr OperatorRow kGroupQueryRows[] = {
    {"com.microsoft", "GroupQueryAttention", 1,
     "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? sin_cache? position_ids? "
     "attention_bias? head_sink? k_scale? v_scale? q_norm_weight? k_norm_weight?",
     "output present_key? present_value? output_qk?",
     "causal:int=1 do_rotary:int=0 k_quant_type:string=NONE kv_cache_bit_width:int=0 kv_num_heads:int! "
     "local_window_size:int=-1 num_heads:int! qk_norm_epsilon:float=1e-6 qk_output:int=0 rotary_interleaved:int=0 "
     "scale:float=0.0 sliding_window_cache:int=0 smooth_softmax:int=-1 softcap:float=0.0 v_quant_type:string=NONE",
     GroupQueryAttention},
};

}  // namespace

std::span<const OperatorRow> GroupQueryOperators() { return kGroupQueryRows; }

}  // namespace tailor::onnx
