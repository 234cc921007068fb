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
}

class SaveOverTest : public SaveTest {
 protected:
  void SetUp() override {
    SaveTest::SetUp();
    ASSERT_EQ(Text(ReadArtifact(MemorySource(bytes_.span()), {}, &artifact_)), "OK");
  }
  void TearDown() override {
    unlink(other_.c_str());
    SaveTest::TearDown();
  }
  // "/tmp/tailor_save_x/b.tlr", to which links point.
  void MakeOther(mode_t mode) {
    other_ = directory_ + "/b.tlr";
    std::ofstream(other_) << "before";
    ASSERT_EQ(chmod(other_.c_str(), mode), 0);
  }
  std::string Saved() { return std::string(reinterpret_cast<const char*>(bytes_.data()), bytes_.size()); }
  static mode_t ModeOf(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
    return status.st_mode;
  }
  static std::string LinkOf(const std::string& path) {
    char text[256];
    const ssize_t size = readlink(path.c_str(), text, sizeof(text));
    return size < 0 ? "no link" : std::string(text, static_cast<size_t>(size));
  }

  const AlignedBytes bytes_ = SampleArtifact();
  Artifact artifact_;
  std::string other_;
};

TEST_F(SaveOverTest, DirectoriesAreRefused) {
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_EQ(Text(SaveArtifact(artifact_, path_)),
            "9: cannot write " + path_ + ": it is a directory, not a regular file");
  EXPECT_EQ(rmdir(path_.c_str()), 0);
}

TEST_F(SaveOverTest, FifosAreRefused) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Text(SaveArtifact(artifact_, path_)), "9: cannot write " + path_ + ": it is a FIFO, not a regular file");
  EXPECT_TRUE(S_ISFIFO(ModeOf(path_)));
}

// By way of a link, so that what is wrong with the test leaves the machine its device.
TEST_F(SaveOverTest, DevicesAreRefused) {
  ASSERT_EQ(symlink("/dev/null", path_.c_str()), 0);
  EXPECT_EQ(Text(SaveArtifact(artifact_, path_)),
            "9: cannot write " + path_ + ": /dev/null, to which it links, is a character device, not a regular file");
  EXPECT_EQ(LinkOf(path_), "/dev/null");
  EXPECT_TRUE(S_ISCHR(ModeOf("/dev/null")));
}

TEST_F(SaveOverTest, ALinkStaysAndItsTargetIsReplaced) {
  MakeOther(0644);
  for (const std::string& target : {other_, std::string("b.tlr")}) {
    ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
    ASSERT_EQ(Text(SaveArtifact(artifact_, path_)), "OK");
    EXPECT_EQ(LinkOf(path_), target);
    EXPECT_TRUE(S_ISREG(ModeOf(other_)));
    EXPECT_EQ(Content(other_), Saved());
    unlink(path_.c_str());
    std::ofstream(other_) << "before";
  }
}

TEST_F(SaveOverTest, ALinkToNothingGetsATarget) {
  other_ = directory_ + "/b.tlr";
  ASSERT_EQ(symlink("b.tlr", path_.c_str()), 0);
  ASSERT_EQ(Text(SaveArtifact(artifact_, path_)), "OK");
  EXPECT_EQ(LinkOf(path_), "b.tlr");
  EXPECT_EQ(Content(other_), Saved());
}

TEST_F(SaveOverTest, LinksInACircleAreRefused) {
  ASSERT_EQ(symlink("a.tlr", path_.c_str()), 0);
  EXPECT_EQ(Text(SaveArtifact(artifact_, path_)), "9: cannot write " + path_ + ": Too many levels of symbolic links");
}

TEST_F(SaveOverTest, TheModeOfWhatIsReplacedIsKept) {
  MakeOther(0640);
  for (const mode_t mode : {0640, 0666, 0444}) {
    ASSERT_EQ(chmod(other_.c_str(), mode), 0);
    ASSERT_EQ(Text(SaveArtifact(artifact_, other_)), "OK");
    EXPECT_EQ(ModeOf(other_), S_IFREG | mode);
    EXPECT_EQ(Content(other_), Saved());
  }
}

TEST_F(SaveOverTest, TheModeOfANewFileIsTheUmasks) {
  const mode_t before = umask(027);
  EXPECT_EQ(Text(SaveArtifact(artifact_, path_)), "OK");
  umask(before);
  EXPECT_EQ(ModeOf(path_), S_IFREG | mode_t{0640});
}

}  // namespace
}  // namespace tailor
