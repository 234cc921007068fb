// Windows over the spatial dims of x [N, C, D...], and convolutions.
#ifndef TAILOR_BINDINGS_ONNX_CONVOLUTION_H_
#define TAILOR_BINDINGS_ONNX_CONVOLUTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/onnx/node.h"

namespace tailor::onnx {

// How windows move over the dims: one entry for each.
struct WindowOptions {
  std::vector<int64_t> strides, dilations;  // empty: 1
  std::vector<int64_t> pads;                // before each dim, then after each; empty: 0
  std::string auto_pad = "NOTSET";
  bool ceil_mode = false;
};

// The attributes strides, dilations, pads, auto_pad and ceil_mode, of those that the node's operator has.
WindowOptions WindowOptionsOf(const Node& node);

// The dims of x [N, C, D...] after the second; at least one.
frontend::Shape SpatialDims(const frontend::Tensor& x);

// A window of static size over spatial dims, where its options place it.
class Window {
 public:
  // `node` outlives the window. Fails if the lists differ in length, or sizes, strides or dilations are outside
  // 1..2^31-1.
  Window(const Node& node, frontend::Shape spatial, std::vector<int64_t> sizes, WindowOptions options);

  const std::vector<int64_t>& sizes() const { return sizes_; }
  const std::vector<int64_t>& strides() const { return options_.strides; }
  const std::vector<int64_t>& dilations() const { return options_.dilations; }
  // Padding before and after each spatial dim.
  const frontend::Shape& low() const { return low_; }
  const frontend::Shape& high() const { return high_; }
  int rank() const { return static_cast<int>(sizes_.size()); }
  std::vector<int64_t> axes() const;   // of x: the spatial dims
  std::vector<int64_t> inner() const;  // of View(): the window's dims

  // The run fails where x has a spatial dim of 0, as pools demand.
  void DemandElements() const;
  // The run fails where the padded x has no window along a spatial dim, as convolutions demand.
  void DemandFit() const;

  // x with `fill` wherever a window looks outside.
  frontend::Tensor Pad(const frontend::Tensor& x, const frontend::Operand& fill) const;
  // All windows of a padded x: [N, C, positions..., window...].
  frontend::Tensor View(const frontend::Tensor& padded) const;

 private:
  void SetPads();
  frontend::Dim SamePadding(size_t i) const;
  frontend::Dim CeilHigh(size_t i) const;
  void Demand(const frontend::Shape& present, const std::vector<int64_t>& least, const std::string& what) const;

  const Node& node_;
  frontend::Shape spatial_;
  std::vector<int64_t> sizes_, reach_;
  WindowOptions options_;
  frontend::Shape low_, high_;
};

// x [N, C, D...] with weight [M, C / groups, K...] and bias [M], which may be absent: [N, M, positions...]. Windows
// move as the node's attributes say, or as `options` do. The padding is zeros, or `fill`, a scalar of x's dtype.
frontend::Tensor Convolution(const Node& node, const frontend::Tensor& x, const frontend::Tensor& weight,
                             int64_t groups, const frontend::Tensor& bias, const WindowOptions& options,
                             const frontend::Tensor& fill = frontend::Tensor());
frontend::Tensor Convolution(const Node& node, const frontend::Tensor& x, const frontend::Tensor& weight,
                             int64_t groups, const frontend::Tensor& bias);

// The average of each window of node[0], as AveragePool gives it.
frontend::Tensor AveragePooled(const Node& node);

// [C] as [C, 1...], which broadcasts over x [N, C, D...] of that rank.
frontend::Tensor PerChannel(const frontend::Tensor& value, int rank);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_CONVOLUTION_H_
