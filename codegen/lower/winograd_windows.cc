#include "codegen/lower/winograd_windows.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "codegen/contract/panels.h"
#include "graph/finite_constant.h"

namespace tailor::lower {
namespace {

constexpr int64_t kLeastChannels = 16, kFewWindows = 16;

// How the windows of an image become the columns of a matmul, or its rows.
struct ColumnsForm {
  size_t channels, height;                // dims of the image; the width follows the height
  std::vector<int64_t> permutation;       // of the windows
  size_t matrix_depth, matrix_positions;  // dims of the matrices
};

// 0, 1, ... `rank` - 1, of which the last `count` are rotated by `by`.
std::vector<int64_t> RotatedAtTheEnd(size_t rank, int count, int by) {
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.end() - count, order.end() - count + by, order.end());
  return order;
}

ColumnsForm FormOf(size_t rank, bool channels_last) {
  if (channels_last) {
    // [batch..., H, W, C, 3, 3] moved to [batch..., H, W, 3, 3, C], as [N, D, H * W, 9 * C].
    return {.channels = rank - 3,
            .height = rank - 5,
            .permutation = RotatedAtTheEnd(rank, 3, 1),
            .matrix_depth = 3,
            .matrix_positions = 2};
  }
  // [batch..., C, H, W, 3, 3] moved to [batch..., C, 3, 3, H, W], as [N, D, C * 9, H * W].
  return {.channels = rank - 5,
          .height = rank - 4,
          .permutation = RotatedAtTheEnd(rank, 4, 2),
          .matrix_depth = 2,
          .matrix_positions = 3};
}

// The dilation of windows over the dims from `height` on, with stride 1; nullopt if they are others.
std::optional<int> DilationOf(const Node& windows, size_t height) {
  const std::vector<int64_t>&strides = windows.i64s("strides"), &dilations = windows.i64s("dilations");
  const auto first = static_cast<int64_t>(height);
  if (windows.i64s("axes") != std::vector<int64_t>{first, first + 1}) return std::nullopt;
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
  if (dot.results[0].dtype != DType::kF32) return std::nullopt;
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
  if (windows == nullptr) return std::nullopt;

  // One batch dim, N, as the matrices [N, 1, ...]; or N and D.
  const Shape& shape = windows->results[0].shape;
  const Shape& matrix = columns->results[0].shape;
  const size_t batch = shape.size() - 5;
  if (matrix.size() != 4 || batch < 1 || batch > 2) return std::nullopt;
  const bool channels_last = dot.i64("transpose_lhs") == 0;
  const ColumnsForm form = FormOf(shape.size(), channels_last);
  const std::optional<int> dilation = DilationOf(*windows, form.height);
  if (!dilation || moved->i64s("permutation") != form.permutation) return std::nullopt;
  const DimExpr &channels = shape[form.channels], &height = shape[form.height], &width = shape[form.height + 1];
  const DimExpr window = kWinogradWindow;
  if (*(shape.end() - 2) != window || shape.back() != window || !facts.ProvablyEqual(matrix[0], shape[0]) ||
      !facts.ProvablyEqual(matrix[1], batch == 2 ? shape[1] : DimExpr(1)) ||
      !facts.ProvablyEqual(matrix[form.matrix_depth], channels * window * window) ||
      !facts.ProvablyEqual(matrix[form.matrix_positions], height * width)) {
    return std::nullopt;
  }
  const Shape& weights = graph.type(dot.operands[1]).shape;
  if (ElementCount(Shape(weights.begin(), weights.end() - 2)) != DimExpr(1)) return std::nullopt;
  const int64_t few = kFewWindows * *dilation * *dilation;
  if (facts.RangeOf(height * width).max <= few) return std::nullopt;
  const auto inputs = channels.constant(), results = dot.results[0].shape.back().constant();
  if (!inputs || !results || *inputs < kLeastChannels || *results < kLeastChannels) return std::nullopt;
  return WinogradWindows{moved->operands[0].node, *dilation, channels_last};
}

}  // namespace tailor::lower
