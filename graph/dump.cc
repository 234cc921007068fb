#include "graph/dump.h"

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_format.h"

namespace tailor {
namespace {

const char* DumpDir() {
  const char* dir = std::getenv("TAILOR_DUMP");
  return dir != nullptr && *dir != '\0' ? dir : nullptr;
}

}  // namespace

bool DumpWanted() { return DumpDir() != nullptr; }

absl::Status DumpPass(absl::string_view stage, int number, absl::string_view pass, const std::string& text) {
  const char* dir = DumpDir();
  if (dir == nullptr) return absl::OkStatus();
  std::string path = absl::StrFormat("%s/%s.%02d.%s.txt", dir, stage, number, pass);
  std::ofstream file(path);
  file << text;
  if (!file.flush()) return absl::InvalidArgumentError(absl::StrFormat("TAILOR_DUMP: cannot write %s", path));
  return absl::OkStatus();
}

}  // namespace tailor
