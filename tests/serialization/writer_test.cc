#include "serialization/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/serialization/artifact_bytes.h"

namespace tailor {
namespace {

TEST(Writer, SameProgramSameBytes) {
  EXPECT_EQ(ToVector(SampleArtifact()), ToVector(SampleArtifact()));
  uint8_t secret_key[64];
  for (int i = 0; i < 64; ++i) secret_key[i] = static_cast<uint8_t>(i);
  EXPECT_EQ(ToVector(ArtifactOf(SampleProgram(), secret_key)), ToVector(ArtifactOf(SampleProgram(), secret_key)));
}

TEST(Writer, LaysSectionsOut) {
  const AlignedBytes bytes = SampleArtifact();
  const ArtifactHeader header = HeaderOf(bytes.span());
  EXPECT_EQ(header.metadata.offset, 320u);
  EXPECT_EQ(header.images.offset % 64, 0u);
  EXPECT_EQ(header.chunks.size, 32u);
  EXPECT_EQ(header.constants_offset, 65536u);
  EXPECT_EQ(header.constants_size, 64u);
  EXPECT_EQ(header.file_size, bytes.size());
  EXPECT_EQ(std::memcmp(bytes.data() + 65536, kSampleScale, sizeof(kSampleScale)), 0);
}

TEST(Writer, WithoutConstantsTheFileIsSmall) {
  Program program = SampleProgram();
  program.constants.clear();
  const AlignedBytes bytes = ArtifactOf(program);
  EXPECT_LT(bytes.size(), 8192u);
  EXPECT_EQ(Read(bytes.span()), "OK");
}

TEST(Writer, ConstantsAreReleasedAsTheyAreCopied) {
  const AlignedBytes usual = [] {
    Program program = SampleProgram();
    program.constants.push_back(program.constants[0]);
    program.constants[1].name = "other";
    return ArtifactOf(program);
  }();
  Program program = SampleProgram();
  std::vector<std::vector<std::byte>> owned(2);
  program.constants.push_back(program.constants[0]);
  program.constants[1].name = "other";
  for (size_t i = 0; i < owned.size(); ++i) {
    const auto bytes = program.constants[i].bytes;
    owned[i].assign(bytes.begin(), bytes.end());
    program.constants[i].bytes = owned[i];
  }
  std::vector<size_t> released;
  const auto release = [&](size_t constant) {
    released.push_back(constant);
    std::fill(owned[constant].begin(), owned[constant].end(), std::byte{0xff});  // what is read later would show
  };
  AlignedBytes bytes;
  ASSERT_EQ(Text(WriteArtifact(program, {.release = release}, &bytes)), "OK");
  EXPECT_EQ(released, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(ToVector(bytes), ToVector(usual));
  // Constants begin at multiples of 64 bytes; those between are zero.
  const ArtifactHeader header = HeaderOf(bytes.span());
  ASSERT_EQ(header.constants_size, 128u);
  const auto section = bytes.span().subspan(header.constants_offset);
  for (size_t i = sizeof(kSampleScale); i < 64; ++i) EXPECT_EQ(section[i], std::byte{0}) << i;
}

TEST(Writer, ABrokenProgramIsAnInternalError) {
  Program program = SampleProgram();
  program.variants[0].run_offset = 1 << 20;
  AlignedBytes bytes;
  EXPECT_EQ(Text(WriteArtifact(program, {}, &bytes)),
            "13: cannot write the compiled program: variant \"x86-64\": the run entry lies outside the image");
  EXPECT_EQ(bytes.size(), 0u);
}

}  // namespace
}  // namespace tailor
