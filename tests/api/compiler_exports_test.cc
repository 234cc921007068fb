// The dynamic section of libtailor.so: exports and dependencies.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tailor/version.h"

namespace tailor {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class SharedLibrary {
 public:
  explicit SharedLibrary(std::string bytes) : bytes_(std::move(bytes)) {
    const auto header = At<Elf64_Ehdr>(0);
    for (int i = 0; i < header.e_shnum; ++i)
      sections_.push_back(At<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
  }

  std::set<std::string> Exported() const {
    std::set<std::string> names;
    ForEach<Elf64_Sym>(SHT_DYNSYM, [&](const Elf64_Sym& symbol, const Elf64_Shdr& strings) {
      // Not TAILOR_1, the version of all of them.
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS) names.insert(Name(strings, symbol.st_name));
    });
    return names;
  }

  std::set<std::string> Needed() const {
    std::set<std::string> names;
    ForEach<Elf64_Dyn>(SHT_DYNAMIC, [&](const Elf64_Dyn& entry, const Elf64_Shdr& strings) {
      if (entry.d_tag == DT_NEEDED) names.insert(Name(strings, entry.d_un.d_val));
    });
    return names;
  }

  bool NeverUnloaded() const {
    bool found = false;
    ForEach<Elf64_Dyn>(SHT_DYNAMIC, [&](const Elf64_Dyn& entry, const Elf64_Shdr&) {
      found |= entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NODELETE) != 0;
    });
    return found;
  }

 private:
  template <typename T>
  T At(uint64_t offset) const {
    T value{};
    if (offset + sizeof(T) <= bytes_.size()) std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  template <typename Entry, typename Visit>
  void ForEach(uint32_t type, Visit visit) const {
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != type) continue;
      for (uint64_t at = 0; at < section.sh_size; at += sizeof(Entry)) {
        visit(At<Entry>(section.sh_offset + at), sections_[section.sh_link]);
      }
    }
  }

  std::string Name(const Elf64_Shdr& strings, uint64_t offset) const {
    return bytes_.c_str() + strings.sh_offset + offset;
  }

  std::string bytes_;
  std::vector<Elf64_Shdr> sections_;
};

// Every function that a header declares.
std::set<std::string> Declared(const std::string& header) {
  const std::string text = ReadFile(std::string(TAILOR_HEADERS) + "/" + header);
  const std::regex declaration(R"(TAILOR_API\s[^;(]*?(tailor_\w+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

TEST(CompilerExports, AreItsHeadersFunctions) {
  std::set<std::string> wanted = Declared("compiler.h"), ops = Declared("ops.h");
  EXPECT_EQ(wanted.count("tailor_graph_compile"), 1u);
  EXPECT_EQ(ops.count("tailor_graph_dot"), 1u);
  wanted.merge(ops);
  EXPECT_EQ(SharedLibrary(ReadFile(TAILOR_LIBRARY)).Exported(), wanted);
}

TEST(CompilerExports, NeedTheRuntimeAndNoOtherLlvm) {
  const SharedLibrary library(ReadFile(TAILOR_LIBRARY));
  EXPECT_TRUE(library.NeverUnloaded());
  bool needs_llvm = false;
  for (const std::string& name : library.Needed()) needs_llvm |= name.find("LLVM") != std::string::npos;
  EXPECT_EQ(needs_llvm, !TAILOR_STATIC_LLVM);
  EXPECT_EQ(library.Needed().count("libtailor_runtime.so." + std::to_string(TAILOR_ABI)), 1u);
}

}  // namespace
}  // namespace tailor
