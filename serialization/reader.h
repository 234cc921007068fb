// The bytes of an artifact -> Program. Nothing is used before it has been checked, in this order: magic and
// version, header seal, layout against the source's size, hashes, signature, FlatBuffers verifier, validator.
// All but the constants is checked on a private copy, so a file that changes meanwhile changes nothing.
#ifndef TAILOR_SERIALIZATION_READER_H_
#define TAILOR_SERIALIZATION_READER_H_

#include <cstdint>
#include <string>

#include "codegen/contract/program.h"
#include "exec/failure.h"
#include "serialization/aligned_bytes.h"
#include "serialization/source.h"

namespace tailor {

struct ReadOptions {
  bool verify_constants = false;
  bool copy_constants = false;
  // 32 bytes Ed25519: require its signature, of all that is used: constants are verified and copied; or null.
  const uint8_t* public_key = nullptr;
};

// A program and the memory that its spans point into. Immutable once read.
struct Artifact {
  Program program;
  AlignedBytes prefix;      // the file's bytes before the constants
  ReadOnlyBytes constants;  // the file's bytes from there on
};

// Errors: INVALID_ARGUMENT for what is no artifact, FAILED_PRECONDITION for another format version or a
// missing or wrong signature, DATA_LOSS naming the damaged part.
Failure ReadArtifact(const Source& source, const ReadOptions& options, Artifact* out);

// The chunk table's BLAKE2b-256 in hex: one hash for the bytes of all constants, as they lie in the file.
std::string ConstantsHash(const Artifact& artifact);

// Writes the very bytes that were read: to a temporary file beside `path`, fsync, rename. Symbolic links are followed
// and stay; the mode of a file that is replaced is kept. FAILED_PRECONDITION where `path` names something else than a
// regular file, or the system refuses: then nothing changed.
Failure SaveArtifact(const Artifact& artifact, const std::string& path);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_READER_H_
