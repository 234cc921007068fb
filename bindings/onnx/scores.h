// Scores of classes, and the labels that they choose: of the domain ai.onnx.ml.
#ifndef TAILOR_BINDINGS_ONNX_SCORES_H_
#define TAILOR_BINDINGS_ONNX_SCORES_H_

#include <cstdint>
#include <set>
#include <vector>

#include "bindings/frontend/tensor.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {

enum class ScoreTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// The attribute post_transform.
ScoreTransform TransformOf(const Node& node);
// Scores [rows, classes] transformed along their last dim.
frontend::Tensor Transformed(const frontend::Tensor& scores, ScoreTransform transform);
// The scores [rows, 2] of two classes for the score [rows, 1] of the second one. `probability`: whether it is one.
frontend::Tensor ScoresOfTwo(const frontend::Tensor& score, ScoreTransform transform, bool probability);

// A list of labels, one for each class. Fails for labels that are strings.
std::vector<int64_t> IntegerLabels(const Node& node, const char* attribute);
// The label of each row of scores [rows, classes] for the first of its greatest scores, i64 [rows]; of the classes in
// `among`, unless that is empty.
frontend::Tensor BestLabel(const Node& node, const frontend::Tensor& scores, const std::vector<int64_t>& labels,
                           const std::set<int64_t>& among = {});
// The second of two labels where the score [rows, 1] is above the threshold, else the first: i64 [rows].
frontend::Tensor LabelOfTwo(const frontend::Tensor& score, double threshold, const std::vector<int64_t>& labels);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_SCORES_H_
