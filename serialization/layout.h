// The byte layout of an artifact file (drawn in docs/artifact.md): header, metadata, images, table of chunk hashes,
// constants. Numbers are little endian.
#ifndef TAILOR_SERIALIZATION_LAYOUT_H_
#define TAILOR_SERIALIZATION_LAYOUT_H_

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tailor {

static_assert(std::endian::native == std::endian::little, "artifacts are read in place");

inline constexpr uint8_t kArtifactMagic[8] = {0x89, 'T', 'L', 'R', '\r', '\n', 0x1a, '\n'};
inline constexpr uint32_t kArtifactVersion = 3;
inline constexpr uint64_t kItemAlignment = 64;              // of sections, images and constants
inline constexpr uint64_t kConstantsAlignment = 64 * 1024;  // of the constants section, which is mmapped
inline constexpr uint64_t kChunkBytes = 1024 * 1024;        // hash granularity of constants
inline constexpr uint64_t kMaxMetadataBytes = 256 << 20;    // a reader copies the metadata
inline constexpr uint64_t kMaxImagesBytes = 1 << 30;
inline constexpr size_t kHashBytes = 32;
inline constexpr size_t kSignatureBytes = 64;

struct SectionHeader {
  uint64_t offset;
  uint64_t size;
  uint8_t hash[kHashBytes];  // BLAKE2b-256 of the section's bytes
};

struct ArtifactHeader {
  uint8_t magic[8];
  uint32_t version;
  uint32_t header_size;
  uint64_t file_size;
  uint64_t constants_offset;
  uint64_t constants_size;
  uint64_t reserved;       // zero
  SectionHeader metadata;  // a FlatBuffer, see artifact.fbs
  SectionHeader images;
  SectionHeader chunks;                // BLAKE2b-256 of each chunk of each constant, in order
  uint8_t identity[kHashBytes];        // BLAKE2b-256 of the header up to here; identifies the whole artifact
  uint8_t signature[kSignatureBytes];  // Ed25519 over `identity`; all zero when not signed
  uint8_t seal[kHashBytes];            // BLAKE2b-256 of the header up to here
};

static_assert(sizeof(SectionHeader) == 48 && sizeof(ArtifactHeader) == 320);
static_assert(offsetof(ArtifactHeader, file_size) == 16 && offsetof(ArtifactHeader, metadata) == 48);
static_assert(offsetof(ArtifactHeader, images) == 96 && offsetof(ArtifactHeader, chunks) == 144);
static_assert(offsetof(ArtifactHeader, identity) == 192 && offsetof(ArtifactHeader, signature) == 224);
static_assert(offsetof(ArtifactHeader, seal) == 288);

// `value` rounded up to a multiple of `alignment`; false on overflow.
inline bool AlignUp(uint64_t value, uint64_t alignment, uint64_t* out) {
  uint64_t sum;
  if (__builtin_add_overflow(value, alignment - 1, &sum)) return false;
  *out = sum / alignment * alignment;
  return true;
}

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_LAYOUT_H_
