#include "codegen/cuda/ptx/join_ptx.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tailor::cuda {
namespace {

// Whether `line` may occur only once in a PTX text.
bool IsUnique(absl::string_view line) {
  return absl::StartsWith(line, ".version ") || absl::StartsWith(line, ".target ") ||
         absl::StartsWith(line, ".address_size ") || absl::StartsWith(line, ".extern .shared ");
}

}  // namespace

std::string JoinPtx(absl::Span<const std::string> modules) {
  std::string all;
  std::set<absl::string_view> seen;
  for (const std::string& module : modules) {
    for (absl::string_view line : absl::StrSplit(module, '\n')) {
      if (line.empty() || absl::StartsWith(line, "//")) continue;
      if (IsUnique(line) && !seen.insert(line).second) continue;
      absl::StrAppend(&all, line, "\n");
    }
  }
  return all;
}

}  // namespace tailor::cuda
