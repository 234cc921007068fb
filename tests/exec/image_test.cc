#include "exec/image.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "exec/counters.h"

namespace tailor {
namespace {

// The permissions of the mapping that holds `address`, as /proc says: "r-xp".
std::string PermissionsAt(uintptr_t address) {
  FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512], permissions[5] = "";
  unsigned long begin = 0, end = 0;
  while (std::fgets(line, sizeof(line), maps) != nullptr) {
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, permissions) == 3 && begin <= address && address < end) break;
    permissions[0] = 0;
  }
  std::fclose(maps);
  return permissions;
}

TEST(MappedImage, RunsACopyThatCannotBeWritten) {
  // mov eax, 42; ret, after 16 bytes of something else
  std::vector<uint8_t> code(16, 0xcc);
  code.insert(code.end(), {0xb8, 42, 0, 0, 0, 0xc3});
  const uint64_t linked = ReadCounters().images_linked;
  MappedImage image;
  ASSERT_TRUE(image.Map(std::as_bytes(std::span(code))).ok());
  code.assign(code.size(), 0);
  const auto function = image.At<int (*)()>(16);
  EXPECT_EQ(function(), 42);
  EXPECT_EQ(PermissionsAt(reinterpret_cast<uintptr_t>(function)), "r-xp");
  EXPECT_EQ(ReadCounters().images_linked, linked + 1);
}

TEST(MappedImage, GoesWithItsPages) {
  const uint8_t code[] = {0xc3};
  uintptr_t address;
  {
    MappedImage image;
    ASSERT_TRUE(image.Map(std::as_bytes(std::span(code))).ok());
    address = reinterpret_cast<uintptr_t>(image.At<void (*)()>(0));
    EXPECT_EQ(PermissionsAt(address), "r-xp");
  }
  EXPECT_NE(PermissionsAt(address), "r-xp");
}

}  // namespace
}  // namespace tailor
