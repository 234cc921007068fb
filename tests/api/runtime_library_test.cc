// The shared library as a file: dependencies, exports, size.
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

namespace {

std::string Content(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A 64-bit ELF file, read in place.
class Elf {
 public:
  explicit Elf(std::string content) : content_(std::move(content)) {}

  const Elf64_Ehdr& header() const { return At<Elf64_Ehdr>(0); }
  std::vector<Elf64_Phdr> segments() const {
    return {&At<Elf64_Phdr>(header().e_phoff), &At<Elf64_Phdr>(header().e_phoff) + header().e_phnum};
  }
  const Elf64_Shdr& section(uint32_t type) const {
    const auto* sections = &At<Elf64_Shdr>(header().e_shoff);
    for (int i = 0; i < header().e_shnum; ++i) {
      if (sections[i].sh_type == type) return sections[i];
    }
    ADD_FAILURE() << "no section of type " << type;
    return sections[0];
  }
  std::vector<Elf64_Dyn> dynamic() const {
    const Elf64_Shdr& s = section(SHT_DYNAMIC);
    return {&At<Elf64_Dyn>(s.sh_offset), &At<Elf64_Dyn>(s.sh_offset) + s.sh_size / sizeof(Elf64_Dyn)};
  }
  std::vector<Elf64_Sym> symbols() const {
    const Elf64_Shdr& s = section(SHT_DYNSYM);
    return {&At<Elf64_Sym>(s.sh_offset), &At<Elf64_Sym>(s.sh_offset) + s.sh_size / sizeof(Elf64_Sym)};
  }
  // A string of the dynamic string table.
  const char* Name(uint64_t offset) const {
    const Elf64_Shdr* sections = &At<Elf64_Shdr>(header().e_shoff);
    return content_.data() + sections[section(SHT_DYNAMIC).sh_link].sh_offset + offset;
  }

 private:
  template <typename T>
  const T& At(uint64_t offset) const {
    return *reinterpret_cast<const T*>(content_.data() + offset);
  }
  std::string content_;
};

const Elf& Library() {
  static const Elf elf(Content(TAILOR_RUNTIME_LIBRARY));
  return elf;
}

TEST(RuntimeLibrary, NeedsOnlySystemLibraries) {
  const std::set<std::string> allowed = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1",
                                         "ld-linux-x86-64.so.2"};
  std::set<std::string> needed;
  for (const Elf64_Dyn& entry : Library().dynamic()) {
    if (entry.d_tag == DT_NEEDED) needed.insert(Library().Name(entry.d_un.d_val));
  }
  EXPECT_TRUE(needed.count("libc.so.6"));
  for (const std::string& name : needed) EXPECT_TRUE(allowed.count(name)) << name;
}

TEST(RuntimeLibrary, ShowsExactlyItsHeader) {
  std::set<std::string> shown, declared;
  for (const Elf64_Sym& symbol : Library().symbols()) {
    // Not TAILOR_1, the version of all of them.
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS) shown.insert(Library().Name(symbol.st_name));
  }
  const std::string header = Content(TAILOR_RUNTIME_HEADER);
  const std::regex function(R"(TAILOR_API[^;{(]*?\b(tailor_\w+)\()");
  for (std::sregex_iterator it(header.begin(), header.end(), function), end; it != end; ++it) declared.insert((*it)[1]);
  EXPECT_GT(declared.size(), 20u);
  EXPECT_EQ(shown, declared);
}

TEST(RuntimeLibrary, StaysLoadedAndBindsToItself) {
  uint64_t flags = 0, flags_1 = 0;
  for (const Elf64_Dyn& entry : Library().dynamic()) {
    if (entry.d_tag == DT_FLAGS) flags = entry.d_un.d_val;
    if (entry.d_tag == DT_FLAGS_1) flags_1 = entry.d_un.d_val;
  }
  EXPECT_TRUE(flags & DF_SYMBOLIC);
  EXPECT_TRUE(flags_1 & DF_1_NODELETE);
}

TEST(RuntimeLibrary, HasNoSegmentThatIsWritableAndExecutable) {
  int executable = 0;
  for (const Elf64_Phdr& segment : Library().segments()) {
    EXPECT_FALSE((segment.p_flags & PF_W) && (segment.p_flags & PF_X));
    executable += segment.p_type == PT_LOAD && (segment.p_flags & PF_X);
  }
  EXPECT_GT(executable, 0);
}

TEST(RuntimeLibrary, IsSmall) { EXPECT_LT(Content(TAILOR_RUNTIME_LIBRARY).size(), 2u << 20); }

}  // namespace
