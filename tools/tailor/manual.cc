#include "tools/tailor/manual.h"

#include <filesystem>
#include <iostream>
#include <vector>

#include "tools/tailor/command_table.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/files.h"

namespace tailor {
namespace {

constexpr char kBegin[] = "<!-- generated from --help: tailor reference docs/cli.md -->\n", kEnd[] = "<!-- end -->\n";

}  // namespace

int PrintCompletion(const CLI::App& app, const std::string& shell) {
  std::cout << CompletionScript(CommandTable(app), shell);
  return kExitSuccess;
}

int WriteManPages(const CLI::App& app, const std::string& folder) {
  std::error_code exists;
  std::filesystem::create_directories(folder, exists);
  const std::vector<CommandEntry> table = CommandTable(app);
  for (const CommandEntry& entry : table) {
    const std::string name = entry.name.empty() ? "tailor" : "tailor-" + entry.name;
    WriteFile(folder + "/" + name + ".1", ManPage(table, entry));
  }
  std::cout << folder << "  " << table.size() << " man pages\n";
  return kExitSuccess;
}

int WriteReference(const CLI::App& app, const std::string& page, bool check) {
  const std::string before = ReadFile(page);
  const size_t begin = before.find(kBegin), end = before.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw UsageError(page + " has no place for the reference: \"" + kBegin + "\" and \"" + kEnd + "\"");
  }
  const std::string after =
      before.substr(0, begin + sizeof(kBegin) - 1) + "\n" + ReferenceText(CommandTable(app)) + before.substr(end);
  if (after == before) return kExitSuccess;
  if (check) {
    std::cerr << "tailor: " << page << " is not what --help says: tailor reference " << page << "\n";
    return kExitNo;
  }
  WriteFile(page, after);
  return kExitSuccess;
}

}  // namespace tailor
