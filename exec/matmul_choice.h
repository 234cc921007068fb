// MatmulChoice: which matmuls a matmul provider computes: all, or those selected by a decision tree over their dim
// sizes (BladeDISC section 5.2.2), as learned by `tailor tune provider` from measured times. The text has one line per
// node; children are indented by two spaces:
//
//   if m <= 24.5
//     own
//   else
//     if n * k <= 1e+06
//       provider
//     else
//       own
#ifndef TAILOR_EXEC_MATMUL_CHOICE_H_
#define TAILOR_EXEC_MATMUL_CHOICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "exec/host_abi.h"

namespace tailor {

class MatmulChoice {
 public:
  static constexpr int kMostDepth = 32;
  // Features that nodes compare. m counts the rows of the whole batch.
  static constexpr std::string_view kFeatures[] = {"m", "n", "k", "n * k"};

  // Replaces the choice by the tree in `text`; empty lines and lines that begin with '#' are ignored. Returns "", or an
  // error naming the line; then nothing changed.
  std::string Parse(std::string_view text);
  // Always true without a tree.
  bool Takes(const GemmArgs& gemm) const;

 private:
  struct Node {
    int feature = -1;  // -1: a leaf
    double threshold = 0;
    int above = -1;      // index of the node for greater values; the next node is for the others
    bool takes = false;  // leaf: the provider computes it
  };
  std::vector<Node> nodes_;
  friend class ChoiceParser;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_MATMUL_CHOICE_H_
