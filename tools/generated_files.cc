#include "tools/generated_files.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

namespace tailor {
namespace {

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool Write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return static_cast<bool>(out);
}

}  // namespace

int WriteGenerated(int argc, char** argv, std::initializer_list<GeneratedFile> files) {
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::fprintf(stderr, "usage: %s [--check] <project root>\n", argv[0]);
    return 2;
  }
  const std::string root = argv[argc - 1];
  bool good = true;
  for (const GeneratedFile& file : files) {
    const std::string path = root + "/" + file.path, text = file.text();
    if (Read(path) == text) continue;
    if (check) {
      std::fprintf(stderr, "%s is stale: run ./dev generate\n", file.path);
      good = false;
    } else {
      good = Write(path, text) && good;
    }
  }
  return good ? 0 : 1;
}

}  // namespace tailor
