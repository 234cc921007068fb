// A classification tree over numbers (CART: splits at one threshold of one feature, by Gini impurity).
// Immutable; any number of threads.
#ifndef TAILOR_TOOLS_TUNE_DECISION_TREE_H_
#define TAILOR_TOOLS_TUNE_DECISION_TREE_H_

#include <string>
#include <vector>

namespace tailor::tune {

struct Sample {
  std::vector<double> features;
  int label;  // >= 0
};

class DecisionTree {
 public:
  struct Limits {
    int depth = 6;
    int leaf = 2;  // minimum number of samples in a leaf
  };
  // Trains on `samples`: at least one, all with the same number of features. Ties between splits go to the first
  // feature, then to the lowest threshold; ties between labels go to the lowest label.
  DecisionTree(const std::vector<Sample>& samples, const Limits& limits);

  int Classify(const std::vector<double>& features) const;
  int leaves() const;
  // One line for each node, children indented below it: "if m <= 6.5", the label of one branch, "else", of the other.
  std::string Text(const std::vector<std::string>& feature_names, const std::vector<std::string>& label_names) const;

 private:
  struct Node {
    int label = -1;  // of a leaf
    int feature = -1;
    double threshold = 0;        // a feature <= threshold goes to `below`, others to `above`
    int below = -1, above = -1;  // nodes
  };
  // Adds the tree of `samples` and returns its root.
  int Grow(std::vector<const Sample*> samples, const Limits& limits, int depth);
  void Append(int node, int indent, const std::vector<std::string>& feature_names,
              const std::vector<std::string>& label_names, std::string& text) const;

  std::vector<Node> nodes_;
  int root_ = -1;
};

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_DECISION_TREE_H_
