// Writes a Program as the bytes of an artifact. Deterministic: equal programs give equal bytes.
#ifndef TAILOR_SERIALIZATION_WRITER_H_
#define TAILOR_SERIALIZATION_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>

#include "codegen/contract/program.h"
#include "exec/failure.h"
#include "serialization/aligned_bytes.h"

namespace tailor {

struct WriteOptions {
  const uint8_t* secret_key = nullptr;  // Ed25519 secret key, 64 bytes, to sign with; or null
  // Called once per constant, ascending, when its bytes are no longer needed: freeing them there bounds the memory of
  // large weights to one copy. May be empty.
  std::function<void(size_t constant)> release;
};

// Fails with INTERNAL naming the rule if `program` breaks one of serialization/validator.h. Constants in `*out` are
// 64-byte aligned in memory too, so that they can be used in place.
Failure WriteArtifact(const Program& program, const WriteOptions& options, AlignedBytes* out);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_WRITER_H_
