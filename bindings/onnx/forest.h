// Ensembles of decision trees: all trees of all rows go down together, as many steps as the deepest tree has.
#ifndef TAILOR_BINDINGS_ONNX_FOREST_H_
#define TAILOR_BINDINGS_ONNX_FOREST_H_

#include <cstdint>
#include <vector>

#include "bindings/frontend/array.h"
#include "bindings/frontend/tensor.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {

// How an inner node compares a feature with its split. `kMember`: whether the feature is one of the node's members.
enum class TreeMode : uint8_t { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual, kMember };
enum class TreeAggregate : uint8_t { kAverage, kSum, kMin, kMax };

// The nodes of all trees. A place is an inner node's index, or a leaf's index plus the number of inner nodes.
struct Forest {
  struct Inner {
    TreeMode mode = TreeMode::kLessEqual;
    int64_t feature = 0;
    double split = 0;
    bool missing_is_true = false;       // whether NaN takes the true branch
    int64_t on_true = 0, on_false = 0;  // places
    std::vector<double> members;
  };
  struct LeafWeight {
    int64_t leaf, target;
    double weight;
  };
  std::vector<Inner> inner;
  int64_t leaves = 0, targets = 1;
  std::vector<LeafWeight> weights;
  std::vector<int64_t> roots;  // places
  DType dtype = DType::kF32;   // of splits, members and weights

  int64_t places() const { return static_cast<int64_t>(inner.size()) + leaves; }
};

// The aggregated weights [rows, targets] for x [rows, features] of the forest's dtype.
frontend::Tensor Predict(const Node& node, const Forest& forest, const frontend::Tensor& x, TreeAggregate aggregate);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_FOREST_H_
