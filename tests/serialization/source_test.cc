#include "serialization/source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/serialization/artifact_bytes.h"

namespace tailor {
namespace {

class SourceTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tailor_source_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    unlink((directory_ + "/f").c_str());
    rmdir(directory_.c_str());
  }
  std::string WriteFile(const std::string& content) {
    FILE* file = std::fopen((directory_ + "/f").c_str(), "wb");
    std::fwrite(content.data(), 1, content.size(), file);
    std::fclose(file);
    return directory_ + "/f";
  }
  std::string directory_;
};

TEST_F(SourceTest, AFileIsReadAndMapped) {
  FileSource source;
  ASSERT_EQ(Text(source.Open(WriteFile(std::string(65536, 'a') + "hello"))), "OK");
  EXPECT_EQ(source.size(), 65541u);
  char text[3];
  ASSERT_TRUE(source.Read(65535, std::as_writable_bytes(std::span(text))).ok());
  EXPECT_EQ(std::string(text, 3), "ahe");
  for (const bool copy : {false, true}) {
    ReadOnlyBytes region;
    ASSERT_TRUE(source.Take(65536, 5, copy, &region).ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(region.bytes().data()) % 64, 0u);
    EXPECT_EQ(std::memcmp(region.bytes().data(), "hello", 5), 0);
  }
}

TEST_F(SourceTest, AShortenedFileIsNoticed) {
  FileSource source;
  const std::string path = WriteFile(std::string(100, 'a'));
  ASSERT_EQ(Text(source.Open(path)), "OK");
  ASSERT_EQ(truncate(path.c_str(), 50), 0);
  char text[100];
  EXPECT_EQ(Text(source.Read(0, std::as_writable_bytes(std::span(text)))),
            "15: " + path + " was shortened while it was read");
}

TEST_F(SourceTest, WhatCannotBeOpenedIsNamed) {
  EXPECT_EQ(Text(FileSource().Open(directory_ + "/missing")),
            "5: cannot open " + directory_ + "/missing: No such file or directory");
  EXPECT_EQ(Text(FileSource().Open(directory_)), "3: " + directory_ + " is not a regular file");
  const std::string path = directory_ + "/f";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Text(FileSource().Open(path)), "3: " + path + " is not a regular file");
}

TEST(MemorySource, BorrowsWhatIsAligned) {
  AlignedBytes bytes(256);
  std::memset(bytes.data(), 7, 256);
  ReadOnlyBytes region;
  ASSERT_TRUE(MemorySource(bytes.span()).Take(64, 128, false, &region).ok());
  EXPECT_EQ(region.bytes().data(), bytes.data() + 64);
  ASSERT_TRUE(MemorySource(bytes.span()).Take(64, 128, true, &region).ok());
  EXPECT_NE(region.bytes().data(), bytes.data() + 64);
  ASSERT_TRUE(MemorySource(bytes.span().subspan(8)).Take(64, 128, false, &region).ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(region.bytes().data()) % 64, 0u);
  EXPECT_EQ(region.bytes()[127], std::byte{7});
}

}  // namespace
}  // namespace tailor
