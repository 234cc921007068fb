// The layouts of images and sequences between convolutions: channels first, as graphs state them, or channels last.
#ifndef TAILOR_FUSION_IMAGE_LAYOUTS_H_
#define TAILOR_FUSION_IMAGE_LAYOUTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "graph/graph.h"

namespace tailor {

// The permutations [batch, channels, positions...] -> [batch, positions..., channels] and back.
std::vector<int64_t> ToChannelsLast(size_t rank);
std::vector<int64_t> ToChannelsFirst(size_t rank);

// A convolution: dot(patches [batch, 1, channels * taps, positions], weights [1, filters, channels * taps]) with both
// transposed. The patches are a reshape of the image (1 x 1), or of its windows [batch, channels, positions..., K...]
// moved to [batch, channels, K..., positions...].
struct Convolution {
  NodeId image, window;  // window -1: 1 x 1 with stride 1
  NodeId weights;        // a constant
  int64_t channels, taps;
};

// reduce(window(image)) or reduce_sum(window(image) * factors).
struct WindowReduction {
  NodeId image;
  NodeId factors = -1;     // the constant that the factors [channels, 1..., K...] are a reshape of; -1: none
  int window_operand = 0;  // the multiplication's operand that is the windows
  int64_t channels = 0, taps = 1;
  Shape sizes;  // K...
};

// Chooses the images of `rank` dims whose channels are last in memory. Images that an elementwise node, padding, a
// pool, a concat by channel, a slice, a gather or repetition along positions, or a depthwise convolution links have one
// layout; matmuls (other convolutions) read and write either without a copy. So each set of linked images is decided
// alone: it is channels last where all that computes or reads its images can do so without a transposition, and as
// fast.
class ImageLayouts {
 public:
  ImageLayouts(const Graph& graph, size_t rank);

  // Whether no node changes.
  bool empty() const { return last_.empty() && convolutions_.empty(); }
  // Whether node `id` computes an image channels last.
  bool IsLast(NodeId id) const { return last_.contains(id); }
  // The convolution of an image that is channels last; null for other nodes.
  const Convolution* ConvolutionOf(NodeId dot) const;
  // Node `id` as a pool or depthwise convolution that may be computed channels last; nullopt for others.
  std::optional<WindowReduction> WindowReductionOf(NodeId id) const;
  // Whether node `id` reduces all positions of an image that is channels last.
  bool ReducesImage(NodeId id) const;
  // Whether it reshapes one to [batch, channels, all positions].
  bool JoinsPositions(NodeId id) const;
  // The image whose elements node `id` repeats along positions: the last of a reshape to [batch, channels, H, 1, W, 1],
  // a broadcast and a reshape. -1: none.
  NodeId RepeatedImage(NodeId id) const;

 private:
  bool IsImage(Value v) const;
  bool HasChannelsOf(Value v, NodeId id) const;
  bool IsSmall(Value v) const;
  std::optional<Convolution> FindConvolution(NodeId dot) const;
  bool MayReadLast(NodeId dot) const;
  bool IsTransposeToFirst(NodeId id) const;
  bool IsConvResult(NodeId id) const;
  bool ConcatsChannels(NodeId id) const;
  bool TakesPart(NodeId id) const;
  bool IsRepetition(NodeId reshape) const;
  bool JoinsAll(NodeId reshape) const;
  bool ReducesAll(NodeId reduction) const;
  bool AllUsers(NodeId id, const std::function<bool(NodeId)>& holds) const;
  // Links `id`'s image to those that have its layout. Returns whether it can be computed channels last.
  bool LinkProducer(NodeId id);
  // Whether `user` can read the image `id` channels last.
  bool CanRead(NodeId user, NodeId id) const;
  bool CanReadWindows(NodeId window) const;
  void Link(NodeId a, NodeId b) { set_of_[Find(a)] = Find(b); }
  NodeId Find(NodeId id);

  const Graph& graph_;
  const size_t rank_;
  std::vector<std::vector<NodeId>> users_;  // -1: an output
  std::vector<NodeId> set_of_;              // a forest of linked images
  std::set<NodeId> last_;
  std::map<NodeId, Convolution> convolutions_;  // by dot; after the choice, those of images channels last
};

}  // namespace tailor

#endif  // TAILOR_FUSION_IMAGE_LAYOUTS_H_
