// Artifacts as bytes that tests damage, and the reader's error.
#ifndef TAILOR_TESTS_SERIALIZATION_ARTIFACT_BYTES_H_
#define TAILOR_TESTS_SERIALIZATION_ARTIFACT_BYTES_H_

#include <cstring>
#include <string>
#include <vector>

#include "serialization/integrity.h"
#include "serialization/layout.h"
#include "serialization/reader.h"
#include "tests/support/failure_text.h"
#include "tests/support/sample_program.h"

namespace tailor {

using Bytes = std::vector<std::byte>;

inline Bytes ToVector(const AlignedBytes& bytes) { return {bytes.span().begin(), bytes.span().end()}; }

inline std::string Read(std::span<const std::byte> bytes, const ReadOptions& options = {}) {
  Artifact artifact;
  return Text(ReadArtifact(MemorySource(bytes), options, &artifact));
}

inline ArtifactHeader HeaderOf(std::span<const std::byte> bytes) {
  ArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

// Makes every hash fit the bytes again, as one who wants the reader to go on would. Sections that lie outside the
// bytes keep their hashes.
inline void Reseal(ArtifactHeader header, Bytes* bytes) {
  for (SectionHeader* section : {&header.metadata, &header.images, &header.chunks}) {
    if (section->offset > bytes->size() || section->size > bytes->size() - section->offset) continue;
    const Hash hash = HashOf(std::span(*bytes).subspan(section->offset, section->size));
    std::memcpy(section->hash, hash.data(), kHashBytes);
  }
  const auto header_bytes = std::as_bytes(std::span(&header, 1));
  const Hash identity = HashOf(header_bytes.first(offsetof(ArtifactHeader, identity)));
  std::memcpy(header.identity, identity.data(), kHashBytes);
  const Hash seal = HashOf(header_bytes.first(offsetof(ArtifactHeader, seal)));
  std::memcpy(header.seal, seal.data(), kHashBytes);
  std::memcpy(bytes->data(), &header, sizeof(header));
}

}  // namespace tailor

#endif  // TAILOR_TESTS_SERIALIZATION_ARTIFACT_BYTES_H_
