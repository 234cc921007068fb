#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "tools/tailor/commands.h"

namespace tailor {

int Tune(const std::vector<std::string>& arguments) {
  std::error_code unreadable;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  const std::string program = (self.parent_path() / "tailor-tune").string();
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  throw std::runtime_error("cannot run " + program + ": " + std::strerror(errno));
}

}  // namespace tailor
