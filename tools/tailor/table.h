// A table of text on a terminal.
#ifndef TAILOR_TOOLS_TAILOR_TABLE_H_
#define TAILOR_TOOLS_TAILOR_TABLE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace tailor {

// The first `left` columns are aligned to the left, the others to the right.
class Table {
 public:
  Table(std::vector<std::string> header, size_t left) : left_(left), rows_{std::move(header)} {}

  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // To stdout; the header is bold on a terminal.
  void Print() const;

 private:
  size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_TABLE_H_
