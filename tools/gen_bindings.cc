// Writes the files that follow from the op table: C declarations and glue, Python, Rust and Go methods, reference.
//
//   gen_bindings <project root>           writes them
//   gen_bindings --check <project root>   exits with 1 and names each file that is not up to date
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "tools/gen_bindings/writers.h"

namespace {

struct GeneratedFile {
  const char* path;
  std::string (*text)();
};

constexpr GeneratedFile kFiles[] = {
    {"api/include/tailor/ops.h", tailor::CHeader},         {"api/graph_ops.cc", tailor::CGlue},
    {"bindings/python/tailor/_ops.py", tailor::PythonOps}, {"bindings/rust/src/graph/ops.rs", tailor::RustOps},
    {"bindings/go/graph/ops.go", tailor::GoOps},           {"docs/ops.md", tailor::OpReference},
};

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

bool Write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) std::fprintf(stderr, "gen_bindings: cannot write %s\n", path.c_str());
  return static_cast<bool>(out);
}

}  // namespace

int main(int argc, char** argv) {
  bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != 2 && !check) {
    std::fprintf(stderr, "usage: gen_bindings [--check] <project root>\n");
    return 2;
  }
  const std::string root = argv[argc - 1];
  bool good = true;
  for (const GeneratedFile& file : kFiles) {
    std::string path = root + "/" + file.path, text = file.text();
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
