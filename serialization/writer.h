// Program -> the bytes of an artifact. Same program, same bytes.
#ifndef TAILOR_SERIALIZATION_WRITER_H_
#define TAILOR_SERIALIZATION_WRITER_H_

#include <cstdint>

#include "codegen/contract/program.h"
#include "exec/failure.h"
#include "serialization/aligned_bytes.h"

namespace tailor {

struct WriteOptions {
  const uint8_t* secret_key = nullptr;  // 64 bytes Ed25519: sign; or null
};

// Fails with INTERNAL where `program` breaks a rule of serialization/validator.h, naming it. Constants in
// `*out` are 64-byte aligned in memory too, so that they can be used in place.
Failure WriteArtifact(const Program& program, const WriteOptions& options, AlignedBytes* out);

}  // namespace tailor

#endif  // TAILOR_SERIALIZATION_WRITER_H_
