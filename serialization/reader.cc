#include "serialization/reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "serialization/integrity.h"
#include "serialization/layout.h"
#include "serialization/metadata.h"
#include "serialization/validator.h"

namespace tailor {
namespace {

Failure Damaged(const std::string& what) { return {Code::kDataLoss, "damaged artifact: " + what, ""}; }

// Whether all bytes are zero: the first one is, and each equals its successor (by a fast memcmp).
bool IsZero(std::span<const std::byte> bytes) {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Reads as much of the header as exists, and checks what depends on no other byte of the artifact.
Failure ReadHeader(const Source& source, ArtifactHeader* header) {
  const uint64_t available = std::min<uint64_t>(source.size(), sizeof(*header));
  if (Failure f = source.Read(0, std::as_writable_bytes(std::span(header, 1)).first(available)); !f.ok()) return f;
  if (std::memcmp(header->magic, kArtifactMagic, std::min<size_t>(available, sizeof(kArtifactMagic))) != 0) {
    return {Code::kInvalidArgument, "not a Tailor artifact: it does not begin with the magic bytes", ""};
  }
  if (available < sizeof(*header)) {
    return Damaged("the header is truncated: " + std::to_string(source.size()) + " bytes");
  }
  if (header->version != kArtifactVersion) {
    return {Code::kFailedPrecondition,
            "the artifact has format version " + std::to_string(header->version) + "; this library reads version " +
                std::to_string(kArtifactVersion),
            ""};
  }
  const auto bytes = std::as_bytes(std::span<const ArtifactHeader>(header, 1));
  if (!HashMatches(bytes.first(offsetof(ArtifactHeader, seal)), header->seal) ||
      !HashMatches(bytes.first(offsetof(ArtifactHeader, identity)), header->identity)) {
    return Damaged("the header does not match its hash");
  }
  return {};
}

// Whether each section begins at the end of the one before it, and the last ends at the end of the file.
bool SectionsAreInOrder(const ArtifactHeader& h) {
  uint64_t end = sizeof(ArtifactHeader);
  const auto follows = [&end](const SectionHeader& section) {
    return AlignUp(end, kItemAlignment, &end) && section.offset == end &&
           !__builtin_add_overflow(end, section.size, &end);
  };
  if (h.header_size != sizeof(ArtifactHeader) || h.reserved != 0) return false;
  if (!follows(h.metadata) || !follows(h.images) || !follows(h.chunks)) return false;
  if (h.constants_size > 0 && !AlignUp(end, kConstantsAlignment, &end)) return false;
  if (h.constants_offset != end || h.chunks.size % kHashBytes != 0) return false;
  return !__builtin_add_overflow(end, h.constants_size, &end) && end == h.file_size;
}

Failure CheckLayout(const ArtifactHeader& header, uint64_t available) {
  if (!SectionsAreInOrder(header)) return Damaged("the header's sections do not follow each other");
  if (header.file_size != available) {
    return Damaged(std::string(available < header.file_size ? "truncated" : "bytes follow the end") + ": it has " +
                   std::to_string(available) + " bytes, its header says " + std::to_string(header.file_size));
  }
  return {};
}

// Limits the memory that loading may take: the part before the constants is copied, the constants are mapped. Each
// constant has a name, so that the metadata's size bounds the number of constants that start a chunk.
Failure CheckSizes(const ArtifactHeader& header) {
  constexpr uint64_t kLeastConstant = 16;  // bytes of metadata
  const uint64_t chunks = header.constants_size / kChunkBytes + header.metadata.size / kLeastConstant;
  const struct {
    const char* name;
    uint64_t size, most;
  } sections[] = {{"metadata", header.metadata.size, kMaxMetadataBytes},
                  {"images", header.images.size, kMaxImagesBytes},
                  {"chunk table", header.chunks.size, chunks * kHashBytes}};
  for (const auto& [name, size, most] : sections) {
    if (size > most) {
      return Damaged("the " + std::string(name) + " section has " + std::to_string(size) + " bytes, at most " +
                     std::to_string(most));
    }
  }
  return {};
}

// Checks the sections' hashes in little memory before allocating for all of them, because a sparse file costs nothing
// to make. CheckPrefix checks the copied bytes again.
Failure CheckInPieces(const ArtifactHeader& header, const Source& source) {
  constexpr uint64_t kReadAtOnce = 16 << 20;
  if (header.constants_offset <= kReadAtOnce) return {};
  AlignedBytes piece(kChunkBytes);
  const std::pair<const char*, const SectionHeader&> sections[] = {
      {"metadata", header.metadata}, {"images", header.images}, {"chunk table", header.chunks}};
  for (const auto& [name, section] : sections) {
    Hasher hasher;
    for (uint64_t at = 0; at < section.size; at += kChunkBytes) {
      const auto bytes = piece.span().first(std::min(kChunkBytes, section.size - at));
      if (Failure f = source.Read(section.offset + at, bytes); !f.ok()) return f;
      hasher.Add(bytes);
    }
    if (std::memcmp(hasher.Finish().data(), section.hash, kHashBytes) != 0) {
      return Damaged(std::string("the ") + name + " section does not match its hash");
    }
  }
  return {};
}

Failure CheckPrefix(const ArtifactHeader& header, std::span<const std::byte> prefix) {
  uint64_t end = sizeof(ArtifactHeader);
  const struct {
    const char* name;
    const SectionHeader& section;
  } sections[] = {{"metadata", header.metadata}, {"images", header.images}, {"chunk table", header.chunks}};
  for (const auto& [name, section] : sections) {
    if (!IsZero(prefix.subspan(end, section.offset - end))) {
      return Damaged(std::string("the padding before the ") + name + " is not zero");
    }
    if (!HashMatches(prefix.subspan(section.offset, section.size), section.hash)) {
      return Damaged(std::string("the ") + name + " section does not match its hash");
    }
    end = section.offset + section.size;
  }
  if (!IsZero(prefix.subspan(end))) return Damaged("the padding before the constants is not zero");
  return {};
}

Failure CheckSignature(const ArtifactHeader& header, const uint8_t* public_key) {
  if (public_key == nullptr) return {};
  if (IsZero(std::as_bytes(std::span(header.signature)))) {
    return {Code::kFailedPrecondition, "the artifact is not signed, and a signature is required", ""};
  }
  if (!SignatureMatches(header.identity, header.signature, public_key)) {
    return {Code::kFailedPrecondition, "the artifact is not signed with the required key", ""};
  }
  return {};
}

// Points the program's spans at the bytes, then does the checks that need them.
Failure Attach(const ArtifactHeader& header, const MetadataPlaces& places, Artifact* artifact) {
  Program& program = artifact->program;
  const auto images = artifact->prefix.span().subspan(header.images.offset, header.images.size);
  const auto constants = artifact->constants.bytes();
  uint64_t chunks = 0;
  auto place = places.images.begin();
  ForEachImage(program, [&](std::span<const std::byte>& image) {
    image = images.subspan(place->offset, place->size);
    ++place;
  });
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const ItemPlace place = places.constants[i];
    program.constants[i].bytes = constants.subspan(place.offset, place.size);
    uint64_t padded = 0;
    AlignUp(place.size, kItemAlignment, &padded);
    chunks += ChunkCount(padded);
  }
  if (header.chunks.size / kHashBytes != chunks) return Damaged("the chunk table has the wrong length");
  if (std::string problem = FindProblem(program); !problem.empty()) return Damaged("metadata: " + problem);
  return {};
}

Failure VerifyConstants(const ArtifactHeader& header, const MetadataPlaces& places, const Artifact& artifact) {
  const std::byte* table = artifact.prefix.data() + header.chunks.offset;
  for (size_t i = 0; i < places.constants.size(); ++i) {
    uint64_t padded = 0;
    AlignUp(places.constants[i].size, kItemAlignment, &padded);
    const auto bytes = artifact.constants.bytes().subspan(places.constants[i].offset, padded);
    for (uint64_t at = 0; at < padded; at += kChunkBytes, table += kHashBytes) {
      const Hash hash = HashOf(bytes.subspan(at, std::min(kChunkBytes, padded - at)));
      if (std::memcmp(hash.data(), table, kHashBytes) != 0) {
        return Damaged("constant \"" + artifact.program.constants[i].name + "\" does not match its hash");
      }
    }
  }
  return {};
}

}  // namespace

std::string ConstantsHash(const Artifact& artifact) {
  ArtifactHeader header;
  std::memcpy(&header, artifact.prefix.data(), sizeof(header));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const uint8_t byte : header.chunks.hash) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Failure ReadArtifact(const Source& source, const ReadOptions& options, Artifact* out) {
  ArtifactHeader header = {};
  if (Failure f = ReadHeader(source, &header); !f.ok()) return f;
  if (Failure f = CheckLayout(header, source.size()); !f.ok()) return f;
  if (Failure f = CheckSizes(header); !f.ok()) return f;
  if (Failure f = CheckInPieces(header, source); !f.ok()) return f;
  Artifact artifact;
  artifact.prefix = AlignedBytes(header.constants_offset);
  const auto prefix = artifact.prefix.span();
  std::memcpy(prefix.data(), &header, sizeof(header));
  if (Failure f = source.Read(sizeof(header), prefix.subspan(sizeof(header))); !f.ok()) return f;
  if (Failure f = CheckPrefix(header, prefix); !f.ok()) return f;
  if (Failure f = CheckSignature(header, options.public_key); !f.ok()) return f;
  MetadataPlaces places;
  const auto metadata = prefix.subspan(header.metadata.offset, header.metadata.size);
  if (std::string problem = DecodeMetadata(metadata, &artifact.program, &places); !problem.empty()) {
    return Damaged("metadata: " + problem);
  }
  if (places.images_size != header.images.size || places.constants_size != header.constants_size) {
    return Damaged("metadata: the sections have other sizes than the items in them");
  }
  // The signature must cover the bytes that are used, so constants that others can still change are copied.
  const bool is_signed = options.public_key != nullptr;
  if (header.constants_size > 0) {
    const bool copy = options.copy_constants || is_signed;
    Failure f = source.Take(header.constants_offset, header.constants_size, copy, &artifact.constants);
    if (!f.ok()) return f;
  }
  if (Failure f = Attach(header, places, &artifact); !f.ok()) return f;
  if (options.verify_constants || is_signed) {
    if (Failure f = VerifyConstants(header, places, artifact); !f.ok()) return f;
  }
  *out = std::move(artifact);
  return {};
}

}  // namespace tailor
