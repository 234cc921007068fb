#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "tests/serialization/artifact_bytes.h"

namespace tailor {
namespace {

class SaveTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tailor_save_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    path_ = directory_ + "/a.tlr";
  }
  void TearDown() override {
    unlink(path_.c_str());
    EXPECT_EQ(rmdir(directory_.c_str()), 0);  // nothing else was left behind
  }
  std::string directory_, path_;
};

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(SaveTest, WritesWhatWasRead) {
  const AlignedBytes bytes = SampleArtifact();
  Artifact artifact;
  ASSERT_EQ(Text(ReadArtifact(MemorySource(bytes.span()), {}, &artifact)), "OK");
  ASSERT_EQ(Text(SaveArtifact(artifact, path_)), "OK");
  EXPECT_EQ(Content(path_), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

TEST_F(SaveTest, ReplacesTheFileItselfWasLoadedFrom) {
  const AlignedBytes bytes = SampleArtifact();
  Artifact artifact;
  ASSERT_EQ(Text(ReadArtifact(MemorySource(bytes.span()), {}, &artifact)), "OK");
  ASSERT_EQ(Text(SaveArtifact(artifact, path_)), "OK");
  FileSource source;
  ASSERT_EQ(Text(source.Open(path_)), "OK");
  Artifact again;
  ASSERT_EQ(Text(ReadArtifact(source, {}, &again)), "OK");
  ASSERT_EQ(Text(SaveArtifact(again, path_)), "OK");
  EXPECT_EQ(Content(path_).size(), bytes.size());
  EXPECT_EQ(std::memcmp(again.program.constants[0].bytes.data(), kSampleScale, 16), 0);
}

TEST_F(SaveTest, AFailureNamesThePathAndLeavesNothing) {
  Artifact artifact;
  EXPECT_EQ(Text(SaveArtifact(artifact, directory_ + "/missing/a.tlr")),
            "9: cannot write " + directory_ + "/missing/a.tlr: No such file or directory");
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_EQ(Text(SaveArtifact(artifact, path_)), "9: cannot write " + path_ + ": Is a directory");
  rmdir(path_.c_str());
}

}  // namespace
}  // namespace tailor
