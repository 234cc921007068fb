// Which matmuls a provider computes: all of them, or those that a decision tree (BladeDISC section 5.2.2) over their
// dim sizes names, as `tailor tune provider` learns it from measured times. Its text has a line for each node, the
// children of one two spaces further in:
//
//   if m <= 24.5
//     own
//   else
//     if n * k <= 1e+06
//       provider
//     else
//       own
#ifndef TAILOR_EXEC_PRODUCT_CHOICE_H_
#define TAILOR_EXEC_PRODUCT_CHOICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "exec/host_abi.h"

namespace tailor {

class ProductChoice {
 public:
  static constexpr int kMostDepth = 32;
  // What nodes compare. m counts the rows of the whole batch.
  static constexpr std::string_view kFeatures[] = {"m", "n", "k", "n * k"};

  // Replaces the choice by that of `text`, where lines that begin with '#' and empty ones say nothing. Returns "", or
  // what is wrong, naming the line: then nothing changed.
  std::string Parse(std::string_view text);
  // Without a tree: true.
  bool Takes(const GemmArgs& gemm) const;

 private:
  struct Node {
    int feature = -1;  // -1: a leaf
    double threshold = 0;
    int above = -1;      // the node for greater values; that for others is the next one
    bool takes = false;  // of a leaf
  };
  std::vector<Node> nodes_;
  friend class ChoiceParser;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_PRODUCT_CHOICE_H_
