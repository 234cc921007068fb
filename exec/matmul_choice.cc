#include "exec/matmul_choice.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace tailor {

// Reads one tree, line by line.
class ChoiceParser {
 public:
  ChoiceParser(std::string_view text, std::vector<MatmulChoice::Node>* nodes) : rest_(text), nodes_(*nodes) {
    Advance();
  }

  std::string Run() {
    Tree(0);
    if (wrong_.empty() && line_ != "") Fail("the tree has ended");
    return wrong_;
  }

 private:
  // Moves to the next line that is neither empty nor a comment; "" at the end.
  void Advance() {
    line_ = {};
    while (!rest_.empty() && (line_.empty() || line_.front() == '#')) {
      line_ = rest_.substr(0, rest_.find('\n'));
      rest_.remove_prefix(std::min(line_.size() + 1, rest_.size()));
      ++number_;
    }
    if (!line_.empty() && line_.front() == '#') line_ = {};
  }

  void Fail(const std::string& what) {
    if (wrong_.empty()) wrong_ = "line " + std::to_string(number_) + ": " + what;
  }

  // The text of the line, which must be indented by `depth` levels.
  std::string_view Said(int depth) {
    const size_t margin = std::min(line_.find_first_not_of(' '), line_.size());
    if (line_.empty()) Fail("a branch is missing");
    if (margin != static_cast<size_t>(2 * depth)) Fail("expected " + std::to_string(2 * depth) + " spaces before it");
    return line_.substr(margin);
  }

  void Tree(int depth) {
    if (depth > MatmulChoice::kMostDepth) Fail("the tree is too deep");
    const std::string_view said = Said(depth);
    if (!wrong_.empty()) return;
    const size_t node = nodes_.size();
    nodes_.emplace_back();
    if (!said.starts_with("if ")) {
      if (said != "own" && said != "provider")
        return Fail("expected \"own\", \"provider\" or \"if FEATURE <= NUMBER\"");
      nodes_[node].takes = said == "provider";
      return Advance();
    }
    Condition(said.substr(3), &nodes_[node]);
    Advance();
    Tree(depth + 1);
    if (!wrong_.empty()) return;
    if (Said(depth) != "else") return Fail("expected \"else\"");
    Advance();
    nodes_[node].above = static_cast<int>(nodes_.size());
    Tree(depth + 1);
  }

  void Condition(std::string_view said, MatmulChoice::Node* node) {
    const size_t sign = said.find(" <= ");
    const auto* name =
        std::find(std::begin(MatmulChoice::kFeatures), std::end(MatmulChoice::kFeatures), said.substr(0, sign));
    if (sign == said.npos || name == std::end(MatmulChoice::kFeatures)) return Fail("no such feature");
    const std::string number(said.substr(sign + 4));
    char* end = nullptr;
    node->feature = static_cast<int>(name - std::begin(MatmulChoice::kFeatures));
    node->threshold = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0') Fail("\"" + number + "\" is no number");
  }

  std::string_view rest_, line_;
  std::vector<MatmulChoice::Node>& nodes_;
  int number_ = 0;
  std::string wrong_;
};

std::string MatmulChoice::Parse(std::string_view text) {
  std::vector<Node> nodes;
  std::string wrong = ChoiceParser(text, &nodes).Run();
  if (wrong.empty()) nodes_ = std::move(nodes);
  return wrong;
}

bool MatmulChoice::Takes(const GemmArgs& gemm) const {
  if (nodes_.empty()) return true;
  const double m = static_cast<double>(gemm.batch) * static_cast<double>(gemm.m);
  const double n = static_cast<double>(gemm.n), k = static_cast<double>(gemm.k);
  const double features[] = {m, n, k, n * k};
  size_t node = 0;
  while (nodes_[node].feature >= 0) {
    const Node& at = nodes_[node];
    node = features[at.feature] <= at.threshold ? node + 1 : at.above;
  }
  return nodes_[node].takes;
}

}  // namespace tailor
