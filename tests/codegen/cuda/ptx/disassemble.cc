#include "tests/codegen/cuda/ptx/disassemble.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace tailor::cuda {
namespace {

// The path of cuobjdump; "" where it is in none of the usual places.
std::string FindDisassembler() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) folders = absl::StrSplit(path, ':', absl::SkipEmpty());
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(absl::StrCat(home, "/bin"));
  std::error_code none;
  for (const auto& python : std::filesystem::directory_iterator(TAILOR_SOURCE_DIR "/.venv-torch/lib", none)) {
    folders.push_back(python.path().string() + "/site-packages/triton/backends/nvidia/bin");
  }
  for (const std::string& folder : folders) {
    const std::string candidate = absl::StrCat(folder, "/cuobjdump");
    if (std::ifstream(candidate).good()) return candidate;
  }
  return "";
}

std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string all;
  std::array<char, 4096> piece;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), pipe.get())) all.append(piece.data(), count);
  return all;
}

}  // namespace

std::optional<std::string> Disassemble(std::span<const std::byte> cubin) {
  const std::string disassembler = FindDisassembler();
  if (disassembler.empty()) return std::nullopt;
  const std::string path = absl::StrCat(testing::TempDir(), "/disassembled.", getpid(), ".cubin");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(cubin.data()), static_cast<std::streamsize>(cubin.size()));
  std::string code = OutputOf(absl::StrCat(disassembler, " -sass ", path));
  std::remove(path.c_str());
  return code;
}

}  // namespace tailor::cuda
