#include "serialization/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <new>
#include <numeric>
#include <random>

#include "tests/serialization/artifact_bytes.h"

namespace tailor {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Reader, ReadsWhatWasWritten) {
  const AlignedBytes bytes = SampleArtifact();
  Artifact artifact;
  ASSERT_EQ(Text(ReadArtifact(MemorySource(bytes.span()), {}, &artifact)), "OK");
  const Program program = SampleProgram();
  EXPECT_EQ(artifact.program.inputs[1].name, "mask");
  const auto image = artifact.program.variants[0].image;
  EXPECT_TRUE(
      std::equal(image.begin(), image.end(), program.variants[0].image.begin(), program.variants[0].image.end()));
  EXPECT_NE(image.data(), program.variants[0].image.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(image.data()) % 64, 0u);
  const auto constant = artifact.program.constants[0].bytes;
  EXPECT_EQ(constant.size(), 16u);
  EXPECT_EQ(constant.data(), bytes.data() + 65536);  // borrowed
}

// The sample, before whose variant there is one for a device.
Program DeviceProgram() {
  Program program = SampleProgram();
  program.variants.insert(program.variants.begin(), SampleDeviceVariant());
  return program;
}

TEST(Reader, ReadsDeviceImages) {
  const Program program = DeviceProgram();
  Artifact artifact;
  ASSERT_EQ(Text(ReadArtifact(MemorySource(ArtifactOf(program).span()), {}, &artifact)), "OK");
  for (size_t i = 0; i < 3; ++i) {
    const auto& from = program.variants[0].device_images[i].bytes;
    const auto& to = artifact.program.variants[0].device_images[i].bytes;
    EXPECT_EQ(Bytes(to.begin(), to.end()), Bytes(from.begin(), from.end()));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(to.data()) % 64, 0u);
  }
  const auto host = artifact.program.variants[1].image;
  EXPECT_TRUE(std::equal(host.begin(), host.end(), program.variants[1].image.begin()));
}

TEST(Reader, AnotherFileIsNotAnArtifact) {
  constexpr auto kMessage = "3: not a Tailor artifact: it does not begin with the magic bytes";
  EXPECT_EQ(Read(Bytes(1000, std::byte{0x7f})), kMessage);
  EXPECT_EQ(Read(Bytes(3, std::byte{'x'})), kMessage);
}

TEST(Reader, AnotherVersionIsNamed) {
  Bytes bytes = ToVector(SampleArtifact());
  ArtifactHeader header = HeaderOf(bytes);
  header.version = 7;
  Reseal(header, &bytes);
  EXPECT_EQ(Read(bytes), "9: the artifact has format version 7; this library reads version 3");
}

TEST(Reader, EveryTruncationIsNoticed) {
  const Bytes bytes = ToVector(SampleArtifact());
  const ArtifactHeader header = HeaderOf(bytes);
  std::vector<size_t> sizes(header.chunks.offset + 100);
  std::iota(sizes.begin(), sizes.end(), 0);
  sizes.insert(sizes.end(), {header.constants_offset - 1, header.constants_offset, bytes.size() - 1});
  for (size_t size : sizes) {
    const std::string text = Read(std::span(bytes).first(size));
    EXPECT_THAT(text, HasSubstr("truncated")) << size;
    EXPECT_THAT(text, StartsWith("15: ")) << size;
  }
}

TEST(Reader, BytesAfterTheEndAreNoticed) {
  Bytes bytes = ToVector(SampleArtifact());
  bytes.push_back(std::byte{0});
  EXPECT_EQ(Read(bytes), "15: damaged artifact: bytes follow the end: it has 65601 bytes, its header says 65600");
}

// The part that a flipped byte at `offset` is blamed on.
std::string PartAt(const ArtifactHeader& header, uint64_t offset) {
  const auto in = [offset](const SectionHeader& s) { return offset >= s.offset && offset < s.offset + s.size; };
  if (offset < sizeof(kArtifactMagic)) return "3: not a Tailor artifact";
  if (offset < 12) return "9: the artifact has format version";
  if (offset < sizeof(ArtifactHeader)) return "15: damaged artifact: the header does not match its hash";
  if (in(header.metadata)) return "15: damaged artifact: the metadata section does not match its hash";
  if (in(header.images)) return "15: damaged artifact: the images section does not match its hash";
  if (in(header.chunks)) return "15: damaged artifact: the chunk table section does not match its hash";
  return "15: damaged artifact: the padding before the";
}

TEST(Reader, EveryFlippedByteNamesItsPart) {
  Bytes bytes = ToVector(ArtifactOf(DeviceProgram()));
  const ArtifactHeader header = HeaderOf(bytes);
  for (size_t i = 0; i < header.chunks.offset + header.chunks.size + 200; ++i) {
    for (const std::byte mask : {std::byte{1}, std::byte{0x80}, std::byte{0xff}}) {
      bytes[i] ^= mask;
      EXPECT_THAT(Read(bytes), StartsWith(PartAt(header, i))) << i;
      bytes[i] ^= mask;
    }
  }
  bytes[header.constants_offset - 1] ^= std::byte{1};
  EXPECT_THAT(Read(bytes), StartsWith("15: damaged artifact: the padding before the constants"));
}

// A program with constants of more than one chunk.
Program LargeProgram(const AlignedBytes& values) {
  Program program = SampleProgram();
  program.constants.push_back(
      {"table", DType::kF32, {static_cast<int64_t>(values.size() / 4)}, ConstantLayout::kRowMajor, values.span()});
  program.constants.push_back({"bias", DType::kU8, {3}, ConstantLayout::kRowMajor, values.span().first(3)});
  return program;
}

TEST(Reader, AFlippedConstantIsNamedWhenAskedFor) {
  AlignedBytes values((2 << 20) + 400);
  for (size_t i = 0; i < values.size(); ++i) values.data()[i] = std::byte(i * 7);
  Bytes bytes = ToVector(ArtifactOf(LargeProgram(values)));
  const ArtifactHeader header = HeaderOf(bytes);
  EXPECT_EQ(header.chunks.size / kHashBytes, 5u);
  EXPECT_EQ(Read(bytes, {.verify_constants = true}), "OK");
  const struct {
    uint64_t offset;
    const char* name;
  } flips[] = {{0, "scale"},
               {63, "scale"},
               {64, "table"},
               {64 + (1 << 20), "table"},
               {64 + (2 << 20) + 399, "table"},
               {bytes.size() - header.constants_offset - 64, "bias"}};
  for (const auto& [offset, name] : flips) {
    std::byte& byte = bytes[header.constants_offset + offset];
    byte ^= std::byte{4};
    EXPECT_EQ(Read(bytes, {.verify_constants = true}),
              "15: damaged artifact: constant \"" + std::string(name) + "\" does not match its hash");
    EXPECT_EQ(Read(bytes), "OK");
    byte ^= std::byte{4};
  }
}

TEST(Reader, ASignatureIsRequiredWhereAKeyIsGiven) {
  uint8_t public_key[32], secret_key[64], other_public[32], other_secret[64];
  crypto_sign_keypair(public_key, secret_key);
  crypto_sign_keypair(other_public, other_secret);
  const AlignedBytes is_signed = ArtifactOf(SampleProgram(), secret_key);
  EXPECT_EQ(Read(is_signed.span(), {.public_key = public_key}), "OK");
  EXPECT_EQ(Read(is_signed.span()), "OK");
  EXPECT_EQ(Read(is_signed.span(), {.public_key = other_public}),
            "9: the artifact is not signed with the required key");
  EXPECT_EQ(Read(SampleArtifact().span(), {.public_key = public_key}),
            "9: the artifact is not signed, and a signature is required");
}

TEST(Reader, ASignatureCoversTheWholeArtifact) {
  uint8_t public_key[32], secret_key[64];
  crypto_sign_keypair(public_key, secret_key);
  Bytes bytes = ToVector(ArtifactOf(SampleProgram(), secret_key));
  const ArtifactHeader header = HeaderOf(bytes);
  for (const uint64_t at : {header.metadata.offset + 60, header.images.offset + 20, header.chunks.offset}) {
    Bytes changed = bytes;
    changed[at] ^= std::byte{1};
    Reseal(header, &changed);
    EXPECT_EQ(Read(changed, {.public_key = public_key}), "9: the artifact is not signed with the required key");
  }
  bytes[header.constants_offset] ^= std::byte{1};
  EXPECT_THAT(Read(bytes, {.public_key = public_key}), StartsWith("15: damaged artifact: constant \""));
}

TEST(Reader, ConstantsThatAreSignedAreOfItsOwn) {
  uint8_t public_key[32], secret_key[64];
  crypto_sign_keypair(public_key, secret_key);
  Bytes bytes = ToVector(ArtifactOf(SampleProgram(), secret_key));
  Artifact artifact;
  ASSERT_TRUE(ReadArtifact(MemorySource(bytes), {.public_key = public_key}, &artifact).ok());
  const std::byte first = artifact.constants.bytes()[0];
  bytes[HeaderOf(bytes).constants_offset] ^= std::byte{1};
  EXPECT_EQ(artifact.constants.bytes()[0], first);
}

TEST(Reader, LayoutsThatLieAreRefused) {
  const Bytes bytes = ToVector(SampleArtifact());
  using Change = void (*)(ArtifactHeader*);
  const Change changes[] = {
      [](ArtifactHeader* h) { h->metadata.offset += 64; },
      [](ArtifactHeader* h) { h->metadata.size = UINT64_MAX - 300; },
      [](ArtifactHeader* h) { h->images.size = UINT64_MAX; },
      [](ArtifactHeader* h) { h->images.offset = 0; },
      [](ArtifactHeader* h) { h->chunks.size += 1; },
      [](ArtifactHeader* h) { h->chunks.size = UINT64_MAX / 32 * 32; },
      [](ArtifactHeader* h) { h->constants_offset = 1ull << 63; },
      [](ArtifactHeader* h) { h->constants_size = UINT64_MAX; },
      [](ArtifactHeader* h) { h->header_size = 319; },
      [](ArtifactHeader* h) { h->reserved = 1; },
      [](ArtifactHeader* h) { h->file_size += 64; },
  };
  for (const Change change : changes) {
    Bytes changed = bytes;
    ArtifactHeader header = HeaderOf(bytes);
    change(&header);
    Reseal(header, &changed);
    EXPECT_EQ(Read(changed), "15: damaged artifact: the header's sections do not follow each other");
  }
}

// Changes the sections' sizes to what no bytes are there for, and makes a sparse file of the rest.
std::string ReadSparse(const std::function<void(ArtifactHeader*)>& change) {
  Program program = SampleProgram();
  program.constants.clear();
  Bytes bytes = ToVector(ArtifactOf(program));
  ArtifactHeader header = HeaderOf(bytes);
  change(&header);
  uint64_t end = sizeof(header);
  for (SectionHeader* section : {&header.metadata, &header.images, &header.chunks}) {
    AlignUp(end, kItemAlignment, &section->offset);
    end = section->offset + section->size;
  }
  if (header.constants_size > 0) AlignUp(end, kConstantsAlignment, &end);
  header.constants_offset = end;
  header.file_size = end + header.constants_size;
  bytes.resize(sizeof(header) + HeaderOf(bytes).metadata.size);
  Reseal(header, &bytes);
  char path[] = "/tmp/tailor_sparse_XXXXXX";
  const int file = mkstemp(path);
  EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(ftruncate(file, static_cast<off_t>(header.file_size)), 0);
  close(file);
  FileSource source;
  EXPECT_EQ(Text(source.Open(path)), "OK");
  unlink(path);
  Artifact artifact;
  return Text(ReadArtifact(source, {}, &artifact));
}

TEST(Reader, SectionsOfSparseFilesAreBounded) {
  constexpr uint64_t kMuch = 20ull << 30;
  EXPECT_EQ(ReadSparse([](ArtifactHeader* h) { h->metadata.size = kMuch; }),
            "15: damaged artifact: the metadata section has 21474836480 bytes, at most 268435456");
  EXPECT_EQ(ReadSparse([](ArtifactHeader* h) { h->images.size = kMuch; }),
            "15: damaged artifact: the images section has 21474836480 bytes, at most 1073741824");
  EXPECT_THAT(ReadSparse([](ArtifactHeader* h) { h->chunks.size = kMuch; }),
              StartsWith("15: damaged artifact: the chunk table section has 21474836480 bytes, at most "));
  EXPECT_THAT(ReadSparse([](ArtifactHeader* h) { h->chunks.size = kMuch, h->constants_size = kMuch; }),
              StartsWith("15: damaged artifact: the chunk table section has 21474836480 bytes, at most "));
}

// Address space that holds no more than 64 MiB beside what the process has: the section has 200.
TEST(Reader, SectionsAreHashedBeforeMemoryIsTakenForThem) {
  const pid_t child = fork();
  if (child == 0) {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * 4096 + (64 << 20);
    const rlimit limit = {most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(3);
    try {
      const std::string said = ReadSparse([](ArtifactHeader* h) { h->images.size = 200 << 20; });
      _exit(said == "15: damaged artifact: the images section does not match its hash" ? 0 : 1);
    } catch (const std::bad_alloc&) {
      _exit(2);
    }
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Reader, TheChunkTableFitsTheConstants) {
  Bytes bytes = ToVector(SampleArtifact());
  ArtifactHeader header = HeaderOf(bytes);
  header.chunks.size += 32;
  Reseal(header, &bytes);
  EXPECT_EQ(Read(bytes), "15: damaged artifact: the chunk table has the wrong length");
}

TEST(Reader, MetadataOfOtherItemsIsRefused) {
  Program program = SampleProgram();
  Bytes bytes = ToVector(ArtifactOf(program));
  ArtifactHeader header = HeaderOf(bytes);
  header.constants_size += 64;
  header.file_size += 64;
  bytes.resize(bytes.size() + 64);
  Reseal(header, &bytes);
  EXPECT_EQ(Read(bytes), "15: damaged artifact: metadata: the sections have other sizes than the items in them");
}

// Whatever the metadata says, reading ends in a Program that holds the rules, or in a failure.
TEST(Reader, SurvivesMetadataChangedBehindTheHashes) {
  Program program = DeviceProgram();
  program.constants.clear();
  const Bytes bytes = ToVector(ArtifactOf(program));
  const ArtifactHeader header = HeaderOf(bytes);
  std::mt19937_64 random(1);
  int read = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes changed = bytes;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips) {
      const uint64_t at = header.metadata.offset + random() % header.metadata.size;
      changed[at] = random() % 4 == 0 ? std::byte{0xff} : static_cast<std::byte>(random());
    }
    Reseal(header, &changed);
    ++(Read(changed) == "OK" ? read : refused);
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tailor
