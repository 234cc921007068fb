#include "tools/tailor/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace tailor {

void Table::Print() const {
  std::vector<size_t> widths(rows_[0].size());
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const bool bold = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows_[r].size(); ++i) {
      const std::string& cell = rows_[r][i];
      const std::string pad(widths[i] - cell.size(), ' ');
      line += (i > 0 ? "  " : "") + (i < left_ ? cell + pad : pad + cell);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::cout << (bold && r == 0 ? "\033[1m" + line + "\033[0m" : line) << "\n";
  }
}

}  // namespace tailor
