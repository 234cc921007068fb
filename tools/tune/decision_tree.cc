#include "tools/tune/decision_tree.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

namespace tailor::tune {
namespace {

// Labels of a set of samples, counted.
class Counts {
 public:
  void Move(int label, int by) {
    int& count = counts_[label];
    squares_ += static_cast<double>(by) * (2 * count + by);
    count += by;
    all_ += by;
  }
  // Gini impurity times the number of samples: 0 where all labels are equal.
  double Impurity() const { return all_ == 0 ? 0 : all_ - squares_ / all_; }
  int all() const { return all_; }
  int Commonest() const {
    int label = -1, most = 0;
    for (const auto& [candidate, count] : counts_) {
      if (count > most) label = candidate, most = count;
    }
    return label;
  }

 private:
  std::map<int, int> counts_;
  double squares_ = 0;
  int all_ = 0;
};

struct Split {
  int feature = -1;
  double threshold = 0;
  double impurity;
};

void SortBy(std::vector<const Sample*>& samples, size_t feature) {
  std::stable_sort(samples.begin(), samples.end(),
                   [feature](const Sample* a, const Sample* b) { return a->features[feature] < b->features[feature]; });
}

// The best split of `feature`, if it is better than `best`. Reorders the samples.
void ImproveSplit(std::vector<const Sample*>& samples, size_t feature, int leaf, const Counts& counts, Split& best) {
  SortBy(samples, feature);
  Counts below, above = counts;
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    below.Move(samples[i]->label, 1);
    above.Move(samples[i]->label, -1);
    const double here = samples[i]->features[feature], next = samples[i + 1]->features[feature];
    if (here == next || below.all() < leaf || above.all() < leaf) continue;
    const double impurity = below.Impurity() + above.Impurity();
    constexpr double kRounding = 1e-9;
    if (impurity < best.impurity - kRounding) best = {static_cast<int>(feature), (here + next) / 2, impurity};
  }
}

}  // namespace

DecisionTree::DecisionTree(const std::vector<Sample>& samples, const Limits& limits) {
  std::vector<const Sample*> all;
  for (const Sample& sample : samples) all.push_back(&sample);
  root_ = Grow(std::move(all), limits, 0);
}

int DecisionTree::Grow(std::vector<const Sample*> samples, const Limits& limits, int depth) {
  Counts counts;
  for (const Sample* sample : samples) counts.Move(sample->label, 1);
  Split split{.impurity = counts.Impurity()};
  for (size_t feature = 0; depth < limits.depth && feature < samples[0]->features.size(); ++feature) {
    ImproveSplit(samples, feature, limits.leaf, counts, split);
  }
  const int node = static_cast<int>(nodes_.size());
  nodes_.push_back({.label = counts.Commonest()});
  if (split.feature < 0) return node;

  const auto is_below = [&](const Sample* sample) { return sample->features[split.feature] <= split.threshold; };
  const auto middle = std::stable_partition(samples.begin(), samples.end(), is_below);
  const int below = Grow({samples.begin(), middle}, limits, depth + 1);
  const int above = Grow({middle, samples.end()}, limits, depth + 1);
  if (nodes_[below].label >= 0 && nodes_[below].label == nodes_[above].label) {  // purer, but no other choice
    nodes_.resize(node + 1);
    return node;
  }
  nodes_[node] = {.feature = split.feature, .threshold = split.threshold, .below = below, .above = above};
  return node;
}

int DecisionTree::Classify(const std::vector<double>& features) const {
  int node = root_;
  while (nodes_[node].label < 0) {
    const Node& inner = nodes_[node];
    node = features[inner.feature] <= inner.threshold ? inner.below : inner.above;
  }
  return nodes_[node].label;
}

int DecisionTree::leaves() const {
  return static_cast<int>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& node) { return node.label >= 0; }));
}

std::string DecisionTree::Text(const std::vector<std::string>& feature_names,
                               const std::vector<std::string>& label_names) const {
  std::string text;
  Append(root_, 0, feature_names, label_names, text);
  return text;
}

void DecisionTree::Append(int node, int indent, const std::vector<std::string>& feature_names,
                          const std::vector<std::string>& label_names, std::string& text) const {
  const std::string margin(2 * indent, ' ');
  const Node& at = nodes_[node];
  if (at.label >= 0) {
    text += margin + label_names[at.label] + "\n";
    return;
  }
  char threshold[32];
  std::snprintf(threshold, sizeof threshold, "%g", at.threshold);
  text += margin + "if " + feature_names[at.feature] + " <= " + threshold + "\n";
  Append(at.below, indent + 1, feature_names, label_names, text);
  text += margin + "else\n";
  Append(at.above, indent + 1, feature_names, label_names, text);
}

}  // namespace tailor::tune
