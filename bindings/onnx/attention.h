// What the attention operators of several domains share: heads, scores, rotary position embeddings.
//
// Sizes: B batches, S or M queries, N or T keys, D elements of a head.
#ifndef TAILOR_BINDINGS_ONNX_ATTENTION_H_
#define TAILOR_BINDINGS_ONNX_ATTENTION_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "bindings/onnx/node.h"

namespace tailor::onnx {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// An attribute that is a number of heads.
int64_t HeadsOf(const Node& node, const char* attribute);

// A dim that is another, or must be in every run.
void DemandDim(const Node& node, const frontend::Dim& dim, const frontend::Dim& wanted, const std::string& what);
void RefuseOperand(const Node& node, int index, const std::string& name);
void RefuseFlag(const Node& node, const std::string& attribute);

// [B, S, heads * D] as [B, heads, S, D].
frontend::Tensor SplitHeads(const frontend::Tensor& x, int64_t heads);
// [B, H, S, D] as [B, S, H * D].
frontend::Tensor JoinHeads(const frontend::Tensor& x);

// Heads of queries share heads of keys: query head h reads key head h / each.
struct Groups {
  frontend::Dim heads, keys, each;

  bool alike() const { return each.is(1); }
};
Groups GroupsOf(const Node& node, const frontend::Dim& heads, const frontend::Dim& keys);

// x [B, heads, S, D] as [B, keys, each, S, D], so that matmuls with keys and values broadcast instead of copying them.
frontend::Tensor Grouped(const frontend::Tensor& x, const Groups& groups);
// Keys or values [B, keys, S, D] beside that.
frontend::Tensor Shared(const frontend::Tensor& x, const Groups& groups);
// A tensor that broadcasts to [B, heads, M, N] as one that broadcasts to [B, keys, each, M, N].
frontend::Tensor GroupedMask(frontend::Tensor mask, const Groups& groups);

// query key^T * scale; by default 1 / sqrt(D). The product of f16 might overflow before it is scaled; then the query is
// scaled.
frontend::Tensor Scores(const frontend::Tensor& query, const frontend::Tensor& key, std::optional<double> scale);

// Keys or values [B, N, S, D] after those of the past [B, N, P, D], which may be absent.
frontend::Tensor After(const Node& node, const frontend::Tensor& past, const frontend::Tensor& x,
                       const std::string& what);
// An attention bias [B or 1, N or 1, S, T] that is added to scores of the shape [B, N, S, T].
frontend::Tensor BiasOf(const Node& node, const frontend::Tensor& bias, const frontend::Shape& shape, DType dtype);

// Fails unless the caches are [max, half] both.
void DemandCaches(const Node& node, const frontend::Tensor& cosine, const frontend::Tensor& sine);
// Cosines or sines [max, half] at positions [B or 1, S], for x [B, N, S, D], or [B, S, N, D].
frontend::Tensor AtPositions(const frontend::Tensor& cache, const frontend::Tensor& positions, bool heads_first);
// x of rank 4 with the first `rotated` elements of its rows rotated. The cosines and sines broadcast to x but for
// their last dim, which is rotated / 2. Interleaved: element 2 * i turns with 2 * i + 1, else i with i + rotated / 2.
frontend::Tensor Rotated(const frontend::Tensor& x, const frontend::Dim& rotated, const frontend::Tensor& cosine,
                         const frontend::Tensor& sine, bool interleaved);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_ATTENTION_H_
