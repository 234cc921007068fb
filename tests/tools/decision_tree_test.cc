#include "tools/tune/decision_tree.h"

#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

// 0 where m <= 8; above, 1 where k <= 300, else 2.
int Rule(int m, int k) { return m <= 8 ? 0 : k <= 300 ? 1 : 2; }

std::vector<Sample> Grid(int step) {
  std::vector<Sample> samples;
  for (int m = 1; m <= 40; m += step) {
    for (int k = 50; k <= 1000; k += 50 * step) samples.push_back({{double(m), double(k)}, Rule(m, k)});
  }
  return samples;
}

TEST(DecisionTree, LearnsARule) {
  const DecisionTree tree(Grid(3), {});
  EXPECT_EQ(tree.leaves(), 3);
  int right = 0, all = 0;
  for (const Sample& sample : Grid(1)) {
    right += tree.Classify(sample.features) == sample.label;
    ++all;
  }
  EXPECT_GE(right, 0.95 * all);  // those between grid points may fall to either side
}

TEST(DecisionTree, PrintsItself) {
  EXPECT_EQ(DecisionTree(Grid(3), {}).Text({"m", "k"}, {"small", "flat", "deep"}), R"(if m <= 8.5
  small
else
  if k <= 275
    flat
  else
    deep
)");
}

TEST(DecisionTree, KeepsItsLimits) {
  EXPECT_EQ(DecisionTree(Grid(1), {.depth = 0}).leaves(), 1);
  EXPECT_EQ(DecisionTree(Grid(1), {.depth = 1}).leaves(), 2);
  const std::vector<Sample> lone = {{{1}, 0}, {{2}, 0}, {{3}, 0}, {{4}, 1}};
  EXPECT_EQ(DecisionTree(lone, {.leaf = 1}).Classify({4}), 1);
  EXPECT_EQ(DecisionTree(lone, {.leaf = 2}).Classify({1}), 0);
  EXPECT_EQ(DecisionTree(lone, {.depth = 1, .leaf = 2}).Classify({4}), 0);
}

// Splitting off the pure half makes neither half choose otherwise.
TEST(DecisionTree, HasNoBranchesThatChooseAlike) {
  const DecisionTree tree({{{1}, 4}, {{2}, 4}, {{3}, 4}, {{4}, 4}, {{4}, 6}}, {.leaf = 2});
  EXPECT_EQ(tree.leaves(), 1);
  EXPECT_EQ(tree.Classify({4}), 4);
}

TEST(DecisionTree, IsOneLeafWhereNothingTellsLabelsApart) {
  const DecisionTree tree({{{1, 1}, 3}, {{1, 1}, 5}, {{1, 1}, 5}}, {.leaf = 1});
  EXPECT_EQ(tree.leaves(), 1);
  EXPECT_EQ(tree.Classify({0, 0}), 5);
  EXPECT_EQ(DecisionTree({{{1}, 2}}, {}).Classify({9}), 2);
}

}  // namespace
}  // namespace tailor::tune
