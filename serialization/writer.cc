#include "serialization/writer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>

#include "serialization/integrity.h"
#include "serialization/layout.h"
#include "serialization/metadata.h"
#include "serialization/validator.h"

namespace tailor {
namespace {

uint64_t PaddedEnd(const SectionHeader& section) {
  uint64_t end = 0;
  AlignUp(section.offset + section.size, kItemAlignment, &end);
  return end;
}

uint64_t ChunkTableBytes(const MetadataPlaces& places) {
  uint64_t chunks = 0;
  for (const ItemPlace& place : places.constants) {
    uint64_t padded = 0;
    AlignUp(place.size, kItemAlignment, &padded);
    chunks += ChunkCount(padded);
  }
  return chunks * kHashBytes;
}

ArtifactHeader LayOut(uint64_t metadata_size, const MetadataPlaces& places) {
  ArtifactHeader header = {};
  std::memcpy(header.magic, kArtifactMagic, sizeof(kArtifactMagic));
  header.version = kArtifactVersion;
  header.header_size = sizeof(ArtifactHeader);
  header.metadata.offset = sizeof(ArtifactHeader);
  header.metadata.size = metadata_size;
  header.images.offset = PaddedEnd(header.metadata);
  header.images.size = places.images_size;
  header.chunks.offset = PaddedEnd(header.images);
  header.chunks.size = ChunkTableBytes(places);
  header.constants_offset = header.chunks.offset + header.chunks.size;
  header.constants_size = places.constants_size;
  if (places.constants_size > 0) AlignUp(header.constants_offset, kConstantsAlignment, &header.constants_offset);
  header.file_size = header.constants_offset + header.constants_size;
  return header;
}

void HashSection(const AlignedBytes& file, SectionHeader* section) {
  const Hash hash = HashOf(file.span().subspan(section->offset, section->size));
  std::memcpy(section->hash, hash.data(), kHashBytes);
}

// Fills the chunk table. Requires the constants in place.
void HashConstants(const ArtifactHeader& header, const MetadataPlaces& places, AlignedBytes* file) {
  std::byte* next = file->data() + header.chunks.offset;
  for (const ItemPlace& place : places.constants) {
    uint64_t padded = 0;
    AlignUp(place.size, kItemAlignment, &padded);
    const auto bytes = file->span().subspan(header.constants_offset + place.offset, padded);
    for (uint64_t at = 0; at < padded; at += kChunkBytes, next += kHashBytes) {
      const Hash hash = HashOf(bytes.subspan(at, std::min(kChunkBytes, padded - at)));
      std::memcpy(next, hash.data(), kHashBytes);
    }
  }
}

void HashHeader(const uint8_t* secret_key, ArtifactHeader* header) {
  const auto bytes = std::as_bytes(std::span(header, 1));
  const Hash identity = HashOf(bytes.first(offsetof(ArtifactHeader, identity)));
  std::memcpy(header->identity, identity.data(), kHashBytes);
  if (secret_key != nullptr) {
    const Signature signature = Sign(header->identity, secret_key);
    std::memcpy(header->signature, signature.data(), kSignatureBytes);
  }
  const Hash seal = HashOf(bytes.first(offsetof(ArtifactHeader, seal)));
  std::memcpy(header->seal, seal.data(), kHashBytes);
}

void CopyImages(const Program& program, const MetadataPlaces& places, const ArtifactHeader& header,
                AlignedBytes* file) {
  auto place = places.images.begin();
  ForEachImage(program, [&](std::span<const std::byte> image) {
    std::copy(image.begin(), image.end(), file->data() + header.images.offset + place++->offset);
  });
}

// Copies the constants and zeroes the bytes between them, touching no page of the file before it is needed.
void CopyConstants(const Program& program, const MetadataPlaces& places, const ArtifactHeader& header,
                   const std::function<void(size_t)>& release, AlignedBytes* file) {
  const std::span<std::byte> section = file->span().subspan(header.constants_offset, header.constants_size);
  uint64_t end = 0;
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const uint64_t offset = places.constants[i].offset;
    assert(offset >= end);
    std::fill(section.begin() + end, section.begin() + offset, std::byte{0});
    const auto bytes = program.constants[i].bytes;
    std::copy(bytes.begin(), bytes.end(), section.begin() + offset);
    end = offset + bytes.size();
    if (release) release(i);
  }
  std::fill(section.begin() + end, section.end(), std::byte{0});
}

}  // namespace

Failure WriteArtifact(const Program& program, const WriteOptions& options, AlignedBytes* out) {
  if (std::string problem = FindProblem(program); !problem.empty()) {
    return {Code::kInternal, "cannot write the compiled program: " + problem, ""};
  }
  MetadataPlaces places;
  if (!PlaceItems(program, &places)) return {Code::kInternal, "constants or images are too large", ""};
  const std::vector<uint8_t> metadata = EncodeMetadata(program, places);
  if (metadata.size() > kMaxMetadataBytes) return {Code::kInternal, "metadata is too large", ""};
  if (places.images_size > kMaxImagesBytes) return {Code::kInternal, "images are too large", ""};
  ArtifactHeader header = LayOut(metadata.size(), places);
  AlignedBytes file(header.file_size);
  std::memset(file.data(), 0, header.constants_offset);
  std::memcpy(file.data() + header.metadata.offset, metadata.data(), metadata.size());
  CopyImages(program, places, header, &file);
  CopyConstants(program, places, header, options.release, &file);
  HashConstants(header, places, &file);
  for (SectionHeader* section : {&header.metadata, &header.images, &header.chunks}) HashSection(file, section);
  HashHeader(options.secret_key, &header);
  std::memcpy(file.data(), &header, sizeof(header));
  *out = std::move(file);
  return {};
}

}  // namespace tailor
