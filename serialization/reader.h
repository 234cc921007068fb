// Reads an artifact's bytes into a Program. Everything is checked before use, in this order: magic and version, header
// seal, layout against the source's size, hashes, signature, FlatBuffers verifier, validator. Everything except the
// constants is checked on a private copy, so that concurrent changes of the file have no effect.
#ifndef TAILOR_SERIALIZATION_READER_H_
#define TAILOR_SERIALIZATION_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "codegen/contract/program.h"
#include "exec/failure.h"
#include "serialization/aligned_bytes.h"
#include "serialization/source.h"

namespace tailor {

struct ReadOptions {
  bool verify_constants = false;
  bool copy_constants = false;
  // Ed25519 public key, 32 bytes, or null. If set, requires a valid signature; constants are then verified and copied,
  // so that all used bytes are signed ones.
  const uint8_t* public_key = nullptr;
};

// A program and the memory that its spans point into. Immutable once read.
struct Artifact {
  Program program;
  AlignedBytes prefix;      // the file's bytes before the constants
  ReadOnlyBytes constants;  // the rest of the file's bytes
};

// Errors:  INVALID_ARGUMENT if the source is not an artifact, FAILED_PRECONDITION for another format version or a
//          missing or wrong signature, DATA_LOSS naming the damaged part.
Failure ReadArtifact(const Source& source, const ReadOptions& options, Artifact* out);

// BLAKE2b-256 of the chunk table, in hex: one hash for the bytes of all constants as stored in the file.
std::string ConstantsHash(const Artifact& artifact);

// Writes exactly the bytes that were read: to a temporary file beside `path`, then fsync and rename. Symbolic links are
// followed and kept; a replaced file's mode is kept. FAILED_PRECONDITION if `path` is not a regular file or the system
// call fails, or if the mapped file was written to since; then nothing changed.
Failure SaveArtifact(const Artifact& artifact, const std::string& path);

// The number of these bytes, and a copy of them to `to`, which has that size. FAILED_PRECONDITION if the mapped file
// was written to since; then `to` is unchanged.
uint64_t SavedBytes(const Artifact& artifact);
Failure SaveArtifactTo(const Artifact& artifact, std::span<std::byte> to);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_READER_H_
