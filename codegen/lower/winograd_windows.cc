#include "codegen/lower/winograd_windows.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "codegen/contract/panels.h"
#include "graph/finite_constant.h"

namespace tailor::lower {
namespace {

constexpr int64_t kLeastChannels = 16, kFewWindows = 16;

// [batch..., C, H, W, 3, 3] moved to [batch..., C, 3, 3, H, W].
bool MovesWindowsForward(const std::vector<int64_t>& permutation) {
  const int64_t rank = static_cast<int64_t>(permutation.size());
  std::vector<int64_t> expected(permutation.size());
  std::iota(expected.begin(), expected.end(), 0);
  if (rank < 4) return false;
  std::rotate(expected.end() - 4, expected.end() - 2, expected.end());
  return permutation == expected;
}

// The dilation of windows over the last two dims with stride 1; nullopt if they are others.
std::optional<int> DilationOf(const Node& windows) {
  const std::vector<int64_t>&strides = windows.i64s("strides"), &dilations = windows.i64s("dilations");
  const int64_t rank = static_cast<int64_t>(windows.results[0].shape.size()) - 2;
  if (windows.i64s("axes") != std::vector<int64_t>{rank - 2, rank - 1}) return std::nullopt;
  if (std::any_of(strides.begin(), strides.end(), [](int64_t stride) { return stride != 1; })) return std::nullopt;
  if (dilations.empty()) return 1;
  const int64_t dilation = dilations[0];
  if (dilations[1] != dilation || (dilation != 1 && dilation != 2 && dilation != 4)) return std::nullopt;
  return static_cast<int>(dilation);
}

}  // namespace

std::optional<WinogradWindows> FindWinogradWindows(const Graph& graph, const ShapeFacts& facts,
                                                   const FusionGroup& group) {
  const Node& dot = graph.node(group.dominant);
  if (dot.results[0].dtype != DType::kF32 || dot.i64("transpose_lhs") == 0) return std::nullopt;
  if (graph.node(dot.operands[1].node).op != OpKind::kConstant) return std::nullopt;
  if (IsNonFiniteConstant(graph, dot.operands[1])) return std::nullopt;  // it would make every point NaN
  const auto view = [&](Value value, OpKind op) -> const Node* {
    const Node& node = graph.node(value.node);
    const bool inside = std::binary_search(group.nodes.begin(), group.nodes.end(), value.node);
    return inside && node.op == op ? &node : nullptr;
  };
  const Node* columns = view(dot.operands[0], OpKind::kReshape);
  const Node* moved = columns == nullptr ? nullptr : view(columns->operands[0], OpKind::kTranspose);
  const Node* windows = moved == nullptr ? nullptr : view(moved->operands[0], OpKind::kWindow);
  if (windows == nullptr || !MovesWindowsForward(moved->i64s("permutation"))) return std::nullopt;
  const std::optional<int> dilation = DilationOf(*windows);
  if (!dilation) return std::nullopt;

  // [N, C, H, W, 3, 3] as the matrices [N, 1, C * 9, H * W], or [N, D, C, H, W, 3, 3] as [N, D, C * 9, H * W].
  const Shape& shape = windows->results[0].shape;
  const Shape& matrix = columns->results[0].shape;
  const size_t batch = shape.size() - 5;
  if (matrix.size() != 4 || batch < 1 || batch > 2) return std::nullopt;
  const DimExpr &channels = shape[batch], &height = shape[batch + 1], &width = shape[batch + 2];
  const DimExpr window = kWinogradWindow;
  if (shape[batch + 3] != window || shape[batch + 4] != window || !facts.ProvablyEqual(matrix[0], shape[0]) ||
      !facts.ProvablyEqual(matrix[1], batch == 2 ? shape[1] : DimExpr(1)) ||
      !facts.ProvablyEqual(matrix[2], channels * window * window) || !facts.ProvablyEqual(matrix[3], height * width)) {
    return std::nullopt;
  }
  const Shape& weights = graph.type(dot.operands[1]).shape;
  if (ElementCount(Shape(weights.begin(), weights.end() - 2)) != DimExpr(1)) return std::nullopt;
  const int64_t few = kFewWindows * *dilation * *dilation;
  if (facts.RangeOf(height * width).max <= few) return std::nullopt;
  const auto inputs = channels.constant(), results = dot.results[0].shape.back().constant();
  if (!inputs || !results || *inputs < kLeastChannels || *results < kLeastChannels) return std::nullopt;
  return WinogradWindows{moved->operands[0].node, *dilation};
}

}  // namespace tailor::lower
